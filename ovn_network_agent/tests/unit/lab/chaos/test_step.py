# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Excuses end with what OVN and the fabric do, not with the action."""

import types
import unittest

from lab.chaos import history
from lab.chaos import step
from lab.chaos import values

IN, OUT, OTHER, VIP = 'in 198.51.100.10', 'out vm1', 'out vm2', 'vip v'


class World:
    """Routers alpha on gw1 and beta on gw2, as a world tells it."""

    cloud = None
    routers = {'alpha': None, 'beta': None}

    def owner(self, router):
        return {'alpha': 'gw1', 'beta': 'gw2'}[router]

    def targets(self):
        return (values.Target(IN, 'client', 'icmp', '', router='alpha'),
                values.Target(OUT, 'vm1', 'icmp', '', router='alpha'),
                values.Target(OTHER, 'vm2', 'icmp', '', router='beta'),
                values.Target(VIP, 'client', 'udp', '', 80))


class StepTest(unittest.TestCase):

    def setUp(self):
        super().setUp()
        self.absences, self.moves, self.stalls = [], [], []
        self.step = step.Step(World(), types.SimpleNamespace(
            absent=lambda name, since: self.absences,
            moves=lambda since, routers: tuple(self.moves),
            stalls=lambda since: self.stalls), 'gw1', {})

    def found(self):
        """Dict of subject to list of (since, until)."""
        found = {}
        for one in self.step.excuses():
            found.setdefault(one.subject, []).append((
                round(one.since - self.step.began, 3),
                round(one.until - self.step.began, 3)))
        return found

    def at(self, seconds):
        return self.step.began + seconds

    def test_nothing(self):
        self.assertEqual({}, self.found())

    def test_absence_concerns_what_passes_the_gateway(self):
        self.absences = [(self.at(1), self.at(3))]
        self.step.excuse_absence('gw1', 'why')
        self.assertEqual({IN: [(1, 3.5)], OUT: [(1, 3.5)],
                          VIP: [(1, 3.5)]}, self.found())

    def test_no_absence_no_excuse(self):
        self.step.excuse_absence('gw1', 'why')
        self.assertEqual({}, self.found())

    def test_a_session_dies_in_an_outage_and_is_missed_later(self):
        """Only the absence that the outage explains begins with it."""
        self.step.excuse_absence('gw2', 'why', (self.at(0), self.at(1)))
        self.absences = [(self.at(2.1), self.at(4)), (self.at(6), self.at(7))]
        self.assertEqual([(0, 4.5), (6, 7.5)], self.found()[VIP])

    def test_claims(self):
        """Until the first claim, and no longer."""
        self.step.excuse_claims('gw1', 'why')
        self.moves = [values.Move(self.at(2.5), 'alpha', ''),
                      values.Move(self.at(2.6), 'alpha', 'gw2'),
                      values.Move(self.at(9), 'beta', 'gw1'),
                      values.Move(self.at(20), 'alpha', 'gw1')]
        self.assertEqual({IN: [(0, 2.9)], OUT: [(0, 2.9)]}, self.found())

    def test_no_claim_no_excuse(self):
        self.step.excuse_claims('gw1', 'why')
        self.moves = [values.Move(self.at(2.5), 'alpha', '')]
        self.assertEqual({}, self.found())

    def test_moves_of_the_action(self):
        """Each change of owner is excused, not the time between."""
        self.step.excuse_moves('beta', 'why')
        self.moves = [values.Move(self.at(5), 'beta', 'gw1'),
                      values.Move(self.at(7), 'beta', 'gw2')]
        self.assertEqual({OTHER: [(4.7, 5.3), (6.7, 7.3)]}, self.found())

    def test_moves_by_themselves(self):
        """Only a standstill of the machine excuses them."""
        self.moves = [values.Move(self.at(5), 'alpha', 'gw2')]
        self.assertEqual({}, self.found())
        self.stalls = [(self.at(3), 1.0)]
        self.assertEqual({IN: [(2, 5.3)], OUT: [(2, 5.3)]}, self.found())


class UnrestTest(unittest.TestCase):

    def test_chains(self):
        self.assertEqual([(1, 18), (29, 40)], step.unrest(
            [(2, 1), (8, 0.8), (30, 1)]))

    def test_none(self):
        self.assertEqual([], step.unrest([]))


class AbsencesTest(unittest.TestCase):

    def test_absences(self):
        seen = [(1, 'gw1', {'a'}), (2, 'gw1', set()), (3, 'gw2', set()),
                (4, 'gw1', {'a'}), (6, 'gw1', set())]
        self.assertEqual([(2, 4), (6, 7)],
                         history.absences(seen, 'gw1', 0, 7))
        self.assertEqual([(6.5, 7)], history.absences(seen, 'gw1', 6.5, 7))
