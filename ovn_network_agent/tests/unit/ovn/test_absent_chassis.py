# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Who is gone for good, or silent, by a clock of the test."""

from oslotest import base

from ovn_network_agent import ownership
from ovn_network_agent.ovn.chassis import absent_chassis

LIMIT = 3600
# Milliseconds since the epoch, of the last answer of those who live.
NOW = 1_800_000_000_000
DEAD = ownership.Owner('gw2', 'dead')
HOSTS = {'here': 'gw1', 'dead': 'gw2', 'live': 'gw3'}
OLD = NOW - 1000 * LIMIT
REPORTS = {'here': (7, NOW), 'dead': (6, OLD), 'live': (7, NOW - 5)}


def facts(target=7, hosts=HOSTS, reports=(), gateways=()):
    return absent_chassis.Facts('here', target, hosts, REPORTS | dict(reports),
                                frozenset(gateways))


class OutdatedTest(base.BaseTestCase):

    def outdated(self, **changes):
        return absent_chassis.outdated(facts(**changes), LIMIT)

    def test_who_is_behind_with_an_old_answer(self):
        left = {name: HOSTS[name] for name in ('here', 'live')}
        for silent, changes in (
                (True, {}),
                # Right after an increase that nobody has answered.
                (True, {'target': 8}),
                # An answer that is not old enough.
                (False, {'reports': {'dead': (6, OLD + 1)}}),
                # Nobody has raised the number since, so nobody has answered.
                (False, {'reports': {'dead': (7, OLD)}}),
                (False, {'target': 0}),
                # A gateway is never silent, nor who has never answered.
                (False, {'gateways': {'dead'}}),
                (False, {'reports': {'dead': (0, 0)}}),
                # What an earlier chassis has left; its time is nobody's.
                (False, {'hosts': left}),
                (False, {'reports': {'gone': (7, NOW + 10 ** 9),
                                     'dead': (6, OLD + 1)}})):
            self.assertEqual({'dead'} if silent else set(),
                             self.outdated(**changes), changes)

    def test_who_is_silent_itself_cannot_judge(self):
        nowhere = {name: HOSTS[name] for name in ('dead', 'live')}
        for silent, hosts, own in (
                (set(), HOSTS, (6, 1)), (set(), HOSTS, (0, 0)),
                ({'dead'}, HOSTS, (6, NOW)), (set(), nowhere, (7, NOW))):
            self.assertEqual(silent, self.outdated(
                hosts=hosts, reports={'here': own, 'dead': (6, 1)}), own)
        self.assertEqual(set(), absent_chassis.outdated(
            absent_chassis.Facts('here', 7, HOSTS), LIMIT))

    def test_a_host_with_two_chassis(self):
        """A node that was set up again has another name, and its host's."""
        twice = facts(hosts=HOSTS | {'again': 'gw2'},
                      reports={'again': (7, NOW)})
        self.assertEqual({DEAD}, absent_chassis.owners(twice, {'dead'}))


class SilenceTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.now = 50.0
        self.silence = absent_chassis.Silence(lambda: self.now)

    def look(self, seen=None, session=1, after=0):
        """Who is silent then.

        :param after: seconds since the last look
        """
        self.now += after
        return self.silence.look(seen or facts(), session, LIMIT)

    def test_only_after_the_limit_by_our_own_clock(self):
        """However old the last answer: increases may be days apart."""
        ancient = facts(reports={'dead': (6, 1)})
        self.assertEqual(set(), self.look(ancient))
        self.assertEqual(LIMIT, self.silence.due_in())
        self.assertEqual(set(), self.look(ancient, after=LIMIT - 1))
        self.assertEqual({DEAD}, self.look(ancient, after=1))
        self.assertEqual({DEAD}, self.silence.silent)
        self.assertIsNone(self.silence.due_in())

    def test_an_answer_forgets(self):
        """Even one that is behind again when it is seen."""
        behind = facts(target=9, reports={'here': (9, NOW), 'dead': (8, OLD)})
        self.look()
        self.assertEqual(set(), self.look(behind, after=LIMIT))
        self.assertEqual(LIMIT, self.silence.due_in())
        self.assertEqual({DEAD}, self.look(behind, after=LIMIT))
        self.assertEqual(set(), self.look(facts(
            target=9, reports={'here': (9, NOW), 'dead': (9, NOW)})))
        self.assertIsNone(self.silence.due_in())

    def test_a_gateway_forgets(self):
        self.look()
        self.assertEqual(set(), self.look(facts(gateways={'dead'}),
                                          after=LIMIT))
        self.assertEqual(set(), self.look())

    def test_without_sb_no_time_counts(self):
        for session in (None, 2):
            self.look()
            self.assertEqual(set(), self.look(session=session, after=LIMIT))

    def test_behind_but_not_old_does_not_wake_for_ever(self):
        """Nobody has raised the number since it failed to answer."""
        recent = facts(reports={'dead': (6, NOW - 1000)})
        self.look(recent)
        self.assertEqual(set(), self.look(recent, after=LIMIT))
        self.assertIsNone(self.silence.due_in())

    def test_off_waits_for_nothing(self):
        self.look()
        self.look(after=LIMIT)
        self.assertEqual(set(), self.silence.look(None, None, 0))
        self.assertIsNone(self.silence.due_in())

    def test_a_schema_without_reports(self):
        self.assertIsNone(absent_chassis.read({'Chassis': {}}, 'here', ()))
        self.assertEqual(set(), self.silence.look(None, 1, LIMIT))
        self.assertIsNone(self.silence.due_in())


GRACE = 300
JITTER = 7
WAIT = GRACE + JITTER


def chassis(*hostnames):
    """The chassis of SB."""
    return {ownership.Owner(name, f'{name}-id') for name in hostnames}


HERE = chassis('gw1', 'gw2')


class AbsenceTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.now = 1000.0
        self.absence = absent_chassis.Absence(lambda: self.now, JITTER)

    def look(self, *tags, after=0, present=HERE, session=1, grace=GRACE):
        """Which hosts are gone for good then.

        :param tags: the host names in marks
        :param after: seconds since the last look
        """
        self.now += after
        self.absence.look(map(ownership.Owner, tags), present, session, grace)
        return {dead.hostname for dead in self.absence.dead}

    def test_only_after_grace_and_jitter(self):
        """Row STL-01."""
        for after, dead, due in ((0, set(), WAIT), (WAIT - 1, set(), 1)):
            self.assertEqual(dead, self.look('gw1', 'gw3', after=after))
            self.assertEqual(due, self.absence.due_in())
        self.now += 1
        self.assertEqual(0, self.absence.due_in())
        self.assertEqual({'gw3'}, self.look('gw1', 'gw3'))
        # Nothing more to wait for, until it has nothing left.
        self.assertIsNone(self.absence.due_in())
        self.assertEqual({'gw3'}, self.look('gw1', 'gw3'))
        self.assertEqual(set(), self.look('gw1'))

    def test_it_says_when_that_has_changed(self):
        changes = []
        for _second in range(WAIT + 2):
            changes.append(self.absence.look([ownership.Owner('gw3')], HERE, 1,
                                          GRACE))
            self.now += 1
        self.assertEqual([WAIT], [n for n, one in enumerate(changes) if one])
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
        self.look('gw3', after=WAIT - 1, present=HERE | chassis('gw3'))
        self.assertIsNone(self.absence.due_in())
        self.assertEqual(set(), self.look('gw3', after=1))
        self.assertEqual(WAIT, self.absence.due_in())

    def test_several_each_have_their_own_time(self):
        """Row STL-09."""
        self.look('gw3', 'gw4')
        self.look('gw3', 'gw4', 'gw5', after=100)
        self.look('gw3', 'gw4', 'gw5', present=HERE | chassis('gw4'))
        for after, dead in ((WAIT - 100, {'gw3'}), (100, {'gw3', 'gw5'})):
            self.assertEqual(dead, self.look('gw3', 'gw4', 'gw5',
                                             after=after))

    def test_off_forgets(self):
        """Row STL-07."""
        self.look('gw3')
        self.assertEqual({'gw3'}, self.look('gw3', after=WAIT))
        self.assertEqual(set(), self.look('gw3', grace=0))
        self.assertIsNone(self.absence.due_in())
        self.assertEqual(set(), self.look('gw3'))
        self.assertEqual(WAIT, self.absence.due_in())

    def test_without_sb_no_time_counts(self):
        """Row STL-10: also when it was lost between two looks."""
        self.look('gw3')
        self.assertEqual(set(), self.look('gw3', after=WAIT, session=None))
        self.assertIsNone(self.absence.due_in())
        for session, dead in ((2, set()), (3, set()), (3, {'gw3'})):
            self.assertEqual(dead, self.look('gw3', after=WAIT,
                                             session=session))

    def test_a_route_without_a_name_is_nobodys(self):
        """Row STL-05."""
        self.look('', 'gw3')
        self.assertEqual({'gw3'}, self.look('', 'gw3', after=WAIT))

    def test_whose_a_mark_is(self):
        """The chassis decides, whatever the host name is.

        Without a chassis, a short host name may be that of a long one.
        """
        for tag, present, known in (
                (('gw1',), 'gw1.example.org', True),
                (('gw1.example.org',), 'gw1', True),
                (('gw1.example.org',), 'gw1.example.net', False),
                (('gw1',), 'gw10.example.org', False),
                (('gw1.example.org',), 'gw1.example.org', True),
                (('gw1', 'gw1-id'), 'gw1', True),
                (('gw9', 'gw1-id'), 'gw1', True),
                (('', 'gw1-id'), 'gw1', True),
                (('gw1', 'former'), 'gw1', False)):
            self.assertIs(known, absent_chassis.known(
                ownership.Owner(*tag), chassis(present)), tag)
        self.assertFalse(absent_chassis.known(ownership.Owner('gw1'), set()))
