# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Wake-ups and how they are coalesced."""

import threading

from oslotest import base

from ovn_network_agent.common import trigger


class Clock:
    """A clock that only the test moves."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


class TriggerTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.clock = Clock()
        self.trigger = trigger.Trigger(0.5, self.clock)

    def take(self):
        """What is handed out now, without waiting."""
        return self.trigger.wait(0)

    def test_the_first_reason_counts_from_when_it_came(self):
        self.trigger.fire('a')
        self.clock.now += 0.1
        self.trigger.fire('b')
        self.assertEqual(100.0, self.take().fired_at)
        self.clock.now += 1
        self.trigger.fire('c')
        self.assertEqual(101.1, self.take().fired_at)

    def test_a_question_is_no_event(self):
        self.trigger.ask()
        self.assertIs(trigger.QUESTION, self.take())
        self.assertIsNone(self.take())
        # And the next event does not wait because of it.
        self.trigger.fire('a')
        self.assertEqual(('a',), self.take().reasons)

    def test_a_question_does_not_wait_with_events(self):
        self.trigger.fire('a')
        self.take()
        self.trigger.fire('b')
        self.trigger.ask()
        self.assertIs(trigger.QUESTION, self.take())
        self.assertIsNone(self.take())

    def test_an_urgent_event_comes_before_a_question(self):
        self.trigger.ask()
        self.trigger.fire('a', urgent=True)
        self.assertEqual(('a',), self.take().reasons)
        self.assertIs(trigger.QUESTION, self.take())

    def test_questions_and_other_events_take_turns(self):
        got = []
        for _turn in range(2):
            self.trigger.fire('a')
            self.trigger.ask()
            got += [self.take(), self.take()]
            self.clock.now += 1
        self.assertEqual([(), ('a',)] * 2, [wake.reasons for wake in got])
        self.trigger.ask()
        self.assertIs(trigger.QUESTION, self.take())
        self.trigger.ask()
        self.trigger.fire('a')
        self.assertEqual(('a',), self.take().reasons)

    def test_an_urgent_reason_counts_from_when_that_came(self):
        """Trap T20: what waited for another reason is no takeover time."""
        self.trigger.fire('a')
        self.clock.now += 0.1
        self.trigger.fire('a gateway', urgent=True)
        self.clock.now += 0.1
        self.trigger.fire('another', urgent=True)
        self.assertEqual(100.1, self.take().fired_at)

    def test_under_load_once_per_interval(self):
        self.trigger.fire('a')
        self.take()
        self.trigger.fire('b')
        self.clock.now += 0.4
        self.trigger.fire('c')
        # Counted from the pass before, not from the last event: a steady
        # stream cannot put the pass off.
        self.assertIsNone(self.take())
        self.clock.now += 0.1
        self.assertEqual(('b', 'c'), self.take().reasons)
        self.assertIsNone(self.take())

    def test_urgent_does_not_wait_and_takes_all_along(self):
        self.trigger.fire('a')
        self.take()
        self.trigger.fire('b', stale=('route',))
        self.trigger.fire('c', urgent=True)
        wake = self.take()
        self.assertEqual(('b', 'c'), wake.reasons)
        self.assertTrue(wake.urgent)
        self.assertEqual({'route'}, wake.stale)

    def test_urgency_is_used_up(self):
        self.trigger.fire('a', urgent=True)
        self.assertTrue(self.take().urgent)
        self.trigger.fire('b')
        self.assertIsNone(self.take())
        self.clock.now += 0.5
        self.assertFalse(self.take().urgent)

    def test_stale_names_add_up(self):
        self.trigger.fire('a', stale=('route', 'rule'))
        self.trigger.fire('a', stale=('flow',))
        wake = self.take()
        self.assertEqual(('a',), wake.reasons)
        self.assertEqual({'route', 'rule', 'flow'}, wake.stale)

    def test_no_interval_at_all(self):
        eager = trigger.Trigger(0, self.clock)
        for reason in 'abc':
            eager.fire(reason)
            self.assertEqual((reason,), eager.wait(0).reasons)


class TriggerThreadsTest(base.BaseTestCase):

    def test_a_waiting_loop_is_woken(self):
        waker = trigger.Trigger(60)
        got = []
        loop = threading.Thread(
            target=lambda: got.append(waker.wait(30)), daemon=True)
        loop.start()
        waker.fire('now')
        loop.join(20)
        self.assertFalse(loop.is_alive())
        self.assertEqual(('now',), got[0].reasons)

    def test_an_urgent_one_cuts_the_collecting_short(self):
        waker = trigger.Trigger(60)
        waker.fire('first')
        waker.wait(0)
        got = []
        loop = threading.Thread(
            target=lambda: got.append(waker.wait(30)), daemon=True)
        loop.start()
        waker.fire('slow')
        waker.fire('moved', urgent=True)
        loop.join(20)
        self.assertFalse(loop.is_alive())
        self.assertEqual({'slow', 'moved'}, set(got[0].reasons))

    def test_no_wake_up_is_lost_between_threads(self):
        waker = trigger.Trigger(0)
        fired, seen = 4 * 2500, set()

        def fire(thread):
            for number in range(2500):
                waker.fire(f'{thread:d}-{number}')

        threads = [threading.Thread(target=fire, args=(n,), daemon=True)
                   for n in range(4)]
        for thread in threads:
            thread.start()
        while len(seen) < fired:
            wake = waker.wait(20)
            self.assertIsNotNone(wake, f'lost: {len(seen)} of {fired:d}')
            self.assertTrue(seen.isdisjoint(wake.reasons))
            seen.update(wake.reasons)
        for thread in threads:
            thread.join(20)
