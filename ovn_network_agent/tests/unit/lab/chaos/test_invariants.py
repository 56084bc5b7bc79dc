# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The invariants: what lasts too long, and what grows."""

import os
import unittest

from lab.chaos import growth
from lab.chaos import invariants
from lab.chaos import verdict


class LastingTest(unittest.TestCase):

    def test_once_and_only_when_it_lasts(self):
        lasting = invariants.Lasting(10)
        self.assertEqual([], lasting.see(0, {'a': 'bad'}))
        self.assertEqual([], lasting.see(9, {'a': 'bad', 'b': 'bad'}))
        self.assertEqual([('a', 'bad')],
                         lasting.see(11, {'a': 'bad', 'b': 'bad'}))
        self.assertEqual([], lasting.see(12, {'a': 'bad'}))

    def test_a_pause_begins_anew(self):
        lasting = invariants.Lasting(10)
        lasting.see(0, {'a': 'bad'})
        lasting.see(5, {})
        self.assertEqual([], lasting.see(11, {'a': 'bad'}))
        self.assertEqual([('a', 'bad')], lasting.see(22, {'a': 'bad'}))


class DoublesTest(unittest.TestCase):

    def test_only_floating_ips(self):
        """Many gateways may announce a VIP and the fabric's networks."""
        hops = ['172.31.1.2', '172.31.2.2']
        self.assertEqual(
            {'198.51.100.12': 'announced by 172.31.1.2, 172.31.2.2'},
            invariants.doubles({
                '198.51.100.12/32': hops, '198.51.100.13/32': hops[:1],
                '198.18.0.10/32': hops, '203.0.113.0/24': hops}))


class GrowthTest(unittest.TestCase):

    def grown(self, **last):
        base = {'descriptors': 50, 'threads': 10, 'kilobytes': 200_000}
        late = {**base, **last}
        return growth.grown([growth.Measure(
            float(at), **(base if at < 200 else late))
            for at in range(0, 400, 10)])

    def test_limits(self):
        self.assertEqual([], self.grown())
        self.assertEqual([], self.grown(descriptors=55, kilobytes=210_000))
        for name, value in (('descriptors', 90), ('threads', 40),
                            ('kilobytes', 300_000)):
            text, = self.grown(**{name: value})
            self.assertIn(f'{name}: ', text)

    def test_a_short_life_tells_nothing(self):
        for seconds, count in ((1, 40), (100, 5)):
            self.assertEqual([], growth.grown([
                growth.Measure(at * seconds, 99 * at, 99 * at, 99_999 * at)
                for at in range(count)]))

    def test_this_process(self):

        found = growth.measure(1.0, [os.getpid(), 2 ** 22 + 1])
        self.assertGreater(found.descriptors, 2)
        self.assertGreater(found.threads, 0)
        self.assertGreater(found.kilobytes, 1000)


class ForeignTest(unittest.TestCase):

    def test_changes(self):
        before = {'flow 0x777 drop', 'rule 3000 from all'}
        self.assertEqual([], verdict.changed(before, set(before)))
        self.assertEqual(
            ['changed: -flow 0x777 drop', 'changed: +rule 9 from all'],
            verdict.changed(before, {'rule 3000 from all',
                                     'rule 9 from all'}))

    def test_what_went_with_its_program(self):
        self.assertEqual([], verdict.changed(
            {'flow 0x777 drop'}, set(), gone=('flow',)))
