# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A number and its noun agree."""

from oslotest import base

from ovn_network_agent.common import counts
from ovn_network_agent.control.reports import text


class CountsTest(base.BaseTestCase):

    def test_one_and_others(self):
        self.assertEqual(['0 problems', '1 problem', '2 problems'],
                         [counts.of(number, 'problem') for number in range(3)])
        self.assertEqual(['1 address', '2 addresses'],
                         [counts.of(number, 'address') for number in (1, 2)])
        self.assertEqual(
            ['1 entry is', '2 entries are'],
            [counts.of(number, 'entry is', 'entries are')
             for number in (1, 2)])

    def test_of_machines(self):
        self.assertIn('1 address of machines', text.of_machines(1))
