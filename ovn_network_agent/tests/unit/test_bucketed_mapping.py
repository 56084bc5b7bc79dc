# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Mappings that share what is the same."""

import hypothesis
from hypothesis import strategies
from oslotest import base

from ovn_network_agent.common import bucketed_mapping
from ovn_network_agent.tests import budget

KEYS = strategies.integers(0, 600).map(str)
CHANGES = strategies.lists(strategies.tuples(
    strategies.sets(KEYS, max_size=9),
    strategies.dictionaries(KEYS, strategies.lists(
        strategies.just(1), max_size=1), max_size=9)), max_size=9)


class BucketsTest(base.BaseTestCase):

    @hypothesis.settings(max_examples=budget.examples(100), deadline=None)
    @hypothesis.given(changes=CHANGES)
    def test_as_a_dict(self, changes):
        """Two keys in a bucket are frequent."""
        many = {str(number): [0] for number in range(0, 600, 2)}
        expected, found = dict(many), bucketed_mapping.EMPTY.changed((), many)
        for gone, come in changes:
            before, former = dict(expected), found
            for key in gone:
                expected.pop(key, None)
            expected.update(come)
            found = found.changed(gone, come)
            self.assertEqual(before, former)
            self.assertEqual(expected, found)
            self.assertEqual(len(expected), len(found))
            self.assertEqual(set(expected), set(found))
            self.assertEqual(before == expected, former is found)
            for key, value in found.items():
                self.assertEqual(before.get(key) == value,
                                 former.get(key) is value)
            self.differ(former, found)
        self.differ({}, found)

    def differ(self, before, now):
        """What differs is in the parts, and in nothing else."""
        parts = list(bucketed_mapping.differing(before, now))
        for index, whole in enumerate((before, now)):
            different = {key: value for key, value in whole.items()
                         if (before, now)[not index].get(key) is not value}
            found = {key: value for part in parts
                     for key, value in part[index].items()}
            self.assertLessEqual(different.items(), found.items())

    def test_a_change_of_one_costs_one_bucket(self):
        few, many = (bucketed_mapping.EMPTY.changed((), dict.fromkeys(
            map(str, range(count)), 0)) for count in (100, 10000))
        for known, most in ((few, 10), (many, 100)):
            (before, now), = bucketed_mapping.differing(
                known, known.changed((), {'x': 1}))
            self.assertLess(len(before), most)
            self.assertEqual({'x': 1}, {
                key: value for key, value in now.items()
                if key not in before})
