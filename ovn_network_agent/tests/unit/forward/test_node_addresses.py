# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Which addresses of VIPs are there without the agent."""

from oslotest import base

from ovn_network_agent import ownership
from ovn_network_agent.forward import node_addresses
from ovn_network_agent.netlink.objects import addresses
from ovn_network_agent.netlink.objects import links


def link(index, name, kind='dummy', master=0):
    return links.Link(index, name, '', True, kind, master, 0, '',
                      10 if kind == 'vrf' else 0)


DEVICES = [link(1, 'lo', ''), link(2, 'vrf-x', 'vrf'),
           link(3, 'inside', master=2), link(4, 'outside'),
           link(5, 'vrf-y', 'vrf'), link(6, 'elsewhere', master=5),
           link(7, 'bridge', 'bridge'), link(8, 'port', master=7)]


class PresenceTest(base.BaseTestCase):

    def present(self, vrf):
        """Names of devices whose addresses count."""
        index = {device.name: device.index for device in DEVICES}
        numbers = {f'192.0.2.{n:d}': name for name, n in index.items()}
        return {numbers[address] for address in node_addresses.host_addresses(
            [addresses.Address(n, f'192.0.2.{n:d}/32', False)
             for n in index.values()], DEVICES, vrf)}

    def test_devices(self):
        """FRR redistributes what is connected in its own VRF."""
        self.assertEqual({'vrf-x', 'inside'}, self.present('vrf-x'))
        self.assertEqual({'lo', 'outside', 'bridge', 'port'},
                         self.present(''))
        self.assertEqual(set(), self.present('vrf-z'))

    def test_host_routes(self):
        found = [addresses.Address(3, address, False) for address in (
            '192.0.2.1/32', '192.0.2.2/24', '2001:db8::1/128',
            '2001:db8::2/64')]
        self.assertEqual(
            {'192.0.2.1', '2001:db8::1'},
            node_addresses.host_addresses(found, DEVICES, 'vrf-x'))

    def test_what_the_agent_has_made(self):
        """A VIP whose manage_vip is switched off is not announced twice."""
        found = [addresses.Address(3, '192.0.2.1/32', False,
                                   ownership.ADDRESS_PROTOCOL)]
        self.assertEqual(frozenset(), node_addresses.host_addresses(
            found, DEVICES, 'vrf-x'))

    def test_a_device_that_is_gone_meanwhile(self):
        found = [addresses.Address(9, '192.0.2.1/32', False)]
        self.assertEqual(frozenset(), node_addresses.host_addresses(
            found, DEVICES, ''))
