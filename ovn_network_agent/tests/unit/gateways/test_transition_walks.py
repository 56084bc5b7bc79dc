# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Random walks through the tables of the gateway states."""

from unittest import mock

import hypothesis
from hypothesis import strategies
from oslotest import base

from ovn_network_agent import model
from ovn_network_agent.gateways import membership
from ovn_network_agent.gateways import transitions
from ovn_network_agent.tests.unit.gateways import states

HERE, OTHER, THIRD = states.HERE, states.OTHER, states.THIRD
State, Tenure, Order = states.State, states.Tenure, states.Order
RUNNING, DRAINING, ALL = states.RUNNING, states.DRAINING, states.ALL
possible, candidate, group = states.possible, states.candidate, states.group
Node = states.Node

OWNERS = strategies.sampled_from((HERE, HERE, OTHER, THIRD, ''))
MARKS = strategies.sampled_from(('', '', 'shutdown', 'maintenance', 'unfit'))
CANDIDATES = strategies.tuples(
    strategies.integers(0, 9), MARKS, strategies.booleans())
STEPS = strategies.lists(strategies.fixed_dictionaries({
    'later': strategies.sampled_from((0, 0.3, 1, 3, 10)),
    'owner': OWNERS, 'own': CANDIDATES, 'other': CANDIDATES,
    'third': CANDIDATES, 'facts': strategies.sets(strategies.sampled_from(
        (model.Fact.UNFIT, model.Fact.ZERO_SINCE_START))),
    'drains': strategies.sampled_from((frozenset(), ALL)),
    'alive': strategies.sets(strategies.sampled_from((OTHER, THIRD)))}),
    min_size=1, max_size=20)


class WalkTest(base.BaseTestCase):
    """Whatever happens, the real classes stay within the tables."""

    def test_it_stays_within_the_tables(self):
        @hypothesis.given(STEPS, strategies.booleans(), strategies.booleans(),
                          strategies.integers(0, 20),
                          strategies.integers(1, 3))
        def walk(steps, on_shutdown, overlap, stop, last):
            node = Node(drain_on_shutdown=on_shutdown, overlap=overlap)
            state = State.UNDECIDED
            for number, step in enumerate(steps):
                phase = RUNNING if number < stop else DRAINING
                abandoned = on_shutdown and number >= stop + last
                state = self.step(node, state, phase, {
                    **step, 'facts': step['facts'] | (
                        {model.Fact.ABANDONED} if abandoned else set())})

        walk()

    def step(self, node, state, phase, step):
        """One view; what comes of it is what the table says."""
        node.now += step['later']
        made = [candidate(name, priority, mark if not priority else '')
                for name, (priority, mark, there) in (
                    (HERE, (*step['own'][:2], True)), (OTHER, step['other']),
                    (THIRD, step['third'])) if there]
        one = node.look(group(1, step['owner'], made, step['facts']),
                        phase, step['drains'], step['alive'])
        pair = state, membership.read(
            one, node.node, node.conf, one.state is State.HELD,
            one.state is State.OVERLAPPING)
        self.assertNotIn(pair, transitions.GROUP.impossible)
        self.assertIs(transitions.GROUP.rows[pair], one.state)
        self.wanted(node, one)
        return one.state

    def wanted(self, node, one):
        order = transitions.GROUP.wants[one.state].order
        wanted = node.wanted()
        if order is Order.AS_IT_IS:
            self.assertEqual({}, wanted)
        elif HERE in wanted:
            self.assertEqual(order is Order.ZERO, not wanted[HERE].priority)
        if node.port.relay and node.port.local:
            self.assertTrue(transitions.relays(one))

    def test_what_is_not_computed_would_be_the_same(self):
        made = {'views': 0, 'computed': 0}

        @hypothesis.given(STEPS, strategies.integers(1, 5))
        def walk(steps, times):
            lazy, diligent = Node(), Node()
            with mock.patch.object(
                    lazy.handovers, '_compute',
                    wraps=lazy.handovers._compute) as compute:
                for step in steps:
                    for fips in ([], ['198.51.100.9']) * times:
                        for node, anew in ((lazy, False), (diligent, True)):
                            node.look(group(1, step['owner'], [
                                candidate(HERE, *step['own'][:1]),
                                candidate(OTHER, *step['other'][:1])],
                                step['facts']), RUNNING, step['drains'],
                                step['alive'], anew, fips)
                            node.now += step['later']
                        self.assertEqual(diligent.seen, lazy.seen)
                        self.assertEqual(diligent.handovers.due_in(),
                                         lazy.handovers.due_in())
                        self.assertEqual(diligent.handovers.routers,
                                         lazy.handovers.routers)
                        made['views'] += 1
                made['computed'] += compute.call_count

        walk()
        self.assertGreater(made['views'], made['computed'])
