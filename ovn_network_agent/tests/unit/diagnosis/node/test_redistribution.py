# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The lines for another announce method, and the entries for its tags."""

from oslotest import base

from ovn_network_agent import ownership
from ovn_network_agent.diagnosis.node.bgp import method as methods
from ovn_network_agent.frr import filters

ONE, TWO = ownership.TAGS.start, ownership.TAGS.stop - 1
SETS = ('community 65001:1', 'local-preference 200')


def entry(sequence, *matches, sets=(), action='permit', **others):
    return filters.Rule(sequence, action, matches, sets=sets, **others)


class CopyTest(base.BaseTestCase):

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


class LinesTest(base.BaseTestCase):

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
