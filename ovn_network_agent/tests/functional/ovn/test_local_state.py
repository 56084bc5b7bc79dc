# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The address of a device that tunnels come from, of a real kernel."""

import subprocess

from oslotest import base

from ovn_network_agent.ovn import local_state
from ovn_network_agent.tests import namespaces
from ovn_network_agent.tests.unit import world


def ip(*arguments):
    subprocess.run(['ip', *arguments], check=True)


class TunnelTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.enterContext(namespaces.new())
        ip('link', 'set', 'lo', 'up')

    def state(self, **options):
        found = local_state.LocalState(world.conf(**{
            'drivers': ['evpn'], 'evpn__local_device': 'lo', **options}), {},
            lambda bridge, names: None)
        self.addCleanup(found.close)
        return found

    def tunnel(self, state):
        state.read_devices()
        return state.wiring.tunnel

    def test_the_first_that_others_may_reach(self):
        """While there is none, the former one counts."""
        state = self.state()
        self.assertEqual('', self.tunnel(state))
        for text in ('2001:db8::1/128', '169.254.7.7/32', '192.0.2.11/32',
                     '192.0.2.12/32'):
            ip('address', 'add', text, 'dev', 'lo')
        self.assertTrue(state.kernel.news.poll(0))
        self.assertEqual('192.0.2.11', self.tunnel(state))
        ip('address', 'del', '192.0.2.11/32', 'dev', 'lo')
        self.assertEqual('192.0.2.12', self.tunnel(state))
        ip('address', 'del', '192.0.2.12/32', 'dev', 'lo')
        self.assertEqual('192.0.2.12', self.tunnel(state))
        self.assertEqual('', self.tunnel(self.state()))

    def test_a_device_that_is_not_there(self):
        self.assertEqual('', self.tunnel(self.state(
            evpn__local_device='eth7')))

    def test_without_the_driver(self):
        ip('address', 'add', '192.0.2.11/32', 'dev', 'lo')
        self.assertEqual('', self.tunnel(self.state(drivers=[])))
