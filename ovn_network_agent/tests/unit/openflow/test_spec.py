# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What the root side accepts as a flow."""

import unittest

from hypothesis import given
from hypothesis import strategies as st

from ovn_network_agent.openflow import spec as specs

GOOD = (0x998, 910, 3, 4, '198.51.100.10/32', '0a:00:00:00:00:01',
        '0a:00:00:00:00:02', 'in_port')
RELAY = (0x997, 920, 0xfffffffe, 4, '198.51.100.0/24', None,
         '0a:00:00:00:00:02', 'ports:3,7')


class TestCheck(unittest.TestCase):

    def test_good(self):
        self.assertEqual(GOOD, specs.check_flow(list(GOOD)))

    def test_good_relays(self):
        for item in (RELAY, (*RELAY[:2], 5, *RELAY[3:]),
                     (*RELAY[:-1], 'ports:1'), (*RELAY[:-1], 'ports:7,3'),
                     (*RELAY[:-1], 'ports:1,2,3,4,5,6,7,65279')):
            self.assertEqual(item, specs.check_flow(list(item)))

    def test_bad_relays(self):
        self.refuse(RELAY, (
            (0x998,), (910,), (0xfffffffd, 0xffffffff, 3, 7, 0), (), (None,),
            (), (),
            ('normal', 'in_port', 'other', 'ports:', 'ports:0', 'ports:3,3',
             'ports:3,7,3', 'ports:03', 'ports:3,', 'ports:3, 7', 'ports:-1',
             'ports:65280', 'ports:' + '9' * 5000, 'ports:3\n',
             'ports:1,2,3,4,5,6,7,8,9', 'ports:LOCAL', 'ports:\u0663',
             'ports:3,7,actions=drop', None, 7)))

    def test_only_relays_take_what_the_node_sends_or_hand_to_ports(self):
        for cookie, priority in ((0x998, 910), (0x999, 900)):
            for item in ((*GOOD[:2], 0xfffffffe, *GOOD[3:]),
                         (*GOOD[:-1], 'ports:3')):
                with self.assertRaises(ValueError):
                    specs.check_flow((cookie, priority, *item[2:]))

    def test_bad_values(self):
        self.refuse(GOOD, (
                (0, 0x996, '0x998', None, 2456.0), (900, 0, '910', None),
                (0, -1, 0xff00, '3', True, None), (5, '4', None, True),
                ('198.51.100.10', '198.51.100.1/24', '::1/128', 'x', 7,
                 '0.0.0.0/0', '198.51.100.10/32,actions=drop', '1.2.3.4/32 '),
                ('', 'aa', '0A:00:00:00:00:01', 1, '0a:00:00:00:00:01\n'),
                ('0a:00:00:00:00:0g',), ('drop', 'other', '', None, 3)))

    def refuse(self, good, bad):
        for position, values in enumerate(bad):
            for value in values:
                item = list(good)
                item[position] = value
                with self.subTest(item), self.assertRaises(ValueError):
                    specs.check_flow(item)

    def test_other_actions_only_for_deleting(self):
        item = (*GOOD[:-1], specs.OTHER)
        self.assertEqual(item, specs.check_flow(item, deleting=True))

    def test_bridge_names(self):
        for name in ('br-ex', 'br.7', 'a_b'):
            self.assertEqual(name, specs.check_bridge(name))
        for name in ('', '.', '..', '../x', 'a/b', 'x' * 16, 'a b', None,
                     'br\n'):
            with self.subTest(name), self.assertRaises(ValueError):
                specs.check_bridge(name)

    @given(st.lists(st.one_of(st.none(), st.integers(), st.text(),
                              st.binary(), st.lists(st.integers()))))
    def test_anything_else_is_refused(self, item):
        for check in (specs.check_flow, specs.check_stray):
            try:
                check(item)
            except ValueError:
                pass
