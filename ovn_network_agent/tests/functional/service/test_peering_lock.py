# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Agents with the driver network_peer that wait for the lock, or stop."""

import logging
import os
import signal
import time

import fixtures

from ovn_network_agent.backends.northbound import locked_rows
from ovn_network_agent.common import notices
from ovn_network_agent.engine import outcome
from ovn_network_agent.ovsdb import lock_state
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.metrics import base as metrics
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.functional.ovsdb import test_lock
from ovn_network_agent.tests.functional.service import base as services
from ovn_network_agent.tests.functional.service import test_peering


class WaitTest(test_peering.PeeringTestCase):
    """Another process has the lock, and writes nothing."""

    def setUp(self):
        super().setUp()
        self.holder = test_lock.Holder(self, self.nb.remote,
                                       locked_rows.PEERING_LOCK)
        self.assertEqual('held', self.holder.state)

    def waits(self, agent):
        self.eventually(lambda: self.locks(agent) == ['waiting'], 'it waits')

    def test_the_wait_is_no_failure_and_ends_with_the_holder(self):
        log = self.useFixture(fixtures.FakeLogger(level=logging.WARNING))
        agent = self.agent()
        self.agree()
        self.waits(agent)
        self.well(agent)
        # A pass that tries again leaves it as it is, and few passes come.
        passes = services.Passes(self)
        agent.trigger.fire('test', stale=[notices.PEERINGS])
        waiting.lasts(lambda: self.assertEqual(
            ([], ()), (self.ports(), agent.status.reasons)), 2)
        self.assertLess(len(passes.times), 8)
        began = time.monotonic()
        self.holder.signal(signal.SIGKILL)
        self.written()
        took = time.monotonic() - began
        print(f'{self.id()}: {took:.3f} s')
        self.assertLess(took, test_lock.HANDOVER)
        self.well(agent)
        self.assertNotIn('peering', log.output)

    def test_the_metric_tells_the_states_apart(self):
        host = f'127.79.{os.getpid() >> 8 & 255:d}.{os.getpid() & 255:d}'
        agent = self.agent(metrics__listen=f'{host}:{metrics.PORT:d}')
        listener = metrics.Listener(host)

        def states():
            found = {each: listener.value(
                'lock_state', lock=locked_rows.PEERING_LOCK, state=each.value)
                for each in lock_state.State}
            return [each for each, value in found.items() if value] if (
                set(found.values()) == {0, 1}) else found
        self.well(agent)
        self.assertEqual(dict.fromkeys(lock_state.State), states())
        self.agree()
        for expected, then in (
                (lock_state.State.WAITING, self.holder.end),
                (lock_state.State.HELD, self.nb.kill),
                (lock_state.State.NOT_CONNECTED, lambda: None)):
            self.eventually(lambda expected=expected: states() == [expected],
                            states)
            then()

    def test_a_stop_leaves_what_it_may_not_remove(self):
        self.holder.end()
        self.agree()
        agent = self.agent()
        self.written()
        self.end(agent)
        self.holder = test_lock.Holder(self, self.nb.remote,
                                       locked_rows.PEERING_LOCK)
        before = self.ports()
        agent = self.agent(network_peer__cleanup_on_stop=True)
        self.well(agent)
        began = time.monotonic()
        self.stop(agent)
        self.assertTrue(agent.complete)
        self.assertLess(time.monotonic() - began, 5)
        self.assertEqual(before, self.ports())

    def test_a_dry_run_asks_for_no_lock(self):
        self.agree()
        before = self.nb.content()
        agent = self.agent(start=False)
        steps, made = agent.plan(ovsdb.DEADLINE)
        self.assertTrue(made.settled, made)
        (verb, one), = steps
        self.assertEqual(('create', 'peering'), (verb, one.kind))
        for part in (f'[router {self.routers["r1"]}: port ona-peer-',
                     '10.0.1.1/32; routes 10.0.2.0/24 via 10.0.2.1; policies '
                     '500 drop inport == "', '600 allow inport == "',
                     '_x_ip4 = 10.0.2.0/24', '_x_ip6 = empty]'):
            self.assertIn(part, outcome.describe(one))
        self.assertEqual(before, self.nb.content())
        backend, = [each for each in agent._reconciler.backends.all
                    if each.name == 'peering']
        self.assertFalse(backend.lock.started)
        self.assertIs(lock_state.State.NOT_CONNECTED, backend.lock.state)


class StopTest(test_peering.PeeringTestCase):

    def test_the_rows_go_with_cleanup_on_stop(self):
        agent = self.agent(network_peer__cleanup_on_stop=True)
        self.agree()
        self.written()
        self.transactions.since()
        self.stop(agent)
        self.assertTrue(agent.complete)
        self.assertEqual([], self.ports())
        self.assertEqual(1, self.transactions.since())
