# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""Questions of other threads to the loop, and when they are answered."""

import concurrent.futures
import threading

from oslotest import base

from ovn_network_agent.common import trigger
from ovn_network_agent.engine import reconciler
from ovn_network_agent.forward import source
from ovn_network_agent.gateways import drain
from ovn_network_agent.ovn import view
from ovn_network_agent.ovsdb import connection
from ovn_network_agent.ovsdb import replica
from ovn_network_agent.runtime import loop
from ovn_network_agent.runtime import questions
from ovn_network_agent.runtime.process import status
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.unit import seen
from ovn_network_agent.tests.unit import world
from ovn_network_agent.tests.unit.gateways import views

LIMIT = 30


class QuestionsTest(base.BaseTestCase):
    """With the real loop on a thread of its own."""

    def setUp(self):
        super().setUp()
        self.conf = world.conf(drivers=views.DRIVERS)
        self.trigger = trigger.Trigger(0)
        self.seen = seen.Seen(self.conf)
        self.seen.meanwhile = self.look
        self.gate, self.broken = threading.Event(), None
        self.gate.set()
        self.stopping = threading.Event()
        self.threads = concurrent.futures.ThreadPoolExecutor(8)
        self.addCleanup(self.threads.shutdown)

    def look(self):
        """A test may stop the view at a look, or break it."""
        if not self.gate.wait(LIMIT):
            raise AssertionError('the test never let the view go on')
        if self.broken:
            raise self.broken

    def make(self, seen=None, forwards=None):
        work = reconciler.Reconciler(
            [], [], lambda reason: self.trigger.fire(reason))
        self.addCleanup(work.close)
        self.loop = loop.Loop(self.conf, seen or self.seen, work,
                              self.trigger, status.Status({}),
                              self.stopping, forwards=forwards)
        return self.loop

    def run_loop(self, seen=None):
        made = self.make(seen)
        thread = threading.Thread(target=made.run, daemon=True)
        thread.start()
        self.addCleanup(self.end, thread)
        return made

    def end(self, thread):
        self.gate.set()
        self.stopping.set()
        self.trigger.fire('stop', urgent=True)
        thread.join(LIMIT)
        self.assertFalse(thread.is_alive())

    def rest(self):
        """Wait until the loop has made its first passes, and rests."""
        waiting.eventually(
            lambda: self.seen.full and not self.loop.passes.work, 'rest')

    def hold(self):
        """Have the loop begin a pass that does not end."""
        self.gate.clear()
        self.trigger.fire('a slow reason')
        waiting.eventually(lambda: self.loop.passes.work, 'a pass')

    def wait_for_questions(self):
        waiting.eventually(lambda: self.loop.questions._waiting, 'a question')

    def ask(self, function, patience=LIMIT):
        return self.loop.questions.ask(function, patience)

    def test_it_is_answered_on_the_thread_of_the_loop(self):
        self.run_loop()
        thread = self.ask(threading.current_thread)
        self.assertIsNot(threading.current_thread(), thread)
        self.assertIs(thread, self.ask(threading.current_thread))

    def test_a_resting_loop_makes_no_pass_for_it(self):
        self.run_loop()
        self.rest()
        before = len(self.seen.full)
        self.assertEqual([1] * 20, [self.ask(lambda: 1)
                                    for _question in range(20)])
        self.assertEqual(before, len(self.seen.full))

    def asked_while_held(self, reason, **event):
        """Ask a held loop for its passes; then an event comes.

        :param event: arguments of :meth:`trigger.Trigger.fire`
        :returns: (number of passes before, future with the answer)
        """
        self.run_loop()
        self.rest()
        self.hold()
        looks = len(self.seen.full)
        asked = self.threads.submit(self.ask, lambda: len(self.seen.full))
        self.wait_for_questions()
        self.trigger.fire(reason, **event)
        self.gate.set()
        return looks, asked

    def test_the_pass_of_an_urgent_event_comes_first(self):
        looks, asked = self.asked_while_held('a port moves', urgent=True)
        self.assertEqual(looks + 1, asked.result(LIMIT))

    def test_other_events_do_not_put_it_off(self):
        looks, asked = self.asked_while_held('test')
        self.assertEqual(looks, asked.result(LIMIT))
        waiting.eventually(lambda: len(self.seen.full) > looks, 'a pass')

    def test_each_question_lets_an_event_pass(self):
        """The second question waits for the pass of an urgent event."""
        self.run_loop()
        self.rest()
        before = len(self.seen.full)
        go_on = threading.Event()
        self.addCleanup(go_on.set)
        first = self.threads.submit(self.ask, lambda: go_on.wait(LIMIT))
        waiting.eventually(first.running, 'the first one')
        waiting.eventually(lambda: not self.loop.questions._waiting, 'taken')
        second = self.threads.submit(self.ask, lambda: len(self.seen.full))
        self.wait_for_questions()
        self.trigger.fire('a port moves', urgent=True)
        go_on.set()
        self.assertEqual(before + 1, second.result(LIMIT))

    def test_what_it_raises_is_for_who_asked(self):
        self.run_loop()

        def wrong():
            raise TimeoutError('a bug')
        error = self.assertRaises(TimeoutError, self.ask, wrong)
        self.assertEqual('a bug', str(error))
        self.assertEqual(1, self.ask(lambda: 1))

    def test_a_loop_that_is_busy(self):
        self.run_loop()
        self.rest()
        self.hold()
        called = []
        error = self.assertRaises(
            questions.NoAnswer, self.ask, lambda: called.append(1), 0.05)
        self.assertIn('has not answered within 0.05 s', str(error))
        self.assertIn('(a slow reason)', str(error))
        self.gate.set()
        self.assertEqual(2, self.ask(lambda: 2))
        # Nobody waits for it any more.
        self.assertEqual([], called)

    def test_while_passes_fail(self):
        self.broken = ValueError('a bug')
        self.run_loop()
        self.assertEqual(1, self.ask(lambda: 1))
        waiting.eventually(lambda: any(
            'a bug' in done.trouble
            for done in self.loop.passes.last), 'a pass')
        self.assertEqual(2, self.ask(lambda: 2))

    def test_without_ovn(self):
        databases = {
            name: connection.Database(name, 'unix:/nowhere',
                                      replica.Handler(), 1, 5000)
            for name in ('nb', 'sb', 'ovs')}
        self.run_loop(view.View(self.conf, databases))
        self.assertEqual(1, self.ask(lambda: 1))
        waiting.eventually(lambda: any(
            'waiting for OVN' in done.trouble
            for done in self.loop.passes.last), 'a pass')
        self.assertEqual(2, self.ask(lambda: 2))

    def test_while_it_drains(self):
        made = self.make()
        self.seen.last = views.view(own=5)
        second_stop = threading.Event()
        draining = drain.Drain(self.conf, second_stop)

        class Stays(seen.Seen):
            def snapshot(self, phase, full=False):
                self.last = views.view(own=5)
                return self.last
        made._view = Stays(self.conf)
        made._view.last = views.view(own=5)
        thread = threading.Thread(target=made.drain, args=(draining,),
                                  daemon=True)
        thread.start()
        self.addCleanup(thread.join, LIMIT)
        try:
            self.assertIs(thread, self.ask(threading.current_thread))
        finally:
            second_stop.set()
            self.trigger.fire('stop', urgent=True)

    def test_the_end(self):
        made = self.make(forwards=source.Source(self.conf))
        asked = self.threads.submit(self.ask, lambda: 1)
        waiting.eventually(lambda: made.questions._waiting, 'a question')
        made.questions.close('the agent stops')
        for question in (asked.result, lambda: self.ask(lambda: 1)):
            error = self.assertRaises(questions.NoAnswer, question)
            self.assertEqual('the agent stops', str(error))
