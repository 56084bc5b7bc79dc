# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Lines of router advertisements, generated and read."""

import itertools
import re
import unittest

from hypothesis import given
from hypothesis import strategies as st

from ovn_network_agent.frr import advertisement

DEV = 'br-ex.101'
NETS = ['2001:db8:1::/64', '2001:db8:2::/64']
MARKS = ('ipv6 nd ra-lifetime 1844', 'ipv6 nd ra-interval msec 30044')
PREFIXES = [f'ipv6 nd prefix {net} off-link no-autoconfig' for net in NETS]
ON = 'no ipv6 nd suppress-ra'
MANAGED, OTHER = (f'ipv6 nd {word}-config-flag' for word in (
    'managed', 'other'))
NO_FLAG = (False, False)
CONFIGURATION = """
frr version 8.4
password secret
!
interface eth0
 description ipv6 nd ra-lifetime 1844
 ip ospf cost 5
exit
!
interface br-ex.101
 ipv6 nd prefix 2001:db8:2::/64 off-link no-autoconfig
 ipv6 nd prefix 2001:db8:1::/64 off-link no-autoconfig
 ipv6 nd prefix 2001:db8:3::/64
 ipv6 nd ra-interval msec 30044
 ipv6 nd ra-lifetime 1844
 no ipv6 nd suppress-ra
exit
!
interface br-ex
 ipv6 nd ra-interval 5
 no ipv6 nd suppress-ra
exit
!
router bgp 65001
 ipv6 nd ra-lifetime 1844
exit
""".split('\n')
anything = st.one_of(
    st.none(), st.integers(), st.text(), st.ip_addresses().map(str),
    st.sampled_from((*NETS, '2001:db8::1/64', '192.0.2.0/24', '::/0\nend')),
    st.from_regex(r'[A-Za-z0-9_.-]{1,20}'))
_LINE = re.compile(
    r'interface [A-Za-z0-9_.-]{1,15}|exit|(?:no )?ipv6 nd (?:suppress-ra|'
    r'ra-lifetime 1844|ra-interval msec 30044|prefix [0-9a-f:.]+/[0-9]+'
    r'(?: off-link no-autoconfig)?)')


def block(*lines):
    """What is found of an interface with some lines."""
    return advertisement.read([f'interface {DEV}', *(
        f' {line}' for line in lines)]).get(DEV, advertisement.NOTHING)


class ReadTest(unittest.TestCase):

    def test_interfaces(self):
        found = advertisement.read(CONFIGURATION)
        self.assertEqual({DEV, 'br-ex'}, set(found))
        self.assertEqual(
            advertisement.Found(MARKS, True, tuple(NETS), ()), found[DEV])
        self.assertTrue(found[DEV].complete)
        self.assertEqual(
            advertisement.Found((), True, (), ('ipv6 nd ra-interval 5', ON)),
            found['br-ex'])

    def test_any_mark_suffices(self):
        for mark in MARKS:
            found = block(mark, 'ipv6 nd prefix 2001:db8:9::/64', ON)
            self.assertEqual(((mark,), ()), (found.marks, found.in_the_way))
            self.assertFalse(found.complete)
        self.assertFalse(block(*MARKS, *PREFIXES).complete)

    def test_what_is_not_in_the_way(self):
        self.assertEqual((), block('ipv6 nd managed-config-flag',
                                   'ipv6 nd mtu 1400').in_the_way)

    def test_other_numbers_are_no_marks(self):
        for line in ('ipv6 nd ra-lifetime 18440', 'ipv6 nd ra-interval 30044',
                     'ipv6 nd ra-interval msec 3004'):
            self.assertEqual((), block(line).marks)


class LinesTest(unittest.TestCase):

    def test_marks_come_first_and_go_last(self):
        """So what FRR has taken of them has a mark, wherever it ends."""
        added = advertisement.added(DEV, NETS, NO_FLAG, advertisement.NOTHING)
        self.assertEqual([f'interface {DEV}', *MARKS, *PREFIXES, ON, 'exit'],
                         added)
        self.assertEqual(
            [f'interface {DEV}', 'ipv6 nd suppress-ra',
             *(f'no ipv6 nd prefix {net}' for net in NETS),
             *(f'no {mark}' for mark in MARKS), 'exit'],
            advertisement.removed(DEV, block(*added[1:-1])))

    def test_a_prefix_that_is_no_longer_wanted(self):
        found = block(*MARKS, *PREFIXES, 'ipv6 nd prefix 2001:db8:9::/64', ON)
        made = advertisement.added(DEV, NETS[1:], NO_FLAG, found)
        self.assertEqual([f'no ipv6 nd prefix {NETS[0]}'],
                         [line for line in made
                          if line.startswith('no ipv6 nd prefix')])

    def test_only_what_is_ours_goes(self):
        self.assertEqual([], advertisement.removed(DEV, block(ON)))
        found = block(MARKS[0], 'ipv6 nd ra-interval 5',
                      'ipv6 nd prefix 2001:db8:9::/64')
        self.assertEqual([f'interface {DEV}', f'no {MARKS[0]}', 'exit'],
                         advertisement.removed(DEV, found))

    def test_flags(self):
        """The interval says which of them the agent has written."""
        intervals = set()
        for flags in itertools.product((False, True), repeat=2):
            lines = list(itertools.compress((MANAGED, OTHER), flags))
            added = advertisement.added(DEV, NETS, flags,
                                        advertisement.NOTHING)
            self.assertEqual(lines, [line for line in added
                                     if line.endswith('flag')])
            found = block(*added[1:-1], MANAGED)
            self.assertEqual((flags, True), (found.flags, found.complete))
            self.assertEqual(
                [f'no {line}' for line in lines],
                [line for line in advertisement.removed(DEV, found)
                 if line.endswith('flag')])
            self.assertEqual(
                [f'no {line}' for line in lines],
                [line for line in advertisement.added(
                    DEV, NETS, NO_FLAG, found) if line.endswith('flag')])
            if lines:
                self.assertFalse(block(*(
                    line for line in added[1:-1]
                    if line != lines[0])).complete)
            intervals.add(added[2])
        self.assertEqual(4, len(intervals))

    def test_in_the_way_of_the_operator(self):
        found = block('ipv6 nd prefix 2001:db8:9::/64', ON)
        with self.assertRaises(ValueError) as caught:
            advertisement.added(DEV, NETS, NO_FLAG, found)
        for part in (DEV, f'"{ON}"', '"ipv6 nd suppress-ra"',
                     '"no ipv6 nd prefix 2001:db8:9::/64"'):
            self.assertIn(part, str(caught.exception))

    @given(anything, st.lists(anything, max_size=3))
    def test_clean_lines_or_none(self, dev, prefixes):
        try:
            made = advertisement.added(dev, prefixes, NO_FLAG,
                                        advertisement.NOTHING)
        except ValueError:
            return
        for line in made:
            self.assertTrue(_LINE.fullmatch(line), line)
