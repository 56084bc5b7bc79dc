# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What of the node makes the rules in force."""

import ipaddress

import hypothesis
from hypothesis import strategies as st
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
        self.assertEqual({'lo', 'outside', 'bridge', 'port'}, self.present(''))
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


NAMES = {1: 'lo', 2: 'eth0', 3: 'bond0.7', 4: 'veth-default'}
LINKS = [links.Link(index, name, '', True, '', 0, 0, '', 0)
           for index, name in NAMES.items()]
# Few bits, so that networks contain each other and destinations.
NUMBERS = st.integers(0, 63).map(lambda n: 0x0a000000 + n)


class NeighboursTest(base.BaseTestCase):

    def found(self, *destinations):
        return node_addresses.devices(destinations, [
            addresses.Address(index, address, False) for index, address in (
                (1, '127.0.0.1/8'), (2, '10.0.0.1/24'), (2, 'fd00::1/64'),
                (3, '10.0.1.1/25'), (3, '192.0.2.1/32'),
                (4, '169.254.0.1/30'), (9, '10.9.0.1/24'))], LINKS)

    def test_on_a_link(self):
        self.assertEqual(('eth0',), self.found('10.0.0.2', '10.0.0.255'))
        self.assertEqual(('bond0.7', 'eth0'),
                         self.found('10.0.1.127', '10.0.0.0'))

    def test_on_no_link(self):
        self.assertEqual((), self.found(
            # Behind a router, of the node itself, of a device that is gone.
            '10.0.1.128', '10.0.2.1', '9.255.255.255', '10.0.0.1',
            '192.0.2.1', '10.9.0.2'))
        self.assertEqual((), self.found())

    def test_the_pair_has_no_destination(self):
        self.assertEqual((), self.found('169.254.0.2'))

    @hypothesis.given(st.sets(NUMBERS), st.lists(st.tuples(
        st.sampled_from([2, 3]), NUMBERS, st.integers(24, 32))))
    def test_as_ipaddress_has_it(self, destinations, found):
        interfaces = [(NAMES[index], ipaddress.IPv4Interface((number, length)))
                      for index, number, length in found]
        own = {interface.ip for _name, interface in interfaces}
        others = {ipaddress.IPv4Address(n) for n in destinations} - own
        self.assertEqual(
            tuple(sorted({
                name for name, interface in interfaces
                if interface.network.prefixlen < 32 and
                any(other in interface.network for other in others)})),
            node_addresses.devices(
                [str(ipaddress.IPv4Address(n)) for n in destinations],
                [addresses.Address(index, str(ipaddress.IPv4Interface(
                    (number, length))), False)
                 for index, number, length in found], LINKS))
