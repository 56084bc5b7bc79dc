# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backend route on the real kernel."""

import random
import time

from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends.kernel import route
from ovn_network_agent.tests.functional.netlink import base

MAIN = 254
OURS = '44'
STATIC = '4'


def fip(number=10, table=MAIN, dev='br-ex', via=None):
    return resources.KernelRoute(table, f'198.51.100.{number}/32', dev, via)


class RouteTest(base.KernelTestCase):

    def setUp(self):
        super().setUp()
        self.bridge_up()
        self.conf = self.configure(vrf_name='vrf-absent')
        self.backend = route.RouteBackend(self.conf)

    def pair(self):
        self.ip('link add veth-default type veth peer name veth-provider')
        self.ip('address add 169.254.0.1/30 dev veth-default')
        self.ip('link set veth-default up')
        self.ip('link set veth-provider up')

    def test_route_is_created_with_our_protocol(self):
        self.assertEqual([fip()], self.create(self.backend, fip()))
        shown, = self.shown('-N -d route show 198.51.100.10')
        self.assertEqual(
            (OURS, 'br-ex', '253'),
            (shown['protocol'], shown['dev'], shown['scope']))

    def test_default_route_with_a_gateway_in_another_table(self):
        # Trap T58: the kernel names no destination of a default route.
        self.pair()
        default = resources.KernelRoute(
            200, '0.0.0.0/0', 'veth-default', '169.254.0.2')
        self.assertEqual([default], self.create(self.backend, default))
        shown, = self.shown('-N route show table 200')
        self.assertEqual(('default', '169.254.0.2', OURS),
                         (shown['dst'], shown['gateway'], shown['protocol']))
        self.assertEqual([], self.change(self.backend, delete=(default,)))

    def test_ipv6(self):
        self.ip('address add 2001:db8::1/64 dev br-ex nodad')
        self.pair()
        wanted = (
            resources.KernelRoute(MAIN, '2001:db8:1::/48', 'br-ex', None),
            resources.KernelRoute(201, '::/0', 'veth-default',
                                  'fe80::a9fe:2'))
        self.assertCountEqual(wanted, self.create(self.backend, *wanted))
        self.create(self.backend, *wanted)
        self.assertEqual([], self.change(self.backend, delete=wanted))

    def test_creating_and_deleting_twice_is_success(self):
        self.create(self.backend, fip())
        self.create(self.backend, fip())
        self.change(self.backend, delete=(fip(),))
        self.assertEqual([], self.change(self.backend, delete=(fip(),)))
        self.assertEqual({}, self.routes())

    def unchanged(self, mark, known=frozenset()):
        """Whether a reading with a mark finds nothing else.

        If so, a complete reading finds the same.
        """
        before = self.backend.reread(lambda: known, None)[0]
        found, now = self.backend.reread(lambda: known, mark)
        self.assertEqual(before, before if found is None else found)
        self.assertEqual(found is None, mark == now)
        return found is None

    def test_what_is_as_before_is_not_read(self):
        six = resources.KernelRoute(MAIN, '2001:db8:1::/48', 'br-ex', None)
        self.ip('address add 2001:db8::1/64 dev br-ex nodad')
        self.create(self.backend, fip(), fip(11, table=70000), six)
        found, mark = self.backend.reread(frozenset, None)
        self.assertCountEqual([fip(), fip(11, table=70000), six], found)
        for _time in range(3):
            self.assertTrue(self.unchanged(mark))
        # A route of another program is none of ours.
        self.ip('route add 198.51.100.99/32 dev br-ex')
        self.assertTrue(self.unchanged(mark))

    def test_each_difference_is_found(self):
        """Drift right after an answer that nothing has changed."""
        self.ip('link set br-ex-peer up')
        self.create(self.backend, fip(), fip(11))
        ours = '198.51.100.10/32 dev br-ex proto 44'
        for change, back in (
                (f'route del {ours}', f'route add {ours}'),
                (f'route replace {ours.replace("br-ex", "br-ex-peer")}',
                 f'route replace {ours}'),
                (f'route add {ours} metric 7', f'route del {ours} metric 7'),
                (f'route add {ours.replace(".10/", ".12/")}',
                 f'route del {ours.replace(".10/", ".12/")}'),
                ('route add 198.51.100.10/32 dev br-ex proto 44 table 201',
                 'route del 198.51.100.10/32 dev br-ex table 201')):
            _found, mark = self.backend.reread(frozenset, None)
            self.assertTrue(self.unchanged(mark), change)
            self.ip(change)
            self.assertFalse(self.unchanged(mark), change)
            self.ip(back)

    def test_a_memory_never_hides_a_change(self):
        """Changes by all, and readings of one backend in between."""
        self.ip('link set br-ex-peer up')
        self.conf.set_override('vrf_name', '', 'frr')
        dice = random.Random(36)
        known, wanted = set(), {}
        for turn in range(30):
            some = {one.key: one for one in (fip(
                dice.randrange(256), dice.choice((MAIN, 201)),
                dice.choice(('br-ex', 'br-ex-peer')))
                for _route in range(dice.choice((1, 1, 100))))}
            if turn % 3 == 1:
                self.backend.apply(backends.Delta(
                    delete=tuple(some.values())))
            else:
                self.assertEqual({}, self.backend.apply(backends.Delta(
                    create=tuple(some.values()))))
            wanted.update(some)
            if turn % 5 == 4:
                self.ip(f'route replace 198.51.100.{turn}/32 dev br-ex '
                        'proto 44 metric 9')
            if turn % 7 == 6:
                # The classes of some routes.
                known = {one.ref for one in wanted.values()
                         if dice.random() < 0.1}
            fresh = route.RouteBackend(self.conf)
            self.assertCountEqual(fresh.read(known),
                                  self.backend.read(known))

    def test_a_memory_knows_the_names_of_devices(self):
        """The same routes through a device that is called otherwise."""
        name = 'br-ex-peer'
        for new in ('other', name):
            self.ip(f'link set {name} up')
            self.ip(f'route add 198.51.100.10/32 dev {name} proto 44')
            self.assertEqual([fip(dev=name)],
                             self.backend.read(frozenset()))
            self.ip(f'link set {name} down')
            self.ip(f'link set {name} name {new}')
            name = new

    def test_foreign_route_before_ours_is_not_replaced(self):
        """The kernel would replace the first one with this metric."""
        self.ip('link set br-ex-peer up')
        self.create(self.backend, fip(), fip(11))
        self.ip('route prepend 198.51.100.10/32 dev br-ex proto static')
        new = [fip(n, dev='br-ex-peer') for n in (10, 11)]
        failed = self.backend.apply(backends.Delta(update=tuple(
            zip((fip(), fip(11)), new, strict=True))))
        self.assertEqual([new[0].ref], list(failed))
        self.assertIn('before ours', failed[new[0].ref])
        self.assertEqual(
            [('br-ex', STATIC), ('br-ex', OURS)],
            [(r['dev'], r['protocol']) for r in self.shown(
                '-N route show 198.51.100.10')])
        # It is removed: ours takes its place.
        self.ip('route del 198.51.100.10/32 proto static')
        self.assertCountEqual(new, self.change(
            self.backend, update=((fip(), new[0]),)))

    def test_foreign_routes_survive(self):
        self.ip('route add 198.51.100.10/32 dev br-ex proto static '
                'metric 50')
        self.ip('route add 198.51.100.11/32 dev br-ex proto static')
        self.create(self.backend, fip(10))
        self.change(self.backend, delete=(fip(10), fip(11)))
        self.assertEqual({'198.51.100.10': STATIC, '198.51.100.11': STATIC},
                         self.routes())
        self.assertEqual([], self.backend.read(frozenset()))

    def test_foreign_route_is_not_replaced(self):
        self.ip('route add 198.51.100.10/32 dev br-ex proto static')
        failed = self.backend.apply(backends.Delta(create=(fip(), fip(11))))
        self.assertEqual([fip().ref], list(failed))
        self.assertIn('not ours', failed[fip().ref])
        self.assertEqual({'198.51.100.10': STATIC, '198.51.100.11': OURS},
                         self.routes())

    def test_a_bad_item_costs_only_itself(self):
        bad = (
            fip(1, dev='absent'),
            resources.KernelRoute(255, '198.51.100.2/32', 'br-ex'),
            resources.KernelRoute(0, '198.51.100.3/32', 'br-ex'),
            resources.KernelRoute(MAIN, '198.51.100.4/24', 'br-ex'),
            resources.KernelRoute(MAIN, 'nonsense', 'br-ex'),
            fip(6, dev='a-name-of-16-byt'),
            fip(7, via='203.0.113.1'))
        failed = self.backend.apply(backends.Delta(
            create=(fip(20), *bad, fip(21))))
        self.assertCountEqual([r.ref for r in bad], failed)
        for resource, text in zip(bad, (
                'absent does not exist', 'table 255', 'table 0',
                '198.51.100.0/24', 'nonsense', 'a-name-of-16-byt',
                'ENETUNREACH'), strict=True):
            self.assertIn(text, failed[resource.ref])
        self.assertEqual({'198.51.100.20': OURS, '198.51.100.21': OURS},
                         self.routes())

    def test_a_stray_of_our_protocol_is_read_and_removed(self):
        self.ip('route add blackhole 198.51.100.9/32 proto 44 metric 7')
        stray, = self.backend.read(frozenset())
        self.assertEqual((MAIN, '198.51.100.9/32'), stray.key)
        self.assertEqual([], self.change(self.backend, delete=(stray,)))

    def test_all_routes_of_a_place_are_deleted(self):
        self.ip('link set br-ex-peer up')
        for more in ('', 'metric 7', 'metric 8', 'metric 4400001'):
            self.ip(f'route add 198.51.100.9/32 dev br-ex proto 44 {more}')
        self.ip('route append 198.51.100.9/32 dev br-ex-peer proto 44')
        self.ip('route add 198.51.100.9/32 dev br-ex proto static metric 9')
        found, = self.backend.read(frozenset())
        self.assertEqual(resources.SEVERAL, found.metric)
        self.assertEqual([], self.change(self.backend, delete=(found,)))
        self.assertEqual([STATIC], [r['protocol'] for r in self.shown(
            '-N route show 198.51.100.9')])

    def test_routes_of_a_device_that_went_down_are_missed(self):
        self.create(self.backend, fip())
        self.ip('link set br-ex down')
        self.assertEqual([], self.backend.read(frozenset([fip().ref])))

    def test_ten_thousand_routes(self):
        routes = tuple(resources.KernelRoute(
            200, f'10.{i >> 16}.{i >> 8 & 255}.{i & 255}/32', 'br-ex')
            for i in range(10000))
        started = time.monotonic()
        self.assertEqual({}, self.backend.apply(
            backends.Delta(create=routes)))
        self.assertEqual(set(routes), set(self.backend.read(frozenset())))
        self.assertEqual({}, self.backend.apply(
            backends.Delta(create=routes)))
        self.assertEqual({}, self.backend.apply(
            backends.Delta(delete=routes)))
        self.assertEqual([], self.backend.read(frozenset()))
        # 10 s is ten times what a slow machine needs; ip(8) one by one
        # takes 30 s.
        self.assertLess(time.monotonic() - started, 10)


class DefaultVrfTest(base.KernelTestCase):
    """[frr] vrf_name is empty: FRR looks at the main table."""

    def setUp(self):
        super().setUp()
        self.bridge_up()
        self.backend = route.RouteBackend(self.conf)

    def test_host_route_in_main_is_an_announcement(self):
        announced = resources.AnnouncedRoute(
            MAIN, '198.51.100.10/32', 'br-ex')
        self.assertEqual([announced], self.create(self.backend, announced))
        self.assertEqual([announced], self.backend.read(frozenset()))

    def test_other_tables_and_networks_are_plain(self):
        network = resources.KernelRoute(MAIN, '203.0.113.0/24', 'br-ex')
        self.create(self.backend, fip(table=300), network)
        self.assertCountEqual([fip(table=300), network],
                              self.backend.read(frozenset()))
