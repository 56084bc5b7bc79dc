# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What is remembered of the last passes."""

import threading
import time

from oslotest import base

from ovn_network_agent import resources
from ovn_network_agent.engine import outcome
from ovn_network_agent.runtime import pass_log

ROUTE = resources.KernelRoute(254, '198.51.100.10/32', 'br-ex')


class PassLogTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.log = pass_log.PassLog()

    def make(self, *reasons, changes=0, applied=(), **options):
        self.log.running = pass_log.Running(reasons)
        self.log.note(outcome.Outcome(changes, applied=applied), **options)
        self.log.end()

    def test_a_pass(self):
        before = time.time()
        self.log.running = pass_log.Running(('a', 'b'))
        self.assertIn('(a, b)', self.log.work)
        self.log.note(outcome.Outcome(3), True)
        self.log.end()
        self.assertEqual('', self.log.work)
        done, = self.log.last
        self.assertEqual((('a', 'b'), 3, True, ''), (
            done.reasons, done.changes, done.full, done.trouble))
        self.assertLessEqual(before, done.at)
        self.assertGreater(done.seconds, 0.0)

    def test_a_pass_that_fails(self):
        self.log.running = pass_log.Running(('a',))
        self.log.fail('a bug')
        self.log.end()
        self.make('b')
        self.assertEqual(['a bug', ''],
                         [done.trouble for done in self.log.last])

    def test_only_the_last_ones_are_kept(self):
        for number in range(2 * pass_log.KEPT):
            self.make(str(number))
        self.assertEqual(pass_log.KEPT, len(self.log.last))
        self.assertEqual((str(2 * pass_log.KEPT - 1),),
                         self.log.last[-1].reasons)

    def test_the_changes_while_somebody_listens(self):
        made = ('created', ROUTE)
        self.make('before', applied=(made,))
        with self.log.changes() as heard:
            self.make('one', applied=(made,))
            self.make('two', applied=(made,))
        self.make('after', applied=(made,))
        self.assertEqual([made, made], heard)

    def test_to_wait_for_a_pass(self):
        thread = threading.Timer(0.05, self.make, ('one',))
        thread.start()
        self.addCleanup(thread.join)
        self.log.wait(30)
        self.assertEqual(1, len(self.log.last))
        # Without a pass it ends in time.
        self.log.wait(0.01)
