# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Who is gone for good, by a clock of the test."""

from oslotest import base

from ovn_network_agent import ownership
from ovn_network_agent.ovn.chassis import absent_chassis

GRACE = 300
JITTER = 7
LIMIT = GRACE + JITTER


def chassis(*hostnames):
    """The chassis of SB."""
    return {ownership.Owner(name, f'{name}-id') for name in hostnames}


HERE = chassis('gw1', 'gw2')


class AbsenceTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.now = 1000.0
        self.absence = absent_chassis.Absence(lambda: self.now, JITTER)

    def look(self, *tags, present=HERE, session=1, grace=GRACE):
        self.absence.look(map(ownership.Owner, tags), present, session, grace)
        return {dead.hostname for dead in self.absence.dead}

    def test_only_after_grace_and_jitter(self):
        """Row STL-01."""
        self.assertEqual(set(), self.look('gw1', 'gw3'))
        self.assertEqual(LIMIT, self.absence.due_in())
        self.now += LIMIT - 1
        self.assertEqual(set(), self.look('gw1', 'gw3'))
        self.assertEqual(1, self.absence.due_in())
        self.now += 1
        self.assertEqual(0, self.absence.due_in())
        self.assertEqual({'gw3'}, self.look('gw1', 'gw3'))
        # Nothing more to wait for, until it has nothing left.
        self.assertIsNone(self.absence.due_in())
        self.assertEqual({'gw3'}, self.look('gw1', 'gw3'))
        self.assertEqual(set(), self.look('gw1'))

    def test_it_says_when_that_has_changed(self):
        changes = []
        for _second in range(LIMIT + 2):
            changes.append(self.absence.look([ownership.Owner('gw3')], HERE, 1,
                                          GRACE))
            self.now += 1
        self.assertEqual([LIMIT], [n for n, one in enumerate(changes) if one])
        self.assertTrue(self.absence.look([], HERE, 1, GRACE))

    def test_the_jitter_is_drawn_once_for_each_process(self):
        """Row STL-02."""
        drawn = set()
        for _process in range(50):
            made = absent_chassis.Absence(lambda: self.now)
            made.look([ownership.Owner('gw3')], HERE, 1, GRACE)
            first = made.due_in()
            self.assertTrue(GRACE <= first <= GRACE + absent_chassis.JITTER,
                            first)
            made.look([], HERE, 1, GRACE)
            made.look([ownership.Owner('gw4')], HERE, 1, GRACE)
            self.assertEqual(first, made.due_in())
            drawn.add(first)
        self.assertGreater(len(drawn), 40)

    def test_one_that_returns_is_forgotten(self):
        """Row STL-03."""
        self.look('gw3')
        self.now += LIMIT - 1
        self.look('gw3', present=HERE | chassis('gw3'))
        self.assertIsNone(self.absence.due_in())
        self.now += 1
        self.assertEqual(set(), self.look('gw3'))
        self.assertEqual(LIMIT, self.absence.due_in())

    def test_several_each_have_their_own_time(self):
        """Row STL-09."""
        self.look('gw3', 'gw4')
        self.now += 100
        self.look('gw3', 'gw4', 'gw5')
        self.look('gw3', 'gw4', 'gw5', present=HERE | chassis('gw4'))
        self.now += LIMIT - 100
        self.assertEqual({'gw3'}, self.look('gw3', 'gw4', 'gw5'))
        self.now += 100
        self.assertEqual({'gw3', 'gw5'}, self.look('gw3', 'gw4', 'gw5'))

    def test_off_forgets(self):
        """Row STL-07."""
        self.look('gw3')
        self.now += LIMIT
        self.assertEqual({'gw3'}, self.look('gw3'))
        self.assertEqual(set(), self.look('gw3', grace=0))
        self.assertIsNone(self.absence.due_in())
        self.assertEqual(set(), self.look('gw3'))
        self.assertEqual(LIMIT, self.absence.due_in())

    def test_without_sb_no_time_counts(self):
        """Row STL-10."""
        self.look('gw3')
        self.now += LIMIT
        self.assertEqual(set(), self.look('gw3', session=None))
        self.assertIsNone(self.absence.due_in())
        self.now += LIMIT
        self.assertEqual(set(), self.look('gw3', session=2))
        self.now += LIMIT
        self.assertEqual({'gw3'}, self.look('gw3', session=2))

    def test_after_a_loss_that_nobody_saw_it_counts_anew(self):
        """Row STL-10: lost and there again between two looks."""
        self.look('gw3')
        self.now += LIMIT
        self.assertEqual(set(), self.look('gw3', session=2))

    def test_a_route_without_a_name_is_nobodys(self):
        """Row STL-05."""
        self.look('', 'gw3')
        self.now += LIMIT
        self.assertEqual({'gw3'}, self.look('', 'gw3'))

    def test_a_short_name_may_be_that_of_a_long_one(self):
        for tag, present, known in (
                ('gw1', 'gw1.example.org', True),
                ('gw1.example.org', 'gw1', True),
                ('gw1.example.org', 'gw1.example.net', False),
                ('gw1', 'gw10.example.org', False),
                ('gw1.example.org', 'gw1.example.org', True)):
            self.assertIs(known, absent_chassis.known(
                ownership.Owner(tag), chassis(present)), tag)
        self.assertFalse(absent_chassis.known(ownership.Owner('gw1'), set()))

    def test_a_mark_with_a_chassis_goes_by_the_chassis(self):
        """The host name may be another one, or that of a living chassis."""
        for hostname, name, known in (
                ('gw1', 'gw1-id', True), ('gw9', 'gw1-id', True),
                ('', 'gw1-id', True), ('gw1', 'former', False)):
            self.assertIs(known, absent_chassis.known(
                ownership.Owner(hostname, name), HERE), (hostname, name))
