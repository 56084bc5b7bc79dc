# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Driver gateway_drain: random histories of a group, with OVN's choice."""

import hypothesis
from hypothesis import strategies
from oslotest import base

from ovn_network_agent import model
from ovn_network_agent.tests import budget
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import world
from ovn_network_agent.tests.unit.gateways import group_facts

ROUTER = '00000000-0000-4000-8000-000000000001'


class Group:
    """A gateway group, OVN, and an agent on each of its chassis.

    OVN gives the port to the live candidate with the highest priority, of
    equals to the one whose name sorts last (ADR 0009: seen in the lab).
    """

    def __init__(self, priorities, restore):
        self.rows = {name: model.Candidate(name, priority)
                     for name, priority in priorities.items()}
        self.neutrons = dict(priorities)
        self.alive = set(self.rows)
        self.serving = set(self.rows)
        self.unfit = set()
        self.phases = dict.fromkeys(self.rows, model.Phase.RUNNING)
        self.drains = dict.fromkeys(self.rows, frozenset())
        self.moves = []
        self.writes = 0
        self.owner = ''
        self.driver = world.driver(
            'gateway_drain', world.conf(gateway_drain__restore=restore))
        self.ovn()
        self.moves.clear()

    def ovn(self):
        """OVN looks at the group."""
        owner = max(self.alive, key=lambda name: (
            self.rows[name].priority, name))
        if owner != self.owner:
            self.moves.append((self.owner, owner))
            self.owner = owner

    def agent(self, name):
        """The agent of a chassis makes a pass, in a verified transaction.

        :returns: whether it wrote anything
        """
        if name not in self.serving & self.alive:
            return False
        seen = model.GatewayGroup(
            'HA_Chassis_Group', 'key', 'name', tuple(
                self.rows[each] for each in sorted(self.rows)),
            (model.GroupPort('cr-lrp', self.owner),), (ROUTER,),
            facts=group_facts.facts(UNFIT=name in self.unfit),
            tenure=group_facts.tenure(self.owner == name and any(
                self.rows[each].priority > self.rows[name].priority
                for each in self.alive)))
        before = dict(self.rows)
        node = cloud.node(chassis=name, phase=self.phases[name],
                          drains=self.drains[name])
        for wanted in self.driver.resources(
                group_facts.settled(seen, node, self.driver.settings), node):
            if wanted.kind != 'gateway_priority':
                continue
            assert not wanted.owned or self.owner == name
            self.rows[wanted.chassis] = self.rows[wanted.chassis]._replace(
                priority=wanted.priority,
                drained=wanted.drained, earlier=wanted.earlier)
        self.writes += self.rows != before
        return self.rows != before

    def settle(self, order=None):
        """Agents and OVN in turn, until nothing changes any more."""
        for _turn in range(20):
            owner = self.owner
            changed = [self.agent(name) for name in order or self.rows
                       if not self.ovn()]
            self.ovn()
            if not any(changed) and owner == self.owner:
                return
        raise AssertionError(f'they never agree: {self.rows}')

    def ranks(self):
        """Order of the standbys: what they have, or come back to."""
        return {name: row.priority or row.earlier
                for name, row in self.rows.items() if name != self.owner}

    # -- what happens -------------------------------------------------------

    def stop(self, name):
        """An orderly stop of the agent, the chassis goes on."""
        self.phases[name] = model.Phase.DRAINING

    def start(self, name):
        self.serving.add(name)
        self.phases[name] = model.Phase.RUNNING

    def drain(self, name):
        self.drains[name] = frozenset({model.ALL})

    def undrain(self, name):
        self.drains[name] = frozenset()

    def kill(self, name):
        """The whole node is gone."""
        if self.alive != {name}:
            self.alive.discard(name)

    def revive(self, name):
        self.alive.add(name)

    def lose(self, name):
        """Its BGP is gone."""
        self.unfit.add(name)

    def mend(self, name):
        self.unfit.discard(name)

    def neutron(self, _name):
        """Neutron writes its own numbers, in the rows that are there."""
        for name, priority in self.neutrons.items():
            self.rows[name] = self.rows[name]._replace(priority=priority)

    def replace(self, _name):
        """Neutron replaces the rows, and knows no marks."""
        for name, priority in self.neutrons.items():
            self.rows[name] = model.Candidate(name, priority)


def groups():
    """Strategy for the first priorities, dict of name to int."""
    return strategies.integers(2, 5).flatmap(
        lambda number: strategies.tuples(
            strategies.permutations('abcde'[:number]),
            strategies.sampled_from([0, 20, 32767 - number]))).map(
        lambda drawn: {name: drawn[1] + n
                       for n, name in enumerate(drawn[0], 1)})


MODES = strategies.sampled_from(['standby', 'ordered'])
NAMES = strategies.sampled_from('abcde')
ORDERS = strategies.permutations('abcde')
DRAINS = strategies.sampled_from(['stop', 'drain'])
EVENTS = strategies.lists(strategies.tuples(
    strategies.sampled_from(['stop', 'start', 'drain', 'undrain', 'kill',
                             'revive', 'neutron', 'replace', 'lose',
                             'mend']),
    NAMES, strategies.booleans(), ORDERS), min_size=1, max_size=100)
SETTINGS = hypothesis.settings(
    max_examples=budget.examples(300), deadline=None, database=None,
    suppress_health_check=list(hypothesis.HealthCheck))


class HistoryTest(base.BaseTestCase):

    @SETTINGS
    @hypothesis.given(groups(), MODES, EVENTS)
    def test_whatever_happens_they_agree_and_the_numbers_stay_small(
            self, priorities, mode, events):
        # Row DRN-15, trap T28b: nobody drives the numbers up.
        group = Group(priorities, mode)
        bound = max(100, *priorities.values())
        for what, name, wait, order in events:
            if name not in priorities:
                continue
            getattr(group, what)(name)
            order = [each for each in order if each in priorities]
            if wait:
                group.settle(order)
            else:
                group.agent(order[0])
            for row in group.rows.values():
                self.assertTrue(0 <= row.priority <= bound, row)
                self.assertTrue(0 <= row.earlier <= bound, row)
        group.settle()
        writes = group.writes
        group.settle()
        self.assertEqual(writes, group.writes)

    @SETTINGS
    @hypothesis.given(groups(), MODES, strategies.lists(
        strategies.tuples(NAMES, strategies.sampled_from(
            ['stop', 'drain', 'kill'])), min_size=1, max_size=100))
    def test_one_node_after_the_other(self, priorities, mode, rounds):
        # Rows DRN-08, DRN-09 and DRN-11, trap T10.
        group = Group(priorities, mode)
        group.settle()
        self.assertEqual([], group.moves)
        for name, how in rounds:
            if name in priorities:
                self.leave_and_return(group, name, how, mode)

    def leave_and_return(self, group, name, how, mode):
        before, had = group.ranks(), group.owner
        getattr(group, how)(name)
        group.settle()
        self.assertNotEqual(name, group.owner)
        # One move if it had the port, else none.
        self.assertEqual([(name, group.owner)] if had == name else [],
                         group.moves)
        group.moves.clear()
        for undo in ('start', 'undrain', 'revive'):
            getattr(group, undo)(name)
        group.settle()
        self.assertEqual([], group.moves)
        # The owner is ahead of all, by 2 at least of what is drained.
        lead = group.rows[group.owner].priority
        self.assertGreaterEqual(lead, 2)
        for row in group.rows.values():
            self.assertTrue(row.chassis == group.owner or
                            1 <= row.priority < lead, group.rows)
            self.assertEqual(('', 0), (row.drained, row.earlier))
        if mode == 'ordered':
            self.same_order(before, group.ranks())

    def same_order(self, before, after):
        """Of those that were standbys and are."""
        names = before.keys() & after.keys()
        for one in names:
            for other in names:
                if before[one] < before[other]:
                    self.assertLess(after[one], after[other])

    @SETTINGS
    @hypothesis.given(groups(), MODES, strategies.lists(
        strategies.tuples(NAMES, strategies.booleans(), ORDERS), min_size=1,
        max_size=30))
    def test_nothing_moves_because_bgp_comes_and_goes(
            self, priorities, mode, rounds):
        # Also not when it is gone everywhere: a spine that fails.
        group = Group(priorities, mode)
        group.settle()
        before = group.ranks()
        for name, fails, order in rounds:
            if name in priorities:
                (group.lose if fails else group.mend)(name)
                group.settle([n for n in order if n in priorities])
            for row in group.rows.values():
                standby = row.chassis != group.owner
                self.assertEqual(standby and row.chassis in group.unfit,
                                 row.priority == 0, group.rows)
        for name in priorities:
            group.lose(name)
        group.settle()
        self.assertEqual({group.owner}, {
            row.chassis for row in group.rows.values() if row.priority})
        for name in priorities:
            group.mend(name)
        group.settle()
        self.assertEqual([], group.moves)
        if mode == 'ordered':
            self.same_order(before, group.ranks())

    @SETTINGS
    @hypothesis.given(groups(), MODES, strategies.sets(NAMES), DRAINS, ORDERS)
    def test_what_is_drained_goes_to_one_that_could_announce(
            self, priorities, mode, unfit, how, order):
        order = [name for name in order if name in priorities]
        group = Group(priorities, mode)
        group.settle()
        first = group.owner
        for name in unfit:
            group.lose(name)
        group.settle(order)
        getattr(group, how)(first)
        group.settle(order)
        if priorities.keys() - unfit - {first}:
            self.assertNotIn(group.owner, unfit | {first})
        else:
            self.assertEqual(first, group.owner)
            self.assertGreater(group.rows[first].priority, 0)
            # Until one can.
            back = next(n for n in order if n != first)
            group.mend(back)
            group.settle(order)
            self.assertEqual(back, group.owner)
        self.assertEqual(1, len(group.moves))

    @SETTINGS
    @hypothesis.given(groups(), ORDERS, ORDERS, DRAINS)
    def test_several_are_away_at_once(self, priorities, away, back, how):
        # Trap T28: in mode ordered they come back to their places in any
        # order.
        group = Group(priorities, 'ordered')
        group.settle()
        last = group.owner
        before = group.ranks()
        away = [n for n in away if n in priorities and n != last]
        for name in away:
            getattr(group, how)(name)
            group.settle()
        self.assertEqual([], group.moves)
        self.assertEqual(before, group.ranks())
        for name in back:
            if name in away:
                group.start(name)
                group.undrain(name)
                group.settle()
        self.assertEqual([], group.moves)
        self.same_order(before, group.ranks())

    @SETTINGS
    @hypothesis.given(groups(), MODES, NAMES, strategies.sampled_from(
        ['neutron', 'replace']), ORDERS)
    def test_neutron_writes_its_numbers_again(
            self, priorities, mode, drained, how, order):
        # They agree again.  Where the owner is the first in its numbers,
        # but for one that is drained, nothing moves.
        order = [name for name in order if name in priorities]
        group = Group(priorities, mode)
        if drained in priorities:
            group.drain(drained)
            group.settle(order)
        group.moves.clear()
        owner = group.owner
        getattr(group, how)(None)
        # The drained one is faster than OVN.
        for name in order:
            group.agent(name)
        group.settle(order)
        first = max(priorities.keys() - {drained}, key=priorities.get)
        self.assertEqual(first, group.owner)
        self.assertEqual([] if owner == first else [(owner, first)],
                         group.moves)
        if drained in priorities:
            row = group.rows[drained]
            self.assertEqual((0, 'maintenance'), (row.priority, row.drained))
            self.assertGreater(row.earlier, 0)
        self.same_order({n: p for n, p in priorities.items()
                         if n != first}, group.ranks())
