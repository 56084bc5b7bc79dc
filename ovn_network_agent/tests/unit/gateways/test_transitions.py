# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The tables of the gateway states, and the code that follows them."""

import itertools

from oslotest import base

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.gateways import departure
from ovn_network_agent.gateways import handover
from ovn_network_agent.gateways import membership
from ovn_network_agent.gateways import transitions
from ovn_network_agent.tests import tools
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import world
from ovn_network_agent.tests.unit.gateways import states

HERE, OTHER, THIRD = states.HERE, states.OTHER, states.THIRD
State, Situation, Tenure = states.State, states.Situation, states.Tenure
Place, Order, ALL = states.Place, states.Order, states.ALL
ADDRESSES, LATER, possible = states.ADDRESSES, states.LATER, states.possible
conf, candidate, group = states.conf, states.candidate, states.group
Node, Places = states.Node, states.Places

Passage = transitions.Passage
Stage, Progress = transitions.Stage, transitions.Progress
# The situation by which each state is entered, straight from the start.
ENTRIES = {after: condition for (state, condition), after
           in transitions.GROUP.rows.items() if state is State.UNDECIDED}
# What leads to each tenure, from the start.
PATHS = {
    Tenure.NEW: (), Tenure.ELSEWHERE: (Place.NO_PORT,),
    Tenure.FIRST: (Place.FIRST,), Tenure.OUTRANKED: (Place.RAISED,),
    Tenure.OVERDUE: (Place.RAISED, Place.OVER),
    Tenure.CONTESTED: (Place.NO_PORT, Place.ANSWERED),
    Tenure.INHERITED: (Place.NO_PORT, Place.SILENT),
    Tenure.LINGERING: (Place.NO_PORT, Place.ANSWERED, Place.PREVIOUS_ANSWERS)}


class TablesTest(base.BaseTestCase):

    def test_each_pair_is_there_once(self):
        for table in transitions.TABLES:
            pairs = set(itertools.product(table.states, table.conditions))
            self.assertEqual(pairs, set(table.rows))
            self.assertLess(table.impossible, pairs)
            self.assertEqual(set(table.states), set(table.wants))
            self.assertEqual({*table.states, *table.conditions},
                             set(table.meanings))

    def test_each_state_is_reached_and_left(self):
        for table in transitions.TABLES:
            reached = {next(iter(table.states))}
            while True:
                more = reached | {table.rows[pair] for pair
                                  in possible(table) if pair[0] in reached}
                if more == reached:
                    break
                reached = more
            self.assertEqual(set(table.states), reached)
            self.assertEqual(set(table.states), {
                pair[0] for pair in possible(table)
                if table.rows[pair] is not pair[0]})

    def test_each_condition_occurs(self):
        for table in transitions.TABLES:
            self.assertEqual(set(table.conditions),
                             {pair[1] for pair in possible(table)})

    def test_no_state_leads_on_without_another_condition(self):
        """Handovers are not computed for views that are like the last."""
        for table in transitions.TABLES:
            for state, condition in possible(table):
                after = table.rows[state, condition]
                self.assertIs(after, table.rows[after, condition])

    def test_what_moves_is_relayed(self):
        for each in Tenure:
            one = model.GatewayGroup('Gateway_Chassis', tenure=each)
            self.assertEqual(one.moving, transitions.relays(one))

    def test_the_picture_is_that_of_the_tables(self):
        states = tools.load('gateway_states')
        self.assertEqual(states.picture(), states.PICTURE.read_text(),
                         'make it anew: tools/gateway_states.py --write')


class GroupTest(base.BaseTestCase):
    """Each row of the table of states, with the real classes."""

    def test_each_row(self):
        rows = possible(transitions.GROUP)
        self.assertGreater(len(rows), 190)
        for state, condition in rows:
            node = Node(drain_on_shutdown=False)
            places = Places(node, state in (State.KEPT, State.FORSAKEN))
            if state is not State.UNDECIDED:
                places.play(ENTRIES[state])
                self.assertIs(state, node.group.state)
                node.now += 1 if condition is Situation.OVERLAP else LATER
            places.play(condition)
            self.assertIs(transitions.GROUP.rows[state, condition],
                          node.group.state, (state, condition))
            self.check(node, (state, condition))

    def check(self, node, what):
        """What the drivers want is what the table says."""
        wants = transitions.GROUP.wants[node.group.state]
        wanted = node.wanted()
        own = wanted.pop(HERE, None)
        self.assertEqual({}, wanted, what)
        before = node.group.candidate(HERE)
        highest = max((c.priority for c in node.group.peers(HERE)), default=0)
        if wants.order is Order.AS_IT_IS:
            self.assertIsNone(own, what)
        elif wants.order is Order.ZERO:
            self.assertEqual((0, 'maintenance'), (
                own.priority, own.drained), what)
        else:
            self.assertEqual('', own.drained, what)
            self.assertTrue({
                Order.LEAD: own.priority > highest,
                Order.UNMARK: own.priority == before.priority > 0,
                Order.STANDBY: 0 < own.priority < highest,
            }[wants.order], what)
        if node.port.local and node.group.state not in (State.ALONE,
                                                        State.HELD):
            self.assertEqual(wants.relay, bool(node.port.relay), what)

    def test_patience_ends(self):
        node = Node(drain_on_shutdown=False, overlap=False)
        places = Places(node, False)
        for now, state in ((0, State.HELD), (4.9, State.HELD),
                           (5, State.LEAVING), (6, State.LEAVING)):
            node.now = 1000.0 + now
            places.play(Situation.HOLD)
            self.assertIs(state, node.group.state)

    def test_what_is_abandoned_waits_for_nothing(self):
        for overlap_first, alive in ((False, ()), (True, (OTHER, THIRD))):
            node = Node(drain_on_shutdown=False)
            places = Places(node, True)
            if overlap_first:
                places.play(Situation.OVERLAP)
                self.assertIs(State.OVERLAPPING, node.group.state)
            places.facts = (model.Fact.ABANDONED,)
            places.look(drains=ALL, alive=alive)
            self.assertIs(State.LEAVING, node.group.state)
            self.assertEqual(0, node.wanted()[HERE].priority)

    def test_without_the_phase_nothing_is_remembered(self):
        node = Node(drain_on_shutdown=False)
        places = Places(node, False)
        for phase in (model.Phase.RESTORING, model.Phase.STOPPED):
            places.play(Situation.MOVE)
            places.look(phase=phase)
            self.assertEqual((State.UNDECIDED, Tenure.NEW), (
                node.group.state, node.group.tenure))
            self.assertEqual({}, node.wanted())


class TenureTest(base.BaseTestCase):
    """Each row of the table of tenures, with the real classes."""

    def setUp(self):
        super().setUp()
        self.number = itertools.count(10)
        self.other = next(self.number)

    def play(self, node, place):
        owner = OTHER if place is Place.NO_PORT else HERE
        own = 5
        if place is Place.RAISED:
            self.other = next(self.number)
        elif place is Place.OVER:
            node.now += membership.MOVE
        elif place in (Place.PREVIOUS_ANSWERS, Place.FIRST):
            own = self.other
        node.look(group(1, owner, (candidate(HERE, own),
                                   candidate(OTHER, self.other))),
                  alive=() if place in (Place.SILENT, Place.FIRST) else (
                      OTHER,))

    def test_each_row(self):
        rows = possible(transitions.TENURE)
        self.assertGreater(len(rows), 30)
        for state, place in rows:
            node = Node()
            for step in PATHS[state]:
                self.play(node, step)
            if PATHS[state]:
                self.assertIs(state, node.group.tenure)
            self.play(node, place)
            self.assertIs(transitions.TENURE.rows[state, place],
                          node.group.tenure, (state, place))
            if node.port.local and place not in (Place.SILENT, Place.FIRST):
                self.assertEqual(
                    transitions.TENURE.wants[node.group.tenure].relay,
                    bool(node.port.relay), (state, place))

    def test_one_of_two_that_are_before_it_goes(self):
        """Nobody has got before it by that, and no time begins anew."""
        node = Node()
        for later, third, wanted in (
                (0, 9, Tenure.OUTRANKED),
                (membership.MOVE - 1, 1, Tenure.OUTRANKED),
                (1, 1, Tenure.OVERDUE)):
            node.now += later
            node.look(group(1, HERE, (candidate(HERE, 5), candidate(
                OTHER, 8), candidate(THIRD, third))))
            self.assertIs(wanted, node.group.tenure)

    def test_the_former_owner_is_forgotten_in_time(self):
        node = Node()
        for step in PATHS[Tenure.LINGERING]:
            self.play(node, step)
        node.now += membership.LINGER
        self.play(node, Place.PREVIOUS_ANSWERS)
        self.assertIs(Tenure.FIRST, node.group.tenure)


class PortTest(base.BaseTestCase):
    """Each row of the table of handovers, with the real classes."""

    # What leads to each handover.
    PATHS = {model.Handover.NONE: (),
             model.Handover.ANNOUNCE: (Passage.HERE, Passage.AWAITED),
             model.Handover.FORWARD: (Passage.HERE, Passage.ENOUGH)}

    def play(self, node, passage):
        if passage is Passage.SETTLED:
            node.now += handover.SETTLE
        node.look(group(
            1, HERE if passage is Passage.HERE else OTHER,
            (candidate(HERE, 1), candidate(OTHER, 2))),
            alive=(OTHER,) if passage is Passage.AWAITED else ())

    def test_each_row(self):
        rows = possible(transitions.PORT)
        self.assertEqual(10, len(rows))
        for state, passage in rows:
            node = Node()
            path = self.PATHS[state]
            if state is model.Handover.NONE and passage in (
                    Passage.AWAITED, Passage.ENOUGH):
                path = (Passage.HERE,)
            for step in path:
                self.play(node, step)
            if path:
                self.assertIs(state, node.port.handover)
            self.play(node, passage)
            self.assertIs(transitions.PORT.rows[state, passage],
                          node.port.handover, (state, passage))

    def test_what_the_drivers_want(self):
        driver = world.driver('fip_route', world.conf())
        for state, wants in transitions.PORT.wants.items():
            router = cloud.router(1, ['198.51.100.11'], ports=(cloud.port(
                1, chassis=OTHER, local=False, handover=state),))
            kinds = {r.kind for r in world.wanted(
                driver, router, cloud.node())}
            self.assertEqual(wants.announce, bool(kinds & {
                resources.Announcement.kind, resources.AnnouncedRoute.kind}))
            self.assertEqual(wants.forward,
                             resources.KernelRoute.kind in kinds)


class OverlapTest(base.BaseTestCase):
    """Each row of the table of the overlap, with the real class."""

    # What leads to each stage.
    PATHS = {Stage.NONE: (), Stage.TAKING: (Progress.HERE,),
             Stage.INSTALLING: (Progress.HERE, Progress.LEFT),
             Stage.CHANGING: (Progress.HERE, Progress.READY),
             Stage.OVER: (Progress.HERE, Progress.ENDED)}

    def play(self, made, progress):
        """One view; what the overlap makes of it."""
        self.now += {Progress.ENDED: departure.LONGEST,
                     Progress.READY: departure.TAKE}.get(progress, 0)
        if progress is Progress.LEFT:
            self.owner = OTHER
        elif progress is Progress.HERE:
            self.owner = HERE
        one = group(1, self.owner, (candidate(HERE, 5), candidate(OTHER, 1)))
        if progress is Progress.REFUSED:
            one = one._replace(candidates=tuple(
                c._replace(address='') for c in one.candidates))
        self.key = departure.key(one)
        self.seen = made.plan(
            (one,), cloud.node(drains=frozenset() if progress is
                               Progress.NOTHING else ALL), self.now,
            frozenset({self.key} if progress is Progress.WAITING else ()))

    def start(self, stage, progress):
        """An overlap in a stage, before that progress."""
        self.now, self.owner = 1000.0, HERE
        made = departure.Overlap(conf(overlap=True))
        for step in self.PATHS[stage]:
            self.play(made, step)
        if (stage, progress) == (Stage.CHANGING, Progress.HERE):
            # Early enough for one that comes back.
            made = self.start(Stage.INSTALLING, None)
            self.now += departure.INSTALL
            self.play(made, None)
        self.assertIs(stage, made.stage)
        return made

    def test_each_row(self):
        rows = possible(transitions.OVERLAP)
        self.assertEqual(21, len(rows))
        for stage, progress in rows:
            made = self.start(stage, progress)
            self.play(made, progress)
            after = transitions.OVERLAP.rows[stage, progress]
            self.assertIs(after, made.stage, (stage, progress))
            wants = transitions.OVERLAP.wants[after]
            held, addresses, due = self.seen
            self.assertEqual({self.key} if wants.hold else set(), held)
            self.assertEqual((ADDRESSES[OTHER],) if wants.overlap else (),
                             addresses)
            self.assertEqual(wants.overlap, due is not None)
