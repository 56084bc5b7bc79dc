# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backend neighbour on the real kernel."""

import dataclasses
import socket
import struct

from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends.kernel import neighbour
from ovn_network_agent.privileged.network import netlink
from ovn_network_agent.tests.functional.netlink import base


class NeighbourTest(base.KernelTestCase):

    def setUp(self):
        super().setUp()
        self.bridge_up()
        self.backend = neighbour.NeighbourBackend(self.conf)
        self.wanted = resources.Neighbour(
            'br-ex', '169.254.0.2', 'br-ex-peer')

    def entry(self):
        found, = self.shown('neighbour show 169.254.0.2 dev br-ex')
        return found['lladdr'], found['state']

    def mac(self, dev='br-ex-peer'):
        return self.shown(f'link show {dev}')[0]['address']

    def test_twice_each(self):
        for _repeat in range(2):
            self.assertEqual([self.wanted],
                             self.create(self.backend, self.wanted))
        self.assertEqual((self.mac(), ['PERMANENT']), self.entry())
        for _repeat in range(2):
            self.assertEqual([], self.change(self.backend,
                                             delete=(self.wanted,)))
        self.assertEqual([], self.shown('neighbour show dev br-ex'))

    def test_changed_mac_is_seen_and_written(self):
        self.create(self.backend, self.wanted)
        self.ip('link set br-ex-peer address 02:00:00:00:00:99')
        found, = self.backend.read(frozenset([self.wanted.ref]))
        self.assertNotEqual(self.wanted, found)
        self.assertEqual([self.wanted], self.change(
            self.backend, update=((found, self.wanted),)))
        self.assertEqual(('02:00:00:00:00:99', ['PERMANENT']), self.entry())

    def test_the_other_end_is_meant_when_devices_share_the_mac(self):
        self.ip('link add aaa type veth peer name aab')
        self.ip('link set aaa address ' + self.mac())
        self.assertEqual([self.wanted],
                         self.create(self.backend, self.wanted))

    def test_other_entries_are_not_ours(self):
        self.ip('neighbour add 169.254.0.3 lladdr 02:00:00:00:00:01 '
                'dev br-ex nud permanent')
        self.assertEqual([self.wanted],
                         self.create(self.backend, self.wanted))
        self.change(self.backend, delete=(self.wanted,))
        self.assertEqual(1, len(self.shown('neighbour show dev br-ex')))

    def test_absent_devices(self):
        bad = (resources.Neighbour('br-ex', '169.254.0.3', 'absent'),
               resources.Neighbour('absent', '169.254.0.3', 'br-ex'))
        failed = self.backend.apply(backends.Delta(
            create=(*bad, self.wanted)))
        self.assertCountEqual([r.ref for r in bad], failed)
        self.assertEqual((self.mac(), ['PERMANENT']), self.entry())


class LiteralNeighbourTest(base.KernelTestCase):
    """The MAC of a router, which no device of this node has."""

    FIP = '198.51.100.10'
    MAC = 'fa:16:3e:00:00:01'

    def setUp(self):
        super().setUp()
        self.bridge_up()
        self.ip('route add 198.51.100.0/24 dev br-ex')
        self.backend = neighbour.NeighbourBackend(self.conf)
        self.wanted = resources.Neighbour('br-ex', self.FIP, '', self.MAC)

    def states(self):
        """(MAC, state) of the entries of the floating IP."""
        return [(found.get('lladdr'), found['state']) for found in
                self.shown(f'neighbour show {self.FIP} dev br-ex')]

    def listen(self):
        """Takes what leaves br-ex, at the other end."""
        made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW,
                             socket.htons(3))
        self.addCleanup(made.close)
        made.bind(('br-ex-peer', 0))
        made.settimeout(10)
        return made

    def sent(self, other):
        """(destination MAC, ethertype) of what a datagram makes leave."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.sendto(b'x', (self.FIP, 9))
        while True:
            frame = other.recv(2048)
            ethertype, = struct.unpack_from('!H', frame, 12)
            if ethertype in (0x0800, 0x0806):
                return frame[:6].hex(':'), ethertype

    def test_nobody_is_asked_for_it_while_it_is_there(self):
        other = self.listen()
        for _repeat in range(2):
            self.assertEqual([self.wanted],
                             self.create(self.backend, self.wanted))
        self.assertEqual([(self.MAC, ['PERMANENT'])], self.states())
        self.assertEqual((self.MAC, 0x0800), self.sent(other))

    def test_afterwards_the_kernel_asks_again(self):
        # With a datagram before, so that the entry is in use.
        other = self.listen()
        self.create(self.backend, self.wanted)
        self.sent(other)
        for _repeat in range(2):
            self.assertEqual([], self.change(self.backend,
                                             delete=(self.wanted,)))
        self.assertNotIn(self.MAC, [mac for mac, _state in self.states()])
        self.assertEqual(('ff:ff:ff:ff:ff:ff', 0x0806), self.sent(other))

    def test_what_was_learned_is_replaced_and_learned_anew(self):
        self.ip(f'neighbour add {self.FIP} lladdr 02:00:00:00:00:01 '
                'dev br-ex nud reachable')
        other = self.listen()
        self.assertEqual([self.wanted],
                         self.create(self.backend, self.wanted))
        self.assertEqual((self.MAC, 0x0800), self.sent(other))
        self.change(self.backend, delete=(self.wanted,))
        self.assertEqual(('ff:ff:ff:ff:ff:ff', 0x0806), self.sent(other))

    def test_the_other_router_has_another_mac(self):
        new = resources.Neighbour('br-ex', self.FIP, '', 'fa:16:3e:00:00:02')
        self.create(self.backend, self.wanted)
        self.assertEqual([new], self.change(
            self.backend, update=((self.wanted, new),)))
        self.assertEqual([(new.lladdr, ['PERMANENT'])], self.states())

    def test_a_fresh_agent_knows_it_on_any_device(self):
        self.ip('link add br-ex.7 type veth peer name br-ex.8')
        self.ip('link set br-ex.7 up')
        elsewhere = resources.Neighbour('br-ex.7', self.FIP, '', self.MAC)
        self.create(self.backend, self.wanted, elsewhere)
        fresh = neighbour.NeighbourBackend(self.conf)
        self.assertCountEqual([self.wanted, elsewhere],
                              fresh.read(frozenset()))
        self.assertEqual([], self.change(fresh, delete=(self.wanted,
                                                        elsewhere)))

    def test_the_operators_own_is_neither_replaced_nor_removed(self):
        for protocol in ('', ' protocol static'):
            self.ip(f'neighbour replace {self.FIP} dev br-ex lladdr '
                    f'02:00:00:00:00:09 nud permanent{protocol}')
            before = self.states()
            found, = self.backend.read(frozenset([self.wanted.ref]))
            other = dataclasses.replace(self.wanted, dst='198.51.100.11')
            failed = self.backend.apply(backends.Delta(
                create=(other,), update=((found, self.wanted),)))
            self.assertEqual([self.wanted.ref], [*failed])
            self.assertIn('02:00:00:00:00:09 and not ' + self.MAC,
                          failed[self.wanted.ref])
            self.assertIn(f'ip neighbour del {self.FIP} dev br-ex',
                          failed[self.wanted.ref])
            self.change(self.backend, delete=(self.wanted, other))
            self.assertEqual(before, self.states())

    def test_the_operators_own_with_the_same_mac_is_as_good(self):
        self.ip(f'neighbour replace {self.FIP} dev br-ex lladdr {self.MAC} '
                'nud permanent')
        before = self.shown('neighbour show dev br-ex')
        self.assertEqual([self.wanted], self.backend.read(
            frozenset([self.wanted.ref])))
        self.assertEqual([], self.backend.read(frozenset()))
        self.change(self.backend, delete=(self.wanted,))
        self.assertEqual(before, self.shown('neighbour show dev br-ex'))

    def test_what_the_daemon_refuses(self):
        for bad in ('ff:ff:ff:ff:ff:ff', '00:00:00:00:00:00', '', 'FA:16:3e:'
                    '00:00:01', '01:00:5e:00:00:01', None, 7):
            self.assertEqual([0], [index for index, *_why in
                                   netlink.set_neighbours(
                                       [['br-ex', self.FIP, bad]])], bad)
        self.assertEqual([], self.states())
