# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers



"""The pace of repairs, by a clock of the tests."""

import functools
import threading

from oslotest import base

from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends import flow
from ovn_network_agent.backends.frr import frr_static
from ovn_network_agent.common import notices
from ovn_network_agent.engine import outcome
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.unit import world
from ovn_network_agent.watches import rate_limit

LOST = outcome.Outcome(lost=(resources.Ref(resources.Flow.kind, ('x',)),))
OTHER = outcome.Outcome(lost=(
    resources.Ref(resources.Announcement.kind, ('', 'x')),))
NOTHING = outcome.Outcome()


class Woken:
    """Notes the wake-ups in the place of a trigger."""

    def __init__(self, clock):
        self._clock = clock
        self.at = []
        self.stale = []

    def fire(self, reason, urgent=False, stale=(), revived=()):
        self.at.append(self._clock())
        self.stale.append(set(stale))


class PaceTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.now = 100.0
        made = [flow.FlowBackend(world.conf()),
                frr_static.StaticBackend(world.conf())]
        self.pace = rate_limit.RateLimit(
            functools.partial(backends.doubted_kinds, made),
            clock=lambda: self.now)
        self.woken = Woken(lambda: self.now)
        self.pace._trigger = self.woken

    def after_pass(self, result):
        self.pace.after_pass(result, None, False)

    def notice(self, by='', word=notices.FLOWS):
        self.pace.notice(word, by)

    def wait(self, seconds):
        """Let time pass, as the thread would see it."""
        self.now += seconds
        with self.pace._news:
            return self.pace._fire_due()

    def test_the_first_notice_wakes_at_once(self):
        self.notice()
        self.assertEqual([100.0], self.woken.at)

    def test_a_storm_is_two_wake_ups_a_second(self):
        for _number in range(1000):
            self.notice()
            self.wait(0.01)
        self.assertIn(len(self.woken.at), (20, 21))

    def test_each_word_has_a_pace_of_its_own(self):
        self.notice()
        self.notice(word=notices.ZEBRA_STATIC)
        self.assertEqual([100.0, 100.0], self.woken.at)

    def test_a_late_notice_is_kept(self):
        self.notice()
        self.wait(0.125)
        self.notice()
        self.assertEqual(0.25, self.wait(0.125))
        self.assertEqual(1, len(self.woken.at))
        self.assertIsNone(self.wait(0.25))
        self.assertEqual(2, len(self.woken.at))

    def fight(self, seconds):
        """Another program undoes each repair within a tenth of a second."""
        until, seen = self.now + seconds, len(self.woken.at)
        while self.now < until:
            self.notice('a flow with cookie 0x5 was added')
            if len(self.woken.at) == seen:
                self.wait(0.1)
            if len(self.woken.at) > seen:
                seen = len(self.woken.at)
                self.now += 0.05
                self.after_pass(LOST)

    def test_a_fight_is_slowed_down_and_named(self):
        with self.assertLogs(rate_limit.__name__, 'ERROR') as logs:
            self.fight(120)
        self.assertLess(len(self.woken.at), 13)
        self.assertGreaterEqual(self.woken.at[-1] - self.woken.at[-2],
                                rate_limit.LAST)
        self.assertEqual(len(self.woken.at) - 2, len(logs.output))
        self.assertIn('cookie 0x5', logs.output[0])
        self.assertIn('ovs:flows: repaired 3 times in a row', logs.output[0])

    def test_after_a_calm_everything_is_as_before(self):
        with self.assertLogs(rate_limit.__name__, 'ERROR'):
            self.fight(60)
        self.wait(120)
        self.after_pass(NOTHING)
        count = len(self.woken.at)
        with self.assertNoLogs(rate_limit.__name__, 'ERROR'):
            for _number in range(2):
                self.wait(0.5)
                self.notice()
                self.after_pass(LOST)
        self.assertEqual(count + 2, len(self.woken.at))

    def test_changes_without_harm_are_no_fight(self):
        with self.assertNoLogs(rate_limit.__name__, 'ERROR'):
            for _number in range(20):
                self.notice()
                self.after_pass(NOTHING)
                self.after_pass(OTHER)
                self.wait(1)
        self.assertEqual(20, len(self.woken.at))

    def lost(self, *keys):
        return outcome.Outcome(lost=tuple(
            resources.Ref(resources.Flow.kind, (key,)) for key in keys))

    def test_one_object_after_the_other_is_no_fight(self):
        """An operator who deletes several objects by hand."""
        with self.assertNoLogs(rate_limit.__name__, 'ERROR'):
            for number in range(20):
                self.notice()
                self.after_pass(self.lost(number))
                self.wait(1)
        self.assertEqual(20, len(self.woken.at))

    def test_a_fight_for_one_of_several_objects(self):
        with self.assertLogs(rate_limit.__name__, 'ERROR') as logs:
            for number in range(rate_limit.FIGHT):
                self.notice()
                self.after_pass(self.lost('x', number))
                self.wait(1)
        self.assertEqual(1, len(logs.output))
        # The row of the others is over with a calm, and theirs alone.
        self.assertEqual(rate_limit.FIGHT,
                         self.pace._notices[notices.FLOWS].streak(self.now))
        self.wait(60)
        self.assertEqual(0, self.pace._notices[notices.FLOWS].streak(self.now))

    def test_rows_wait_in_a_fight_only(self):
        """A takeover writes rows, which come back as events."""
        for _number in range(10):
            self.pace.fire('nb:x', stale=(notices.FLOWS,))
        self.assertEqual([{notices.FLOWS}] * 10, self.woken.stale)
        with self.assertLogs(rate_limit.__name__, 'ERROR') as logs:
            for _number in range(rate_limit.FIGHT):
                self.pace.fire('nb:x', stale=(notices.FLOWS,))
                self.after_pass(LOST)
        self.assertIn('nb:x', logs.output[0])
        self.woken.stale.clear()
        self.pace.fire('nb:x', stale=(notices.FLOWS,))
        self.assertEqual([set()], self.woken.stale)
        self.wait(1)
        self.assertEqual([set(), {notices.FLOWS}], self.woken.stale)
        # What is urgent never waits.
        self.pace.fire('nb:x', urgent=True, stale=(notices.FLOWS,))
        self.assertEqual({notices.FLOWS}, self.woken.stale[-1])
        self.wait(60)
        self.pace.fire('nb:x', stale=(notices.FLOWS,))
        self.assertEqual({notices.FLOWS}, self.woken.stale[-1])

    def test_the_thread(self):
        self.pace = rate_limit.RateLimit(lambda word: set())
        fired = threading.Event()
        count = []

        def fire(reason, stale):
            count.append(reason)
            if len(count) == 2:
                fired.set()

        self.woken.fire = fire
        self.pace.start(self.woken)
        self.addCleanup(self.pace.stop)
        self.notice()
        self.notice()
        self.assertTrue(fired.wait(30))
        self.pace.stop()
        waiting.eventually(
            lambda: not any(thread.name == 'rate-limit'
                            for thread in threading.enumerate()),
            'the thread has ended', 30)
