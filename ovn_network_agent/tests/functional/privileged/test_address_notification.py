# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""An address is told to everybody once more."""

import socket

from ovn_network_agent import ownership
from ovn_network_agent.netlink.objects import addresses
from ovn_network_agent.privileged.network import netlink
from ovn_network_agent.tests.functional.netlink import base


class ReaddressTest(base.KernelTestCase):
    """Trap T39: and nothing goes with it."""

    def setUp(self):
        super().setUp()
        self.ip('link set br-ex up')
        self.ip('link set br-ex-peer up')
        self.ip('address add 169.254.0.2/30 dev br-ex')
        self.ip('route add 192.0.2.0/24 via 169.254.0.1 dev br-ex proto 44')
        self.ip('neighbour replace 169.254.0.1 lladdr 0a:00:00:00:00:07 '
                'dev br-ex nud permanent')

    def state(self):
        return [self.ip(command) for command in (
            '-4 -o address show dev br-ex', 'route show table all',
            'neighbour show')]

    def test_renewed(self):
        before = self.state()
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW,
                           socket.NETLINK_ROUTE) as listener:
            # RTMGRP_IPV4_IFADDR
            listener.bind((0, 0x10))
            self.assertTrue(
                netlink.renew_address('br-ex', '169.254.0.2/30'))
            kinds = []
            while len(kinds) < 4:
                data = listener.recv(65536)
                # nlmsg_type, and the prefix length of ifaddrmsg.
                kinds.append((int.from_bytes(data[4:6], 'little'),
                              data[17]))
        self.assertEqual([(20, 32), (21, 30), (20, 30), (21, 32)], kinds)
        self.assertEqual(before, self.state())

    def test_what_is_not_there_is_not_made(self):
        before = self.state()
        self.assertFalse(netlink.renew_address('br-ex', '169.254.0.6/30'))
        self.assertEqual(before, self.state())

    def test_host_address_of_the_operator_stays(self):
        self.ip('address add 169.254.0.2/32 dev br-ex')
        self.assertTrue(netlink.renew_address('br-ex', '169.254.0.2/30'))
        shown = self.ip('-4 -o address show dev br-ex')
        self.assertIn('169.254.0.2/32', shown)
        self.assertIn('169.254.0.2/30', shown)

    def test_it_keeps_its_mark(self):
        self.assertEqual([], netlink.set_addresses(
            [['br-ex', '169.254.7.1/30']]))
        before = self.marks()
        self.assertEqual({
            ('169.254.0.2/30', 0),
            ('169.254.7.1/30', ownership.ADDRESS_PROTOCOL)}, before)
        for address, _protocol in before:
            self.assertTrue(netlink.renew_address('br-ex', address))
        self.assertEqual(before, self.marks())

    def marks(self):
        return {(a.address, a.protocol) for a in addresses.read_all()
                if a.address.endswith('/30')}

    def test_no_such_device(self):
        with self.assertRaises(OSError):
            netlink.renew_address('br-none', '169.254.0.2/30')
