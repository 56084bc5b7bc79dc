# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Which checks share a wake-up, by a clock of the tests."""

import queue
import threading

from oslotest import base

from ovn_network_agent.watches import base as watches


class HeartbeatTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.now = 100.3
        self.beats = watches.Heartbeat(lambda: self.now)
        self.made = []

    def add(self, name, pause=None):
        self.beats.add(lambda: self.made.append(name),
                       *(() if pause is None else (pause,)))

    def play(self, seconds):
        """The checks of each wake-up in some seconds, a list of lists."""
        end, found = self.now + seconds, []
        pause = self.beats.run_due()
        while self.now + pause <= end:
            self.now += pause
            self.made.clear()
            pause = self.beats.run_due()
            found.append(sorted(self.made))
        self.now = end
        return found

    def test_all_checks_share_one_wake_up_a_second(self):
        self.add('a')
        self.now += 0.4
        self.add('b')
        self.assertEqual([['a', 'b']] * 10, self.play(10))

    def test_one_that_wants_to_be_made_sooner(self):
        pauses = [0.2]
        self.add('slow')
        self.add('fast', lambda: pauses[0])
        found = self.play(3)
        self.assertEqual(3, sum('slow' in made for made in found))
        self.assertEqual(15, sum('fast' in made for made in found))
        self.assertEqual(15, len(found))
        pauses[0] = 1.0
        self.play(1)
        self.assertEqual([['fast', 'slow']] * 5, self.play(5))

    def test_no_check_is_missed_after_a_slow_one(self):
        self.beats.add(lambda: setattr(self, 'now', self.now + 1.5))
        self.add('other')
        self.assertEqual([['other']] * 5, self.play(10))

    def test_a_wake_up_that_comes_too_early(self):
        self.add('a')
        self.now = 100.999
        self.beats.run_due()
        self.assertEqual(['a'], self.made)
        self.assertAlmostEqual(1.001, self.beats.run_due())
        self.assertEqual(['a'], self.made)

    def test_a_bug_in_one_check_ends_no_other(self):
        self.beats.add(lambda: 1 / 0)
        self.add('a')
        with self.assertLogs(watches.__name__, 'ERROR'):
            self.assertEqual([['a']] * 2, self.play(2))

    def test_a_check_that_is_taken_away(self):
        check = self.test_a_check_that_is_taken_away
        self.beats.add(check)
        self.beats.remove(check)
        self.beats.remove(check)
        self.assertEqual(watches.INTERVAL, self.beats.run_due())

    def test_one_thread_makes_them_all(self):
        threads = queue.SimpleQueue()
        real = watches.Heartbeat()
        self.addCleanup(real.stop)
        for _number in range(2):
            real.add(lambda: threads.put(threading.current_thread().name),
                     lambda: 0.1)
        real.start(None)
        self.assertEqual({'heartbeat'}, {
            threads.get(timeout=10) for _number in range(4)})
