# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Tags of announced routes, which the operator's route map matches."""

import dataclasses
import json
import subprocess

from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends.frr import frr_static
from ovn_network_agent.backends.kernel import route
from ovn_network_agent.tests.functional.frr import base
from ovn_network_agent.tests.functional.frr import tagged

ONE, TWO = tagged.ONE, tagged.TWO
FIRST, SECOND = (tagged.COMMUNITIES[tag] for tag in (ONE, TWO))
PREFIX, SIX = '198.51.100.1/32', '2001:db8:1::1/128'
MAIN = 254


class BackendTestCase(tagged.TaggedTestCase):
    """With a backend, which the tests make."""

    def read(self):
        return set(self.backend.read(frozenset()))

    def change(self, **delta):
        self.assertEqual({}, self.backend.apply(backends.Delta(**delta)))

    def tell(self, former, name, steps):
        """Change a field of a route, until the neighbour knows.

        :param steps: iterable of (value, community at the neighbour)
        :returns: the last resource
        """
        for value, community in steps:
            wanted = dataclasses.replace(former, **{name: value})
            self.change(update=((former, wanted),))
            self.assertEqual({wanted}, self.read())
            self.frr.become(PREFIX, community)
            former = wanted
        return former


class StaticTest(BackendTestCase):
    """Static routes have tags of their own."""

    def setUp(self):
        super().setUp()
        self.backend = frr_static.StaticBackend(self.conf)
        self.addCleanup(self.backend.close)

    def test_the_neighbour_sees_the_community(self):
        former = resources.Announcement('', PREFIX, base.BRIDGE)
        self.change(create=(former,))
        self.frr.become(PREFIX, '')
        former = self.tell(former, 'tag', (
            (ONE, FIRST), (TWO, SECOND), (None, ''), (ONE, FIRST)))
        self.assert_never_withdrawn(PREFIX)
        self.change(delete=(former,))
        self.assertEqual(set(), self.read())
        base.wait_until(lambda: self.frr.community(PREFIX) is None,
                        'withdrawn')

    def test_a_new_start_knows_them(self):
        wanted = {resources.Announcement('', PREFIX, base.BRIDGE, ONE),
                  resources.Announcement('', SIX, base.BRIDGE, TWO)}
        self.change(create=tuple(wanted))
        other = frr_static.StaticBackend(self.conf)
        self.addCleanup(other.close)
        self.assertEqual(wanted, set(other.read(frozenset())))
        self.assertEqual({}, other.apply(backends.Delta(
            delete=tuple(wanted))))
        self.assertEqual(set(), self.read())

    def test_ipv6(self):
        former = resources.Announcement('', SIX, base.BRIDGE)
        self.change(create=(former,))
        for tag in (ONE, TWO, None):
            wanted = dataclasses.replace(former, tag=tag)
            self.change(update=((former, wanted),))
            self.assertEqual({wanted}, self.read())
            base.wait_until(lambda t=tag: self._zebra(SIX) == [t],
                            'tag in zebra')
            former = wanted

    def _zebra(self, prefix):
        shown = json.loads(self.frr.ask(
            'zebra', f'show ipv6 route {prefix} json') or '{}')
        return [each.get('tag') for each in shown.get(prefix, ())]

    def test_the_tags_of_the_operator_stay(self):
        lines = [f'ip route 198.51.100.{n}/32 {base.BRIDGE} {more}'
                 for n, more in enumerate((
                     f'tag {ONE - 2}', f'tag {TWO + 1}', f'tag {ONE} 20',
                     'tag 5', f'20 tag {ONE}'), 10)]
        self.frr.configure(*lines)
        before = self.frr.running()
        self.assertEqual(set(), self.read())
        wanted = [resources.Announcement('', f'198.51.100.{n}/32',
                                         base.BRIDGE, ONE)
                  for n in range(10, 10 + len(lines))]
        failed = self.backend.apply(backends.Delta(create=tuple(wanted)))
        self.assertEqual({each.ref for each in wanted}, failed.keys())
        self.assertIn('the operator has', failed[wanted[0].ref])
        self.backend.apply(backends.Delta(delete=tuple(wanted)))
        self.assertEqual(before, self.frr.running())

    def test_a_tag_that_somebody_else_has_changed_is_repaired(self):
        wanted = resources.Announcement('', PREFIX, base.BRIDGE, ONE)
        self.change(create=(wanted,))
        for other in ('', f' tag {TWO}'):
            self.frr.configure(f'ip route {PREFIX} {base.BRIDGE}{other}')
            found, = self.read()
            self.assertNotEqual(wanted, found)
            self.change(update=((found, wanted),))
            self.assertEqual({wanted}, self.read())
        self.frr.become(PREFIX, FIRST)


class KernelTest(BackendTestCase):
    """Kernel routes have metrics, which FRR redistributes."""

    def setUp(self):
        super().setUp()
        self.enter_namespace()
        self.backend = route.RouteBackend(self.conf)
        self.wanted = resources.AnnouncedRoute(MAIN, PREFIX, base.BRIDGE)
        self.addCleanup(self._flush)

    def _flush(self):
        for family in '46':
            subprocess.run(['ip', f'-{family}', 'route', 'flush', 'proto',
                            '44'], stderr=subprocess.DEVNULL)

    def test_the_neighbour_sees_the_community(self):
        former = self.wanted
        self.change(create=(former,))
        self.frr.become(PREFIX, '')
        former = self.tell(former, 'metric', (
            (ONE, FIRST), (TWO, SECOND), (ONE, FIRST), (None, '')))
        self.assert_never_withdrawn(PREFIX)
        self.change(delete=(former,))
        base.wait_until(lambda: self.frr.community(PREFIX) is None,
                        'withdrawn')

    def test_of_two_routes_the_wrong_one_goes(self):
        """An agent may end between the two halves of a change."""
        tagged_one = dataclasses.replace(self.wanted, metric=ONE)
        for wanted in (self.wanted, tagged_one):
            self.change(create=(self.wanted,))
            self.change(create=(tagged_one,))
            found, = self.read()
            self.assertEqual(resources.SEVERAL, found.metric)
            self.change(update=((found, wanted),))
            self.assertEqual({wanted}, self.read())
        self.change(create=(self.wanted,))
        found, = self.read()
        self.change(delete=(found,))
        self.assertEqual(set(), self.read())

    def test_nothing_goes_while_the_right_one_is_missing(self):
        self.change(create=(self.wanted,))
        broken = dataclasses.replace(self.wanted, metric=ONE, dev='absent')
        failed = self.backend.apply(backends.Delta(
            update=((self.wanted, broken),)))
        self.assertEqual([broken.ref], list(failed))
        self.assertEqual({self.wanted}, self.read())

    def test_a_route_of_others_before_ours(self):
        subprocess.run(['ip', 'route', 'add', PREFIX, 'dev', base.BRIDGE,
                        'proto', 'static'], check=True)
        self.addCleanup(subprocess.run, [
            'ip', 'route', 'del', PREFIX, 'proto', 'static'])
        wanted = dataclasses.replace(self.wanted, metric=ONE)
        failed = self.backend.apply(backends.Delta(create=(wanted,)))
        self.assertIn('the kernel uses that one', failed[wanted.ref])
        self.assertEqual(set(), self.read())

    def test_a_route_of_others_behind_ours(self):
        """A higher metric of ours would bring it to the front."""
        for family, prefix in (('-4', PREFIX), ('-6', SIX)):
            former = resources.AnnouncedRoute(MAIN, prefix, base.BRIDGE)
            self.change(create=(former,))
            foreign = [prefix, 'dev', base.BRIDGE, 'metric', '2000']
            subprocess.run(['ip', family, 'route', 'add', *foreign],
                           check=True)
            self.addCleanup(subprocess.run, [
                'ip', family, 'route', 'del', *foreign],
                stderr=subprocess.DEVNULL)
            wanted = dataclasses.replace(former, metric=ONE)
            found = former
            for _pass in range(2):
                failed = self.backend.apply(backends.Delta(
                    update=((found, wanted),)))
                self.assertEqual([wanted.ref], list(failed))
                self.assertIn('ours would come behind', failed[wanted.ref])
                self.assertEqual('44', self.answer(prefix))
                found, = (r for r in self.read() if r.dst == prefix)
                self.assertEqual(resources.SEVERAL, found.metric)
            # It is removed: the change is completed.
            subprocess.run(['ip', family, 'route', 'del', *foreign],
                           check=True)
            self.change(update=((found, wanted),))
            self.assertIn(wanted, self.read())
            self.assertEqual('44', self.answer(prefix))

    def test_routes_of_zebra_make_way(self):
        """The former owner's, and those of the other announce method."""
        other, static = '198.51.100.2/32', '198.51.100.3/32'
        self.frr.neighbour.vtysh(
            'configure terminal', 'router bgp 65002',
            'no bgp network import-check',
            'address-family ipv4 unicast', f'network {other}')
        self.addCleanup(
            self.frr.neighbour.vtysh, 'configure terminal',
            'router bgp 65002', 'address-family ipv4 unicast',
            f'no network {other}')
        self.frr.configure(f'ip route {static} {base.BRIDGE}')
        for prefix, protocol in ((other, 'bgp'), (static, 'static')):
            base.wait_until(lambda p=prefix: self.used(p) not in ('', '44'),
                            f'{protocol} route of zebra')
            wanted = resources.AnnouncedRoute(MAIN, prefix, base.BRIDGE,
                                              metric=ONE)
            self.change(create=(wanted,))
            base.wait_until(lambda p=prefix: self.used(p) == '44', 'ours')
            self.frr.become(prefix, FIRST)

    def answer(self, prefix):
        """The protocol number of the kernel's answer for an address."""
        answer, = json.loads(subprocess.run(
            ['ip', '-json', '-N', 'route', 'get', 'fibmatch',
             prefix.partition('/')[0]], check=True, capture_output=True,
            text=True).stdout)
        return answer['protocol']

    def used(self, prefix):
        """The protocol number of the route that the kernel uses, or ''."""
        shown = json.loads(subprocess.run(
            ['ip', '-json', '-N', 'route', 'show', prefix], check=True,
            capture_output=True, text=True).stdout or '[]')
        return min(shown, key=lambda r: r.get('metric', 0))[
            'protocol'] if shown else ''
