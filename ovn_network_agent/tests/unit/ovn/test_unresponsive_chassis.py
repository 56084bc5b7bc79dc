# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Who has fallen silent, by a clock of the test.  Row A-20."""

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
    return absent_chassis.Facts('here', target, hosts,
                                REPORTS | dict(reports),
                                frozenset(gateways))


class OutdatedTest(base.BaseTestCase):

    def outdated(self, **changes):
        return absent_chassis.outdated(facts(**changes), LIMIT)

    def test_who_is_behind_with_an_old_answer(self):
        self.assertEqual({'dead'}, self.outdated())

    def test_an_answer_that_is_not_old_enough(self):
        self.assertEqual(set(), self.outdated(
            reports={'dead': (6, OLD + 1)}))

    def test_an_old_answer_to_what_is_still_the_last_number(self):
        """Nobody has raised it since, so nobody has answered."""
        self.assertEqual(set(), self.outdated(reports={'dead': (7, OLD)}))
        self.assertEqual(set(), self.outdated(target=0))

    def test_a_gateway_is_never_silent(self):
        self.assertEqual(set(), self.outdated(gateways={'dead'}))

    def test_one_that_has_never_answered(self):
        self.assertEqual(set(), self.outdated(reports={'dead': (0, 0)}))

    def test_what_an_earlier_chassis_has_left(self):
        """Its time is that of nobody, too."""
        hosts = {name: HOSTS[name] for name in ('here', 'live')}
        self.assertEqual(set(), self.outdated(hosts=hosts))
        self.assertEqual(set(), self.outdated(
            reports={'gone': (7, NOW + 10 ** 9), 'dead': (6, OLD + 1)}))

    def test_who_is_silent_itself_cannot_judge(self):
        for own in ((6, 1), (0, 0)):
            self.assertEqual(set(), self.outdated(
                reports={'here': own, 'dead': (6, 1)}))
        self.assertEqual({'dead'}, self.outdated(
            reports={'here': (6, NOW), 'dead': (6, 1)}))
        nowhere = {name: HOSTS[name] for name in ('dead', 'live')}
        self.assertEqual(set(), self.outdated(
            hosts=nowhere, reports={'dead': (6, 1)}))
        self.assertEqual(set(), absent_chassis.outdated(
            absent_chassis.Facts('here', 7, HOSTS), LIMIT))

    def test_right_after_an_increase_that_nobody_has_answered(self):
        self.assertEqual({'dead'}, self.outdated(target=8))

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

    def look(self, seen=None, session=1):
        return self.silence.look(seen or facts(), session, LIMIT)

    def test_only_after_the_limit_by_our_own_clock(self):
        """However old the last answer: increases may be days apart."""
        ancient = facts(reports={'dead': (6, 1)})
        self.assertEqual(set(), self.look(ancient))
        self.assertEqual(LIMIT, self.silence.due_in())
        self.now += LIMIT - 1
        self.assertEqual(set(), self.look(ancient))
        self.now += 1
        self.assertEqual({DEAD}, self.look(ancient))
        self.assertEqual({DEAD}, self.silence.silent)
        self.assertIsNone(self.silence.due_in())

    def test_an_answer_forgets(self):
        """Even one that is behind again when it is seen."""
        self.look()
        self.now += LIMIT
        self.assertEqual(set(), self.look(facts(
            target=9, reports={'here': (9, NOW), 'dead': (8, OLD)})))
        self.assertEqual(LIMIT, self.silence.due_in())
        self.now += LIMIT
        self.assertEqual({DEAD}, self.look(facts(
            target=9, reports={'here': (9, NOW), 'dead': (8, OLD)})))
        self.assertEqual(set(), self.look(facts(
            target=9, reports={'here': (9, NOW), 'dead': (9, NOW)})))
        self.assertIsNone(self.silence.due_in())

    def test_a_gateway_forgets(self):
        self.look()
        self.now += LIMIT
        self.assertEqual(set(), self.look(facts(gateways={'dead'})))
        self.assertEqual(set(), self.look())

    def test_without_sb_no_time_counts(self):
        for session in (None, 2):
            self.look()
            self.now += LIMIT
            self.assertEqual(set(), self.look(session=session))

    def test_behind_but_not_old_does_not_wake_for_ever(self):
        """Nobody has raised the number since it failed to answer."""
        recent = facts(reports={'dead': (6, NOW - 1000)})
        self.look(recent)
        self.now += LIMIT
        self.assertEqual(set(), self.look(recent))
        self.assertIsNone(self.silence.due_in())

    def test_off_waits_for_nothing(self):
        self.look()
        self.now += LIMIT
        self.look()
        self.assertEqual(set(), self.silence.look(None, None, 0))
        self.assertIsNone(self.silence.due_in())

    def test_a_schema_without_reports(self):
        self.assertIsNone(absent_chassis.read({'Chassis': {}}, 'here',
                                              ()))
        self.assertEqual(set(), self.silence.look(None, 1, LIMIT))
        self.assertIsNone(self.silence.due_in())
