# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Backends link, sysctl, address and neighbour on the real kernel.

VethPair needs a VRF and is tested in the lab tier.
"""

import socket
import struct

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.backends import address
from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends import link
from ovn_network_agent.backends import neighbour
from ovn_network_agent.backends import sysctl
from ovn_network_agent.privileged import netlink
from ovn_network_agent.tests.functional.netlink import base


class LinkTest(base.KernelTestCase):

    def setUp(self):
        super().setUp()
        self.backend = link.LinkBackend(self.conf)

    def test_bridge_is_brought_up(self):
        wanted = resources.LinkUp('br-ex')
        self.assertEqual([], self.backend.read(frozenset([wanted.ref])))
        self.assertEqual([wanted], self.create(self.backend, wanted))
        self.assertIn('UP', self.shown('link show br-ex')[0]['flags'])

    def test_absent_device_is_a_failure_of_its_own(self):
        absent, there = resources.LinkUp('absent'), resources.LinkUp('br-ex')
        failed = self.backend.apply(backends.Delta(create=(absent, there)))
        self.assertEqual([absent.ref], list(failed))
        self.assertIn('UP', self.shown('link show br-ex')[0]['flags'])

    def test_check_of_a_complete_node(self):
        self.assertEqual([], self.backend.check())

    def test_check_names_option_value_and_remedy(self):
        self.ip('link del br-ex')
        message, = self.backend.check()
        for text in ('[DEFAULT] bridge_dev = br-ex', 'no such device',
                     'ovs-vsctl add-br br-ex'):
            self.assertIn(text, message)

    def test_port_forwarding_alone_needs_no_bridge(self):
        """Row D2."""
        self.ip('link del br-ex')
        for name in ('ovn_nb_remote', 'ovn_sb_remote'):
            self.conf.set_override(name, [], 'ovn')
        self.assertEqual([], self.backend.check())

    def test_check_of_the_vrf(self):
        message, = link.LinkBackend(self.configure('vrf-provider')).check()
        self.assertIn('[frr] vrf_name = vrf-provider', message)
        self.assertIn('type vrf', message)
        message, = link.LinkBackend(self.configure('lo')).check()
        self.assertIn('is no VRF', message)

    def test_pair_needs_its_vrf(self):
        self.configure('lo')
        pair = resources.VethPair('veth-default', 'veth-provider', 'lo')
        failed = self.backend.apply(backends.Delta(create=(pair,)))
        self.assertIn('VRF lo does not exist', failed[pair.ref])
        self.assertNotIn('veth-default', self.ip('link show'))

    def test_other_names_are_refused(self):
        pair = resources.VethPair('br-ex', 'br-ex-peer', 'vrf')
        failed = self.backend.apply(backends.Delta(delete=(pair,)))
        self.assertIn('is not ours', failed[pair.ref])
        self.assertIn('br-ex', self.ip('link show'))

    def test_a_device_with_our_name_that_is_no_pair_survives(self):
        self.ip('link add veth-default type veth peer name other')
        pair = resources.VethPair('veth-default', 'veth-provider', 'vrf')
        self.assertEqual([], self.backend.read(frozenset([pair.ref])))
        self.assertEqual([], self.change(self.backend, delete=(pair,)))
        self.assertIn('veth-default', self.ip('link show'))

    def test_pair_of_another_maker_is_ours_where_it_is_wanted(self):
        self.ip('link add veth-default type veth peer name veth-provider')
        self.assertEqual([], self.backend.read(frozenset()))
        pair, = self.backend.read(frozenset([resources.Ref(
            resources.VethPair.kind, ('veth-default',))]))
        # Without its VRF, and down: not as wanted.
        self.assertEqual('', pair.vrf)
        self.assertEqual([], self.change(self.backend, delete=(pair,)))
        self.assertEqual([], self.change(self.backend, delete=(pair,)))
        self.assertNotIn('veth-default', self.ip('link show'))


class SysctlTest(base.KernelTestCase):

    def setUp(self):
        super().setUp()
        self.backend = sysctl.SysctlBackend(self.conf)

    def test_all_that_drivers_set(self):
        wanted = [resources.Sysctl(path, value) for path, value in (
            ('net/ipv4/conf/br-ex/proxy_arp', '1'),
            ('net/ipv4/conf/br-ex/forwarding', '1'),
            ('net/ipv4/conf/br-ex/accept_local', '1'),
            ('net/ipv4/neigh/br-ex/proxy_delay', '0'),
            ('net/ipv4/conf/br-ex/promote_secondaries', '1'))]
        self.assertCountEqual(wanted, self.create(self.backend, *wanted))
        for resource in wanted:
            self.assertEqual(resource.value, self.sysctl(resource.path))

    def test_device_with_a_dot(self):
        self.ip('link add v.10 type veth peer name v.11')
        wanted = resources.Sysctl('net/ipv4/conf/v.10/proxy_arp', '1')
        self.assertEqual([wanted], self.create(self.backend, wanted))

    def test_change_behind_our_back_is_seen(self):
        wanted = resources.Sysctl('net/ipv4/conf/br-ex/proxy_arp', '1')
        self.create(self.backend, wanted)
        with open('/proc/sys/' + wanted.path, 'w') as opened:
            opened.write('0')
        found, = self.backend.read(frozenset([wanted.ref]))
        self.assertEqual('0', found.value)

    def test_only_the_paths_and_values_of_the_list(self):
        bad = [resources.Sysctl(path, value) for path, value in (
            ('kernel/core_pattern', '1'),
            ('net/ipv4/conf/../../../kernel/panic', '1'),
            ('net/ipv4/conf/../proxy_arp', '1'),
            ('net/ipv4/conf/br-ex/proxy_arp\n', '1'),
            ('net/ipv4/conf/br-ex/send_redirects', '1'),
            ('net/ipv4/conf/br-ex/rp_filter', '0'),
            ('net/ipv4/ip_forward', '0'),
            ('net/ipv4/tcp_l3mdev_accept', '1'),
            ('net/ipv4/conf/br-ex/proxy_arp', '|/bin/sh'),
            ('net/ipv4/conf/absent/proxy_arp', '1'))]
        for resource in bad:
            failed = self.backend.apply(backends.Delta(create=(resource,)))
            self.assertEqual([resource.ref], list(failed))
        self.assertEqual('0', self.sysctl('net/ipv4/conf/br-ex/proxy_arp'))


class AddressTest(base.KernelTestCase):

    def setUp(self):
        super().setUp()
        self.backend = address.AddressBackend(self.conf)

    def addresses(self):
        return [f'{address["local"]}/{address["prefixlen"]}'
                for device in self.shown('-4 address show dev br-ex')
                for address in device.get('addr_info', [])]

    def test_twice_each(self):
        wanted = resources.Address('br-ex', '169.254.0.1/30')
        for _repeat in range(2):
            self.assertEqual([wanted], self.create(self.backend, wanted))
        self.assertEqual(['169.254.0.1/30'], self.addresses())
        for _repeat in range(2):
            self.assertEqual([], self.change(self.backend, delete=(wanted,)))
        self.assertEqual([], self.addresses())

    def test_ipv6(self):
        wanted = resources.Address('br-ex', '2001:db8::1/64')
        self.assertEqual([wanted], self.create(self.backend, wanted))
        self.assertEqual([], self.change(self.backend, delete=(wanted,)))

    def test_foreign_addresses_are_not_ours(self):
        self.ip('address add 203.0.113.1/24 dev br-ex')
        self.ip('address add 169.254.0.1/30 dev br-ex-peer')
        self.ip('address add 169.254.0.1/24 dev br-ex')
        wanted = resources.Address('br-ex', '169.254.0.1/30')
        self.assertEqual([], self.backend.read(frozenset([wanted.ref])))
        self.assertEqual([], self.change(self.backend, delete=(wanted,)))
        self.assertEqual(['203.0.113.1/24', '169.254.0.1/24'],
                         self.addresses())

    def test_secondary_addresses_of_others_survive(self):
        ours = resources.Address('br-ex', '203.0.113.1/24')
        self.create(self.backend, ours)
        self.ip('address add 203.0.113.2/24 dev br-ex')
        self.assertIn('203.0.113.2/24', self.backend.apply(
            backends.Delta(delete=(ours,)))[ours.ref])
        self.assertEqual(['203.0.113.1/24', '203.0.113.2/24'],
                         self.addresses())
        with open('/proc/sys/net/ipv4/conf/br-ex/promote_secondaries',
                  'w') as opened:
            opened.write('1')
        self.assertEqual([], self.change(self.backend, delete=(ours,)))
        self.assertEqual(['203.0.113.2/24'], self.addresses())

    def test_a_bad_item_costs_only_itself(self):
        bad = (resources.Address('absent', '203.0.113.1/32'),
               resources.Address('br-ex', '203.0.113.1'),
               resources.Address('br-ex', '203.0.113.1/33'))
        good = resources.Address('br-ex', '203.0.113.2/32')
        failed = self.backend.apply(backends.Delta(create=(*bad, good)))
        self.assertCountEqual([r.ref for r in bad], failed)
        self.assertEqual(['203.0.113.2/32'], self.addresses())

    def test_address_of_a_device_that_is_gone(self):
        wanted = resources.Address('br-ex', '203.0.113.1/32')
        self.create(self.backend, wanted)
        self.ip('link del br-ex')
        self.assertEqual([], self.change(self.backend, delete=(wanted,)))


class VipAddressTest(base.KernelTestCase):
    """Addresses of VIPs: to have one is to announce it."""

    def setUp(self):
        super().setUp()
        self.ip('link add loopback1 type veth peer name loopback1-peer')
        self.ip('link set loopback1 up')
        self.backend = address.AddressBackend(self.conf)

    def addresses(self):
        return {f'{found["local"]}/{found["prefixlen"]}': found
                for device in self.shown('address show dev loopback1')
                for found in device.get('addr_info', [])
                if found['scope'] == 'global'}

    def test_both_families(self):
        wanted = [resources.VipAddress('loopback1', address) for address in
                  ('192.0.2.53/32', '198.18.0.1/32', '2001:db8::53/128')]
        for _repeat in range(2):
            self.assertEqual(set(wanted),
                             set(self.create(self.backend, *wanted)))
        self.assertEqual({r.address for r in wanted},
                         set(self.addresses()))
        self.assertEqual([], self.change(self.backend, delete=wanted))
        self.assertEqual({}, self.addresses())

    def test_an_ipv6_address_is_of_use_at_once(self):
        self.create(self.backend, resources.VipAddress(
            'loopback1', '2001:db8::53/128'))
        [found] = self.addresses().values()
        self.assertTrue(found.get('nodad'))
        self.assertFalse(found.get('tentative'))

    def test_what_a_former_run_left_is_withdrawn_first(self):
        """Nobody wants it any more, and nothing else says that it is one."""
        left = resources.VipAddress('loopback1', '192.0.2.53/32')
        other = resources.Address('br-ex', '169.254.169.254/32')
        self.create(self.backend, left, other)
        found = address.AddressBackend(self.conf).read(frozenset())
        self.assertEqual({left, other}, set(found))
        self.assertIs(resources.Stage.ANNOUNCE, left.stage)
        self.assertEqual([other], self.change(self.backend, delete=[left]))

    def test_the_last_one_goes_beside_the_anchor(self):
        """Issue 10, A5: a VIP that stays attracts its clients."""
        vip = resources.VipAddress('loopback1', '192.0.2.53/32')
        anchor = resources.Address('loopback1', ownership.ANCHOR)
        self.create(self.backend, anchor, vip)
        self.ip('route add 198.51.100.53/32 dev loopback1 proto static')
        self.assertEqual([anchor], self.change(self.backend, delete=[vip]))
        self.assertEqual(1, len(self.shown('route show 198.51.100.53')))
        # The anchor attracts nothing, so it may stay for the route.
        failures = self.backend.apply(backends.Delta(delete=(anchor,)))
        self.assertIsInstance(failures[anchor.ref], backends.Kept)

    def test_the_anchor_is_no_source(self):
        """Neither of connections nor of ICMP errors.

        The kernel takes the first address of the first device that has one
        where the way out has none, as with BGP over link-local addresses.
        """
        self.ip('link set br-ex up')
        self.ip('link set br-ex-peer up')
        self.create(self.backend,
                    resources.Address('loopback1', ownership.ANCHOR))
        self.ip('route add default dev br-ex scope global')
        self.assertNotIn('prefsrc', self.way('203.0.113.9'))
        self.create(self.backend,
                    resources.VipAddress('loopback1', '192.0.2.53/32'))
        self.assertEqual('192.0.2.53', self.way('203.0.113.9')['prefsrc'])

    def way(self, address):
        """What the kernel says about the way to an address."""
        found, = self.shown(f'route get {address}')
        return found

    def test_one_that_has_to_stay_is_a_failure(self):
        vip = resources.VipAddress('loopback1', '192.0.2.53/32')
        self.create(self.backend, vip)
        self.ip('route add 198.51.100.53/32 dev loopback1 proto static')
        failures = self.backend.apply(backends.Delta(delete=(vip,)))
        self.assertNotIsInstance(failures[vip.ref], backends.Kept)
        self.assertIn('is the last address', failures[vip.ref])

    def test_an_address_of_the_operator_is_not_ours(self):
        self.ip('address add 192.0.2.1/32 dev loopback1')
        self.assertEqual([], self.backend.read(frozenset()))
        # One that is wanted is there already.
        wanted = resources.VipAddress('loopback1', '192.0.2.1/32')
        self.assertEqual([wanted], self.create(self.backend, wanted))


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

    def test_entry_that_is_not_permanent_is_made_so(self):
        self.ip('neighbour add 169.254.0.2 lladdr 02:00:00:00:00:01 '
                'dev br-ex nud reachable')
        self.assertEqual([], self.backend.read(
            frozenset([self.wanted.ref])))
        self.create(self.backend, self.wanted)
        self.assertEqual((self.mac(), ['PERMANENT']), self.entry())

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
            self.assertEqual([], self.backend.read(
                frozenset([self.wanted.ref])))
            failed = self.backend.apply(
                backends.Delta(create=(self.wanted,)))
            self.assertIn('not ours', failed[self.wanted.ref])
            self.assertIn(self.FIP, failed[self.wanted.ref])
            self.change(self.backend, delete=(self.wanted,))
            self.assertEqual(before, self.states())

    def test_what_the_daemon_refuses(self):
        for bad in ('ff:ff:ff:ff:ff:ff', '00:00:00:00:00:00', '', 'FA:16:3e:'
                    '00:00:01', '01:00:5e:00:00:01', None, 7):
            self.assertEqual([0], [index for index, *_why in
                                   netlink.set_neighbours(
                                       [['br-ex', self.FIP, bad]])], bad)
        self.assertEqual([], self.states())
