# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Helpers of ovn_network_agent.common."""

import random

import hypothesis
from hypothesis import strategies
from oslotest import base

from ovn_network_agent.common import bridges
from ovn_network_agent.common import bucketed_mapping
from ovn_network_agent.common import equal_records
from ovn_network_agent.common import wording
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


def one_by_one(data, start, length, head):
    """The same, with a loop."""
    first, count = data[start:start + head], 0
    while (start + length <= len(data) and data[start:start + head] == first):
        start, count = start + length, count + 1
    return count


class AlikeTest(base.BaseTestCase):

    def test_as_a_loop_counts(self):
        dice = random.Random(32)
        for _time in range(2000):
            length = dice.randint(4, 9)
            head = dice.randint(1, 4)
            start = dice.randint(0, 5)
            data = bytes(start) + b''.join(
                bytes(dice.choices((1, 2), (20, 1), k=head)) +
                dice.randbytes(length - head)
                for _record in range(dice.randint(1, 12)))
            data += dice.randbytes(dice.randint(0, length - 1))
            self.assertEqual(
                one_by_one(data, start, length, head),
                equal_records.count_equal(data, start, length, head), data)


class PrintableTest(base.BaseTestCase):

    def test_a_line(self):
        for text, shown in (
                ('', ''), ('router 1', 'router 1'), ('Zürich', 'Zürich'),
                ('a\nb\r\tc', 'a\\nb\\r\\tc'), ('\x1b[2J', '\\x1b[2J'),
                ('\u202eabc', '\\u202eabc'), ('\ud800', '\\ud800')):
            self.assertEqual(shown, wording.one_line(text))

    def test_lines(self):
        self.assertEqual('one\n  two\\x07\n  ',
                         wording.indented('one\ntwo\x07\n'))
        self.assertEqual('one', wording.indented('one'))


KNOWN = ('bridge_dev', 'bridge_device', 'vrf_name')


class TyposTest(base.BaseTestCase):

    def test_the_nearest_of_several(self):
        for word, meant in (('brigde_dev', 'bridge_dev'),
                            ('bridge_devise', 'bridge_device'),
                            ('vrf-name', 'vrf_name')):
            self.assertEqual(meant, wording.nearest(word, KNOWN))
            self.assertEqual(f'; did you mean {meant}?',
                             wording.hint(word, KNOWN))

    def test_a_word_like_none(self):
        self.assertIsNone(wording.nearest('xyzzy', KNOWN))
        self.assertEqual('', wording.hint('xyzzy', KNOWN))

    def test_the_known_words_may_come_in_any_form(self):
        for known in (set(KNOWN), dict.fromkeys(KNOWN), iter(KNOWN)):
            self.assertEqual('vrf_name', wording.nearest('vrf_nam', known))


class VlansTest(base.BaseTestCase):

    def test_a_device_is_recognised_by_its_name(self):
        present = ('br-ex', 'br.two')
        for bridge in present:
            for tag in (0, 1, 101, 4094):
                name = bridges.segment_device(bridge, tag)
                self.assertTrue(bridges.is_segment_device(name, present), name)

    def test_other_names(self):
        for name in ('', 'br-in', 'br-ex.', 'br-ex.0', 'br-ex.4095',
                     'br-ex.01', 'br-ex.1.2', 'br-ex.x', 'br-ex.-1',
                     'br-ex.\u0661', 'br-int.5', 'br', '.5'):
            self.assertFalse(bridges.is_segment_device(name, ('br-ex',)), name)
