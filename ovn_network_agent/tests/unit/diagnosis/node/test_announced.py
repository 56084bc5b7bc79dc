# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Checks of what is announced, and the lines for another announce method."""

import dataclasses

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.common import ip_text
from ovn_network_agent.diagnosis.node import sources
from ovn_network_agent.diagnosis.node.bgp import announced
from ovn_network_agent.diagnosis.node.bgp import method as methods
from ovn_network_agent.frr import filters
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit.diagnosis.node import base

ADDRESSES = tuple(ip_text.address(f'198.51.100.{number}')
                  for number in range(10, 18))
ONE, TWO = ownership.TAGS.start, ownership.TAGS.stop - 1
SETS = ('community 65001:1', 'local-preference 200')


class AnnouncedTest(base.JudgeTestCase):

    def test_withheld(self):
        ok, warn, found = base.OK, base.WARN, announced.Withheld
        self.judged_each(
            announced.judge_withheld,
            (found(8, (), (), ()), ok, 'none of 8 addresses'),
            (found(0, (), (), ()), ok, 'none of 0 addresses'),
            (found(8, ((2, 'the row'), (1, 'an option')), (), ()), ok,
             '3 of 8 addresses not announced on purpose (2: the row; 1: an '
             'option)'),
            (found(8, ((8, 'an option'),), (), ()), warn, '8 of 8 addresses',
             '"ovn-network-agent-ctl addresses"'),
            # A name that two have, and names that nothing has.
            (found(8, (), (), (('include_routers', 'router', 'r9'),)),
             (warn, ok),
             'include_routers has r9, the name of several routers'),
            (found(8, (), (('include_routers', 'router', 'r9'),
                           ('exclude_networks', 'network', 'publik')), ()),
             (warn, warn, ok),
             '[announce] include_routers has r9, and OVN has no such router',
             '"openstack network list"'))

    def test_duplicates(self):
        def found(*several):
            return announced.Duplicates(len(ADDRESSES), several)

        self.judged_each(
            announced.judge_duplicates,
            (found(), base.OK, 'each of 8 addresses'),
            (found((ADDRESSES[0], ('office', 'shop'))), base.WARN,
             '198.51.100.10 is an address of the routers office, shop',
             '"ovn-network-agent-ctl explain 198.51.100.10"'),
            (found(*((each, ('a', 'b')) for each in ADDRESSES)),
             (base.WARN,) * 6, '3 more addresses'))

    def test_what_ovn_advertises(self):
        found = announced.Advertised
        self.judged_each(
            announced.judge_advertised, (found(False), base.OK, 'is off'),
            (found(True), base.WARN, '25.03'),
            (found(True, True, 2, 0), base.WARN,
             'dynamic-routing-redistribute'),
            *((found(True, True, *values), base.OK,
               f'{values[1]} routes for {values[0]} routers')
              for values in ((2, 5), (0, 0), (0, 3))))

    def test_tags(self):
        two = ((4400001, 3), (4400002, 1))
        self.judged_each(
            announced.judge_tags,
            (announced.Tags((), 'static', True), base.OK,
             'no route has a tag'),
            (announced.Tags(two[:1], 'static', True), base.OK,
             'tags of static routes: 4400001 (3 addresses)'),
            *((announced.Tags(two, method, False), base.WARN,
               f'"redistribute {method}" a route map',
               f'"match {match} 4400001"')
              for method, match in (('static', 'tag'), ('kernel', 'metric'))))


class AddressesTest(base.JudgeTestCase):
    """What the checks take for addresses that can be announced."""

    def announceable(self, snapshot, *args):
        return [str(each) for each in sources.announceable(snapshot, *args)]

    def test_a_standby_has_the_addresses_of_its_groups(self):
        group = model.GatewayGroup('Gateway_Chassis', ports=(
            model.GroupPort('cr-lrp-1', 'other', 'lrp-1', (
                '198.51.100.1/24', '2001:db8::1/64')),))
        router = dataclasses.replace(cloud.router(), balanced=(
            model.BalancedAddress('198.51.100.30', True),
            model.BalancedAddress('10.0.0.7')))
        snapshot = cloud.snapshot(router, groups=(group,))
        self.assertEqual(
            ['198.51.100.1', '198.51.100.10', '198.51.100.30'],
            self.announceable(snapshot, (
                '198.51.100.10', '192.0.2.7', '2001:db8::7', 'nonsense')))
        self.assertEqual([], self.announceable(
            model.Snapshot(cloud.node()), ('198.51.100.10',)))

    def test_a_vni_is_not_the_underlay(self):
        vni = model.Vni(1001)
        group = model.GatewayGroup('Gateway_Chassis', ports=(
            model.GroupPort('cr-lrp-1', 'other', 'lrp-1', (
                '198.51.100.1/24',), vni=vni),
            model.GroupPort('cr-lrp-2', 'other', 'lrp-2', (
                '198.51.100.2/24',))))
        router = cloud.router(ports=(cloud.port(vni=vni),),
                              fips=('198.51.100.10',))
        self.assertEqual(['198.51.100.2'], self.announceable(
            cloud.snapshot(router, groups=(group,)), ()))

    def test_machines_need_no_group(self):
        for version, address in (4, '198.51.100.20'), (6, '2001:db8::20'):
            self.assertEqual([address], self.announceable(
                model.Snapshot(cloud.node()), (),
                ('198.51.100.20', '2001:db8::20'), version))


def entry(sequence, *matches, sets=(), action='permit', **others):
    return filters.Rule(sequence, action, matches, sets=sets, **others)


class MethodTest(base.JudgeTestCase):

    def copied(self, *rules, method='kernel'):
        return methods.copy(rules, method)

    def test_entries_of_tags(self):
        self.assertEqual(
            ((ONE, SETS), (TWO, ('metric 7',))), self.copied(
                entry(20, f'tag {TWO}', sets=('metric 7',)),
                entry(10, f'tag {ONE}', sets=SETS)).entries)
        self.assertEqual(
            ((ONE, ('metric 0',)),), self.copied(
                entry(10, f'metric {ONE}', sets=('metric 0',)),
                method='static').entries)

    def test_what_does_not_come_along_is_named(self):
        for rule in (entry(5, action='deny'),
                     entry(5, f'tag {ONE}', action='deny'),
                     entry(5, 'tag 7'), entry(5, f'metric {ONE}'),
                     entry(5, f'tag {ONE}', 'source-protocol static'),
                     entry(5, f'tag {ONE}', call='OTHER'),
                     entry(5, f'tag {ONE}', ends=False),
                     entry(5, f'tag {ONE}', sets=('comm-list C',)),
                     entry(5, f'tag {ONE}', sets=('metric +5',)),
                     entry(5, sets=('community 65001:9',))):
            self.assertEqual(methods.Copy(((TWO, ()),), (f'{rule.action} 5',)),
                             self.copied(rule, entry(6, f'tag {TWO}')), rule)

    def test_nothing_is_lost_without_the_other_entries(self):
        self.assertEqual(methods.Copy(), self.copied(
            entry(5, 'ip address prefix-list DEFAULT-ROUTE', action='deny'),
            entry(6, 'ipv6 address prefix-list DEFAULT-ROUTE', action='deny'),
            entry(100), entry(101, f'tag {ONE}')))

    def test_a_tag_is_no_med(self):
        lines = methods.lines('65001', '', 'kernel', {
            4: ((ONE, SETS), (TWO, ('metric 7',)))})
        begin = lines.index('route-map KERNEL permit 20')
        self.assertEqual((
            'route-map KERNEL permit 20', f' match metric {ONE}',
            ' set community 65001:1', ' set local-preference 200',
            ' set metric 0', 'exit',
            'route-map KERNEL permit 30', f' match metric {TWO}',
            ' set metric 7', 'exit',
            'route-map KERNEL permit 40', ' set metric 0', 'exit',
            'router bgp 65001'), lines[begin:begin + 14])

    def test_the_way_back(self):
        self.assertEqual((
            'configure terminal', 'route-map STATIC6 permit 20',
            f' match tag {ONE}', ' set community 65001:1',
            ' set local-preference 200', 'exit', 'route-map STATIC6 permit 30',
            'exit', 'router bgp 65001',
            ' address-family ipv4 unicast', '  redistribute static',
            ' exit-address-family', ' address-family ipv6 unicast',
            '  redistribute static route-map STATIC6', ' exit-address-family',
            'end'), methods.lines('65001', '', 'static', {
                4: (), 6: ((ONE, SETS),)}))

    def test_static_routes_need_no_filter(self):
        self.assertEqual(
            ('configure terminal', 'router bgp 65001 vrf blue',
             ' address-family ipv4 unicast', '  redistribute static',
             ' exit-address-family', 'end'),
            methods.lines('65001', 'blue', 'static', {4: ()}))

    def test_the_default_route_of_the_kernel_is_kept_back_first(self):
        lines = methods.lines('65001', '', 'kernel', {4: (), 6: ()})
        begin = lines.index('router bgp 65001')
        for family, name, default in ((4, 'KERNEL', '0.0.0.0/0'),
                                      (6, 'KERNEL6', '::/0')):
            denied = lines.index(f'route-map {name} deny 10')
            self.assertIn(default, lines[denied - 1])
            self.assertLess(denied, begin)
            self.assertLess(begin, lines.index(
                f'  redistribute kernel route-map {name}'))
            self.assertIn(f' address-family ipv{family} unicast', lines)
