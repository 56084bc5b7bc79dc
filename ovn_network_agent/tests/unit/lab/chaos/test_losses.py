# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Which losses count, where they belong, and what a table says of them."""

import unittest

from lab.chaos import losses
from lab.chaos import probes
from lab.chaos import routes
from lab.chaos import values

TARGET = values.Target('in 198.51.100.12', 'client', 'icmp',
                       '198.51.100.12', router='alpha')
ADDRESSES = {'alpha': '198.51.100.12'}
# Tenths of a second, so that a test can be read.
INTERVAL = 0.1


def samples(text, target=TARGET, begin=0.0):
    """Probes of a target: '.' was answered, 'x' lost, '?' neither."""
    answers = {'.': 0.001, 'x': -1.0, '?': None}
    return probes.Samples(
        target, INTERVAL, [begin + n * INTERVAL for n in range(len(text))],
        [answers[one] for one in text])


def episode(number=1, began=0.0, ended=0.5, settled=1.0, moves=(),
            excuses=(), action='move'):
    return values.Episode(number, action, 'gw1', {}, began, ended, settled,
                          tuple(excuses), tuple(moves))


def rounded(gap):
    return (round(gap.begin, 3), round(gap.end, 3), gap.lost, gap.excused)


class GapsTest(unittest.TestCase):

    def gaps(self, text, *excuses):
        return [rounded(gap) for gap in losses.gaps(samples(text), excuses)]

    def test_gaps(self):
        self.assertEqual([], self.gaps('....'))
        self.assertEqual([(0.1, 0.3, 2, 0)], self.gaps('.xx.'))
        self.assertEqual([(0.1, 0.2, 1, 0), (0.3, 0.4, 1, 0)],
                         self.gaps('.x.x'))

    def test_a_probe_that_was_not_waited_for_is_no_loss(self):
        self.assertEqual([], self.gaps('..??'))

    def test_excuses(self):
        mine = values.Excuse(TARGET.subject, 0.05, 0.15, 'power')
        other = values.Excuse('in 198.51.100.13', 0.0, 9.0, 'power')
        self.assertEqual([(0.1, 0.3, 1, 1)], self.gaps('.xx.', mine))
        self.assertEqual([(0.1, 0.3, 2, 0)], self.gaps('.xx.', other))
        self.assertEqual([(0.1, 0.3, 0, 2)], self.gaps(
            '.xx.', values.Excuse(values.ALL, 0.0, 9.0, 'power')))

    def test_a_late_sender_is_no_loss(self):
        late = probes.Samples(TARGET, INTERVAL, [0.0, 0.1, 0.6, 0.7],
                              [0.001] * 4, skipped=4)
        self.assertEqual([], losses.gaps(late))
        self.assertEqual(0.4, round(late.lateness(), 3))


class PartsTest(unittest.TestCase):

    def parts(self, text, moves=(), seen=()):
        share, = losses.shares(
            samples(text), [episode(moves=moves)],
            len(text) * INTERVAL, list(seen), ADDRESSES)
        return {part: round(value, 3) for part, value in
                share.parts.items()}

    def test_without_a_move(self):
        self.assertEqual({'still': 0.2}, self.parts('.xx..'))

    def test_a_move(self):
        """Moved at 0.3, announced at 0.5, answered from 0.7 on."""
        moves = [values.Move(0.3, 'alpha', ''),
                 values.Move(0.3, 'alpha', 'gw2')]
        seen = [(-1.0, '198.51.100.12', frozenset({'gw1'})),
                (0.5, '198.51.100.12', frozenset({'gw1', 'gw2'}))]
        self.assertEqual(
            {'failover': 0.2, 'dark': 0.2, 'tail': 0.2, 'after': 0.1},
            self.parts('.xxxxxx..x..', moves, seen))

    def test_a_move_of_another_router(self):
        self.assertEqual({'still': 0.1}, self.parts(
            '.x..', [values.Move(0.1, 'beta', 'gw2')]))

    def test_never_announced(self):
        self.assertEqual({'failover': 0.1, 'dark': 0.2}, self.parts(
            '..xxx.', [values.Move(0.3, 'alpha', 'gw2')]))

    def test_announced_at(self):
        seen = [(1.0, 'a', frozenset({'gw1'})),
                (2.0, 'b', frozenset({'gw2'})),
                (3.0, 'a', frozenset({'gw2'}))]
        at = routes.announced_at
        self.assertEqual(3.0, at(seen, 'a', 'gw2', 1.5, 9.0))
        self.assertEqual(1.5, at(seen, 'a', 'gw1', 1.5, 9.0))
        self.assertIsNone(at(seen, 'a', 'gw2', 1.5, 2.5))
        self.assertIsNone(at(seen, 'c', 'gw2', 1.5, 9.0))


class ActionsTest(unittest.TestCase):

    def actions(self, text):
        episodes = [episode(1, 0.0), episode(2, 1.0), episode(3, 2.0)]
        shares = losses.shares(samples(text), episodes, 3.0, [], ADDRESSES)
        return losses.actions(episodes, shares)['move']

    def test_median_and_worst(self):
        row = self.actions('.x........' '.xxx......' '..........')
        self.assertEqual((3, 100.0, 300.0, 4, 30), (
            row['times'], row['median_ms'], row['worst_ms'], row['lost'],
            row['sent']))

    def test_every_loss_is_in_one_episode(self):
        """Also a gap that lasts into the next episode."""
        row = self.actions('.........x' 'x.........' '..........')
        self.assertEqual((2, 200.0), (row['lost'], row['worst_ms']))
