# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The rules in force: what of the file and of the node makes them."""

import ipaddress

import hypothesis
from hypothesis import strategies as st
from oslotest import base

from ovn_network_agent.forward import neighbours
from ovn_network_agent.netlink.objects import addresses
from ovn_network_agent.netlink.objects import links

NAMES = {1: 'lo', 2: 'eth0', 3: 'bond0.7', 4: 'veth-default'}
DEVICES = [links.Link(index, name, '', True, '', 0, 0, '', 0)
           for index, name in NAMES.items()]
# Few bits, so that networks contain each other and destinations.
NUMBERS = st.integers(0, 63).map(lambda n: 0x0a000000 + n)


class NeighboursTest(base.BaseTestCase):

    def found(self, *destinations):
        return neighbours.devices(destinations, [
            addresses.Address(index, address, False) for index, address in (
                (1, '127.0.0.1/8'), (2, '10.0.0.1/24'), (2, 'fd00::1/64'),
                (3, '10.0.1.1/25'), (3, '192.0.2.1/32'),
                (4, '169.254.0.1/30'), (9, '10.9.0.1/24'))], DEVICES)

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
            neighbours.devices(
                [str(ipaddress.IPv4Address(n)) for n in destinations],
                [addresses.Address(index, str(ipaddress.IPv4Interface(
                    (number, length))), False)
                 for index, number, length in found], DEVICES))
