# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Nodes on which no overlap can begin, and the reasons."""

import contextlib
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

    def test_a_node_that_is_not_as_it_has_to_be(self):
        """What the operator has done stays as it is."""
        for refuses, words in (
                (self.a_database_behind_tls, 'neither unix: nor tcp:'),
                (self.a_remote_of_its_own, 'ovn-remote-gw1 is set'),
                (self.a_remote_that_cannot_be_said_otherwise,
                 "'unix:sb.sock'"),
                (self.no_such_tunnel, 'no tunnel of OVN to 192.0.2.2')):
            with refuses():
                self.assertIn(words, self.failed())
                waiting.eventually(lambda: not self.mark(), 'no mark')
                self.assertEqual('running', self.state())
        subprocess.run(['ovn-appctl', '-t', self._controller_socket(),
                        'debug/pause'], check=True)
        self.assertIn('paused already', self.failed())
        self.assertEqual(('paused', ''), (self.state(), self.mark()))

    @contextlib.contextmanager
    def a_database_behind_tls(self):
        cfg.CONF.set_override('ovsdb_connection', 'ssl:192.0.2.1:6640',
                              group='ovs')
        yield
        cfg.CONF.set_override('ovsdb_connection', self.here.remote,
                              group='ovs')

    @contextlib.contextmanager
    def a_remote_of_its_own(self):
        self.assertEqual('', overlap.readiness())
        mine = 'external_ids:ovn-remote-gw1="tcp:192.0.2.9:6642"'
        self.here.vsctl('set', 'Open_vSwitch', '.', mine)
        yield
        self.assertIn('ovn-remote-gw1 is set', overlap.readiness())
        self.assertIn('ovn-remote-gw1="tcp:192.0.2.9:6642"',
                      self.external_ids())
        self.here.vsctl('remove', 'Open_vSwitch', '.', 'external_ids',
                        'ovn-remote-gw1')

    @contextlib.contextmanager
    def a_remote_that_cannot_be_said_otherwise(self):
        self.here.vsctl('set', 'Open_vSwitch', '.',
                        'external_ids:ovn-remote="unix:sb.sock"')
        yield
        self.here.vsctl(
            'set', 'Open_vSwitch', '.', 'external_ids:ovn-remote=unix:'
            f'{self.southbound.getsockname()}')

    @contextlib.contextmanager
    def no_such_tunnel(self):
        self.here.vsctl('set', 'interface', base.OVN, 'bfd:enable=false')
        yield

    def test_no_controller(self):
        self.controller.kill()
        self.controller.wait()
        self.assertIn('ovn-controller', self.failed())
        self.assertEqual('', self.mark())
        self.assertTrue(self.both_up())
        # An old one is left alone; of one to come it is said.
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
