# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""A restart of ovs-vswitchd is noticed, without OVSDB and a process."""

import os

from oslo_config import cfg

from ovn_network_agent.backends import base as backends
from ovn_network_agent.common import trigger
from ovn_network_agent.conf.options import base as options
from ovn_network_agent.privileged.switch import openflow
from ovn_network_agent.tests.functional.openflow import base
from ovn_network_agent.tests.unit import world as worlds
from ovn_network_agent.watches import base as watches
from ovn_network_agent.watches import restarts


class TestWatch(base.FlowTestCase):

    def setUp(self):
        super().setUp()
        self.trigger = trigger.Trigger(0)
        cfg.CONF.register_opts(options.OPTS)
        beats = watches.Heartbeat()
        beats.start(self.trigger)
        self.addCleanup(beats.stop)
        self.watch = restarts.of_ovs(cfg.CONF, beats)

    def start(self):
        self.watch.start(self.trigger)
        self.addCleanup(self.watch.stop)

    def woken(self):
        wake = self.trigger.wait(10)
        self.assertIsNotNone(wake, 'nothing was noticed within 10 s')
        self.assertEqual({'flow'}, worlds.doubted(wake))
        self.assertEqual({'flow'}, worlds.revived(wake))

    def test_flows_can_be_restored(self):
        wanted = base.hairpin('198.51.100.10/32')
        self.backend.apply(backends.Delta(create=(wanted,)))
        self.start()
        self.ovs.restart()
        self.woken()
        self.assertEqual(set(), self.read())
        self.assertEqual(
            {}, self.backend.apply(backends.Delta(create=(wanted,))))
        # Once more when all has settled; they are still there.
        self.woken()
        self.assertEqual({wanted}, self.read())
        self.assertEqual(1, self.watch.restarts)

    def test_directory_that_is_not_there_yet(self):
        later = self.ovs.rundir + '/later'
        self.configure(ovs_rundir=later)
        with self.assertLogs(restarts.__name__, 'WARNING') as logs:
            self.start()
        self.assertIn('[ovs] ovs_rundir', logs.output[0])
        os.symlink(self.ovs.rundir, later)
        self.addCleanup(os.unlink, later)
        self.woken()

    def test_no_socket_is_no_run(self):
        cfg.CONF.set_override('bridge_dev', 'br-none')
        self.addCleanup(cfg.CONF.clear_override, 'bridge_dev')
        self.assertEqual({}, openflow.read_socket('br-none'))
        with self.assertRaises(OSError):
            openflow.read_socket('../br-ex')
