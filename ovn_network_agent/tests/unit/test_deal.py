# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Tests are dealt out by class and by what a class takes."""

import re
import unittest

import yaml

from ovn_network_agent.tests import tools

deal = tools.load('deal')
_PREFIX = 'ovn_network_agent.tests.lab.'
COSTS = {'lab.a.A': (90.0, 3), 'lab.b.B': (50.0, 1), 'lab.c.C': (40.0, 2),
         '*': (60.0, 2)}


def tests(name, number):
    return [f'{_PREFIX}{name}.test_{n}' for n in range(number)]


A, B, C = tests('a.A', 3), tests('b.B', 1), tests('c.C', 2)


class DealTest(unittest.TestCase):

    def test_the_longest_first_to_the_one_with_the_least(self):
        self.assertEqual([A, B + C], deal.deal(C + B + A, COSTS, 2))

    def test_one_machine_has_all(self):
        self.assertEqual([A + B + C], deal.deal(A + B + C, COSTS, 1))

    def test_more_machines_than_classes(self):
        self.assertEqual([A, B, C, []], deal.deal(A + B + C, COSTS, 4))

    def test_some_tests_of_a_class_take_their_part(self):
        self.assertEqual([B, C + A[:1]], deal.deal(A[:1] + B + C, COSTS, 2))

    def test_a_class_that_nothing_is_known_of(self):
        """Its tests take as long as those of the fast ones: 30 s."""
        new = tests('d.D', 2)
        self.assertEqual([A, new + B], deal.deal(A + B + new, COSTS, 2))

    def test_what_a_run_leaves_can_be_read(self):
        self.assertEqual(COSTS, deal.read_costs([
            '# a comment', ''] + [f'{seconds:7.1f} {number:4d}  {name}\n'
                                  for name, (seconds, number)
                                  in COSTS.items()]))

    def test_only_what_takes_long_has_a_line(self):
        self.assertEqual({'*': (9.0, 5), 'long': (11.0, 1)}, deal.long({
            'short': (7.0, 2), 'long': (11.0, 1), 'quick': (2.0, 3)}))

    def test_the_lists_of_the_repository(self):
        for tier in deal.TIERS:
            with open(deal.path_of_costs(tier), encoding='utf-8') as opened:
                self.assertNotEqual({}, deal.read_costs(opened))

    def test_each_worker_of_stestr_has_the_tests_of_its_shard(self):
        """A class whose name begins like another one is elsewhere."""
        longer = tests('a.Ab', 1)
        written = yaml.safe_load(deal.workers([A + C, longer, [], B]))
        self.assertEqual([A + C, longer, B], [
            [test for test in A + C + longer + B
             if any(re.search(each, test) for each in worker['worker'])]
            for worker in written])


if __name__ == '__main__':
    unittest.main()
