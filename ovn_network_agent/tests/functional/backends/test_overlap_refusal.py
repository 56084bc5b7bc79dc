# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Nodes on which no overlap can begin, and the reasons."""

import subprocess

from oslo_config import cfg

from ovn_network_agent.backends import base as backends
from ovn_network_agent.privileged import overlap
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.backends import overlaps
from ovn_network_agent.tests.functional.ovs import base

WANTED = overlaps.WANTED


class RefusalTest(overlaps.OverlapTestCase):

    def failed(self):
        failures = self.backend.apply(backends.Delta(create=(WANTED,)))
        self.assertEqual([], overlap._keepers)
        return failures[WANTED.ref]

    def test_somebody_else_has_paused_it(self):
        subprocess.run(['ovn-appctl', '-t', self._controller_socket(),
                        'debug/pause'], check=True)
        self.assertIn('paused already', self.failed())
        self.assertEqual(('paused', ''), (self.state(), self.mark()))

    def test_no_such_tunnel(self):
        self.here.vsctl('set', 'interface', base.OVN, 'bfd:enable=false')
        self.assertIn('no tunnel of OVN to 192.0.2.2', self.failed())
        waiting.eventually(lambda: not self.mark(), 'it ends')
        self.assertEqual('running', self.state())

    def test_no_controller(self):
        self.controller.kill()
        self.controller.wait()
        self.assertIn('ovn-controller', self.failed())
        self.assertEqual('', self.mark())
        self.assertTrue(self.both_up())

    def test_a_database_behind_tls(self):
        cfg.CONF.set_override('ovsdb_connection', 'ssl:192.0.2.1:6640',
                              group='ovs')
        self.assertIn('neither unix: nor tcp:', self.failed())
        self.assertEqual('running', self.state())

    def test_a_remote_of_its_own(self):
        """What the operator has set stays as it is."""
        self.assertEqual('', overlap.readiness())
        mine = 'external_ids:ovn-remote-gw1="tcp:192.0.2.9:6642"'
        self.here.vsctl('set', 'Open_vSwitch', '.', mine)
        self.assertIn('ovn-remote-gw1 is set', self.failed())
        self.assertIn('ovn-remote-gw1 is set', overlap.readiness())
        self.assertEqual('running', self.state())
        self.assertIn('ovn-remote-gw1="tcp:192.0.2.9:6642"',
                      self.external_ids())

    def test_a_remote_that_cannot_be_said_otherwise(self):
        self.here.vsctl('set', 'Open_vSwitch', '.',
                        'external_ids:ovn-remote="unix:sb.sock"')
        self.assertIn("'unix:sb.sock'", self.failed())
        self.assertEqual(('running', ''), (self.state(), self.mark()))

    def test_versions_of_ovn(self):
        """An old one is left alone; of one to come it is said."""
        self.controller.kill()
        self.controller.wait()
        with self.saying('ovn-controller 22.12.1\nOpen vSwitch Library'):
            self.assertIn('OVN 22.12', self.failed())
            self.assertIn('22.12; it needs OVN 23.03', overlap.readiness())
            self.assertEqual('', self.mark())
        with self.saying('ovn-controller 31.09.0\nOpen vSwitch Library'):
            self.assertIn('not tried with OVN 31.09', overlap.readiness())
        with self.saying('something else'):
            self.assertIn('reports no version', overlap.readiness())

    def saying(self, version):
        """Somebody in the place of ovn-controller, of another version."""
        return self.answering({'version': lambda: version,
                               'debug/status': lambda: 'running\n'})
