# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Which lines have run."""

import unittest

from ovn_network_agent.common import ip_text
from ovn_network_agent.tests.fuzz import lines


def branches(value):
    if value > 1:
        return 'more'
    return 'less'


def of_here(code):
    return code.co_filename == __file__


class LinesTest(unittest.TestCase):

    def run_with(self, noted, function, *args):
        with noted:
            function(*args)
        return noted.fresh()

    def test_only_new_lines_count(self):
        noted = lines.Lines(of_here)
        self.assertLess(0, self.run_with(noted, branches, 1))
        self.assertEqual(0, self.run_with(noted, branches, 0))
        self.assertEqual(1, self.run_with(noted, branches, 2))
        self.assertEqual(0, self.run_with(noted, branches, 3))

    def test_each_search_begins_anew(self):
        for _search in range(2):
            self.assertLess(0, self.run_with(
                lines.Lines(of_here), branches, 1))

    def test_the_agent_counts_and_nothing_else(self):
        noted = lines.Lines()
        self.assertEqual(0, self.run_with(noted, branches, 1))
        self.assertLess(0, self.run_with(noted, ip_text.address, '::1'))
        self.assertIn(('common/ip_text.py', 'address'), noted.functions)

    def test_an_exception_ends_it_as_well(self):
        noted = lines.Lines()
        with self.assertRaises(ValueError), noted:
            ip_text.address('x')
        self.assertLess(0, noted.fresh())
        ip_text.interface('10.0.0.1/8')
        self.assertEqual(0, noted.fresh())
