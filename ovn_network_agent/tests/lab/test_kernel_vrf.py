# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The kernel backends where they meet a VRF.

Needs nothing of the lab but its kernel: each test has a network namespace of
its own.
"""

import dataclasses
import os
import socket

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends.kernel import address
from ovn_network_agent.backends.kernel import link
from ovn_network_agent.backends.kernel import neighbour
from ovn_network_agent.backends.kernel import route
from ovn_network_agent.backends.kernel import rule
from ovn_network_agent.netlink import connection
from ovn_network_agent.netlink.objects import links
from ovn_network_agent.netlink.objects import lookups
from ovn_network_agent.tests import namespaces
from ovn_network_agent.tests.functional.netlink import base

VRF = 'vrf-provider'
TABLE = 1001
DEFAULT, PROVIDER = 'veth-default', 'veth-provider'
PAIR = resources.VethPair(DEFAULT, PROVIDER, VRF)
ADDRESSES = (resources.Address(DEFAULT, '169.254.0.1/30'),
             resources.Address(PROVIDER, '169.254.0.2/30'))
NEIGHBOURS = (resources.Neighbour(DEFAULT, '169.254.0.2', PROVIDER),
              resources.Neighbour(PROVIDER, '169.254.0.1', DEFAULT))
SYSCTLS = (
    resources.Sysctl('net/ipv4/conf/veth-default/forwarding', '1'),
    resources.Sysctl('net/ipv4/conf/veth-provider/forwarding', '1'),
    resources.Sysctl('net/ipv4/conf/veth-provider/accept_local', '1'))
ROUTES = (
    resources.KernelRoute(200, '0.0.0.0/0', DEFAULT, '169.254.0.2'),
    resources.KernelRoute(TABLE, '198.51.100.0/24', PROVIDER,
                          '169.254.0.1'))
ANNOUNCED = resources.AnnouncedRoute(
    TABLE, '198.51.100.10/32', PROVIDER, '169.254.0.1')
RULES = (resources.Rule(2000, 200, src='198.51.100.0/24'),
         resources.Rule(1999, 254, iif=DEFAULT))


class VrfTestCase(base.KernelTestCase):

    def setUp(self):
        super().setUp()
        self.ip(f'link add {VRF} type vrf table {TABLE}')
        self.ip(f'link set {VRF} up')
        self.bridge_up()
        self.conf = self.configure(VRF)
        self.backend = link.LinkBackend(self.conf)

    def link(self, dev):
        shown, = self.shown(f'-d link show {dev}')
        return shown

    def assert_complete(self):
        self.assertEqual(VRF, self.link(PROVIDER)['master'])
        self.assertNotIn('master', self.link(DEFAULT))
        for dev in (DEFAULT, PROVIDER):
            self.assertIn('UP', self.link(dev)['flags'])


class VethPairTest(VrfTestCase):

    def test_check(self):
        self.assertEqual([], self.backend.check())

    def test_devices_of_the_snapshot(self):
        device = next(d for d in links.read_devices() if d.name == VRF)
        self.assertEqual((TABLE, True), (device.vrf_table, device.up))

    def test_a_default_route_with_a_next_hop_of_ipv6(self):
        """As BGP unnumbered brings it (RFC 8950), for both families."""
        def known():
            device = next(d for d in links.read_devices() if d.name == VRF)
            return device.default_route, device.default_route6
        self.create(self.backend, PAIR)
        self.ip(f'route add unreachable default table {TABLE} metric 9')
        self.ip(f'-6 route add unreachable default table {TABLE} metric 9')
        self.assertEqual((False, False), known())
        # Without the family, ip(8) takes this for a route of IPv6.
        self.ip(f'-4 route add default via inet6 fe80::1 dev {PROVIDER} '
                f'table {TABLE}')
        self.assertEqual((True, False), known())
        self.ip(f'-6 route add default via fe80::1 dev {PROVIDER} table '
                f'{TABLE} metric 5')
        self.assertEqual((True, True), known())

    def test_a_default_route_that_shares_its_next_hop(self):
        """As zebra makes them: routes of IPv6 with one nexthop object.

        The kernel answers with the name of the route that was used first.
        """
        def known():
            device = next(d for d in links.read_devices() if d.name == VRF)
            return device.default_route6

        def answer():
            with connection.Connection() as kernel:
                return lookups.look_up(kernel, 'c000::1',
                                       outgoing=socket.if_nametoindex(VRF))
        self.create(self.backend, PAIR)
        # The kernel keeps an answer for each processor.
        used = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {min(used)})
        self.addCleanup(os.sched_setaffinity, 0, used)
        self.ip(f'-6 route add unreachable default table {TABLE} metric 9999')
        self.ip(f'nexthop add id 7 via fe80::1 dev {PROVIDER}')
        self.ip(f'-6 route add 2001:db8::7 nhid 7 table {TABLE} metric 20')
        self.assertEqual(False, known())
        self.assertTrue(answer().missing)
        self.ip(f'-6 route add default nhid 7 table {TABLE} metric 20')
        # A change of any route makes the kernel forget its answers.
        self.ip(f'-6 route get 2001:db8::7 vrf {VRF}')
        self.assertIn('2001:db8::7', self.ip(
            f'-6 route get fibmatch c000::1 vrf {VRF}'))
        self.assertEqual(True, known())
        self.assertEqual(('', 0, '', PROVIDER, 'fe80::1'), answer()[:5])
        self.ip(f'-6 route del default nhid 7 table {TABLE} metric 20')
        self.assertEqual(False, known())

    def test_pair_is_made_with_our_alias(self):
        for _repeat in range(2):
            self.assertEqual([PAIR], self.create(self.backend, PAIR))
        self.assert_complete()
        self.assertEqual('ovn-network-agent', self.link(PROVIDER)['ifalias'])
        self.assertEqual([], self.change(self.backend, delete=(PAIR,)))
        self.assertNotIn(DEFAULT, self.ip('link show'))

    def test_existing_pair_is_adopted_and_keeps_its_macs(self):
        self.ip(f'link add {DEFAULT} type veth peer name {PROVIDER}')
        mac = self.link(PROVIDER)['address']
        found, = self.backend.read(frozenset([PAIR.ref]))
        self.assertEqual([PAIR], self.change(
            self.backend, update=((found, PAIR),)))
        self.assert_complete()
        self.assertEqual(mac, self.link(PROVIDER)['address'])

    def test_each_damage_is_seen_and_mended(self):
        self.create(self.backend, PAIR)
        self.ip('link add vrf-other type vrf table 1002')
        for damage in (f'link set {PROVIDER} nomaster',
                       f'link set {PROVIDER} master vrf-other',
                       f'link set {DEFAULT} master {VRF}',
                       f'link set {DEFAULT} down',
                       f'link set {PROVIDER} down'):
            with self.subTest(damage):
                self.ip(damage)
                found, = self.backend.read(frozenset())
                self.assertNotEqual(PAIR, found)
                self.assertEqual([PAIR], self.change(
                    self.backend, update=((found, PAIR),)))
                self.assert_complete()

    def test_other_devices_with_our_names_survive(self):
        self.ip(f'link add {DEFAULT} type veth peer name other')
        self.ip(f'link add {PROVIDER} type vrf table 1003')
        failed = self.backend.apply(backends.Delta(create=(PAIR,)))
        self.assertIn('are not the ends of one veth pair', failed[PAIR.ref])
        self.assertEqual([], self.change(self.backend, delete=(PAIR,)))
        self.assertEqual('veth', self.link(DEFAULT)['linkinfo']['info_kind'])
        self.assertEqual('vrf', self.link(PROVIDER)['linkinfo']['info_kind'])

    def test_peer_in_another_namespace_is_not_our_pair(self):
        self.ip(f'link add {DEFAULT} type veth peer name {PROVIDER}')
        other = namespaces.hold(self)
        self.ip(f'link set {PROVIDER} netns {other.pid}')
        self.assertEqual([], self.backend.read(frozenset()))
        failed = self.backend.apply(backends.Delta(create=(PAIR,)))
        self.assertEqual([PAIR.ref], list(failed))

    def test_missing_vrf(self):
        self.ip(f'link del {VRF}')
        message, = self.backend.check()
        self.assertIn(f'[frr] vrf_name = {VRF}', message)
        failed = self.backend.apply(backends.Delta(create=(PAIR,)))
        self.assertIn('does not exist', failed[PAIR.ref])


class LeakTest(VrfTestCase):
    """The whole veth leak, over all kernel backends."""

    def setUp(self):
        super().setUp()
        self.route = route.RouteBackend(self.conf)
        self.steps = (
            (self.backend, (PAIR,)),
            (link.SysctlBackend(self.conf), SYSCTLS),
            (address.AddressBackend(self.conf), ADDRESSES),
            (neighbour.NeighbourBackend(self.conf), NEIGHBOURS),
            (self.route, (*ROUTES, ANNOUNCED)),
            (rule.RuleBackend(self.conf), RULES))

    def make(self):
        for backend, wanted in self.steps:
            self.assertCountEqual(wanted, self.create(backend, *wanted))

    def test_made_twice_and_removed_twice(self):
        for _repeat in range(2):
            self.make()
        for _repeat in range(2):
            for backend, wanted in reversed(self.steps[1:]):
                if wanted is not SYSCTLS:
                    self.assertEqual([], self.change(backend, delete=wanted))
            self.assertEqual([], self.change(self.backend, delete=(PAIR,)))
        self.assertEqual({}, self.routes(200))
        self.assertNotIn('44', self.routes(TABLE).values())

    def test_what_a_change_of_the_vrf_takes_along_is_missed(self):
        self.make()
        self.ip(f'link set {PROVIDER} nomaster')
        self.change(self.backend, create=(PAIR,))
        lost = []
        for backend, wanted in self.steps:
            found = backend.read(frozenset(r.ref for r in wanted))
            lost.extend(r.kind for r in wanted if r not in found)
        self.assertIn('kernel_route', lost)
        self.assertIn('neighbour', lost)
        self.make()

    def test_announced_and_plain_routes_of_the_vrf(self):
        self.make()
        self.assertCountEqual((*ROUTES, ANNOUNCED),
                              self.route.read(frozenset()))

    def test_routes_of_frr_in_the_vrf_survive(self):
        self.make()
        # 196 is zebra's protocol for static routes.
        self.ip(f'route add 198.51.100.10/32 via 169.254.0.1 table {TABLE} '
                f'proto 196 metric 20')
        self.assertEqual([*ROUTES], sorted(
            self.change(self.route, delete=(ANNOUNCED,)),
            key=lambda r: r.table))
        self.assertEqual({'198.51.100.10': '196'}, {
            dst: protocol for dst, protocol in self.routes(TABLE).items()
            if dst == '198.51.100.10'})

    def test_a_tag_in_the_vrf(self):
        """A tag is the metric; a route of another program stays in use."""
        self.make()
        former = ANNOUNCED
        for metric in (ownership.TAGS.start, ownership.TAGS.start + 1, None):
            wanted = dataclasses.replace(former, metric=metric)
            self.assertCountEqual((*ROUTES, wanted), self.change(
                self.route, update=((former, wanted),)))
            former = wanted
        foreign = dataclasses.replace(ANNOUNCED, dst='198.51.100.11/32',
                                      metric=ownership.TAGS.start)
        self.ip(f'route add {foreign.dst} via 169.254.0.1 table {TABLE} '
                'proto static')
        failed = self.route.apply(backends.Delta(create=(foreign,)))
        self.assertIn('the kernel uses that one', failed[foreign.ref])
        # zebra makes way for a kernel route.
        self.ip(f'route del {foreign.dst} table {TABLE}')
        self.ip(f'route add {foreign.dst} via 169.254.0.1 table {TABLE} '
                'proto 186 metric 20')
        self.assertEqual({}, self.route.apply(backends.Delta(
            create=(foreign,))))
