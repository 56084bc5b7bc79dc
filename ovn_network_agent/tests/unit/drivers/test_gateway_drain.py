# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Driver gateway_drain: who keeps the lead, and who is a standby again."""

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit.drivers import base
from ovn_network_agent.tests.unit.gateways import group_facts

HERE, OTHER, THIRD = cloud.CHASSIS, cloud.OTHER, 'third'
DRAINING = model.Phase.DRAINING


def group(own, *peers, owner=HERE, known=True, own_marks=('', 0),
          peer_marks=('', 0), restore=False, unfit=False, moving=False,
          **values):
    """A group of this chassis and others, with one port.

    :param known: whether the others are in SB
    :param own_marks: (why, earlier) of this one; likewise those of others
        that are at 0
    """
    names = (OTHER, THIRD)
    candidates = [model.Candidate(
        chassis, priority, known, drained='' if priority else peer_marks[0],
        earlier=0 if priority else peer_marks[1])
        for chassis, priority in zip(names, peers, strict=False)]
    if own is not None:
        candidates.append(model.Candidate(
            HERE, own, drained=own_marks[0], earlier=own_marks[1]))
    return model.GatewayGroup(**{
        'table': 'Gateway_Chassis', 'key': 'some', 'name': 'lrp-1',
        'candidates': tuple(sorted(candidates, key=lambda c: c.chassis)),
        'ports': (model.GroupPort('cr-lrp-1', owner),),
        'facts': group_facts.facts(ZERO_SINCE_START=restore, UNFIT=unfit),
        'tenure': group_facts.tenure(moving), **values})


def ports(*owners):
    """Ports of a shared group."""
    return tuple(model.GroupPort(f'cr-lrp-{n}', owner)
                 for n, owner in enumerate(owners))


class GatewayDrainTest(base.DriverTestCase):

    name = 'gateway_drain'

    def priorities(self, one, phase=model.Phase.RUNNING, drains=(), held=False,
                   **options):
        """What becomes of the priorities, dict of chassis to int."""
        options = {'gateway_drain__' + key: value
                   for key, value in options.items()}
        node = cloud.node(phase=phase, drains=frozenset(drains))
        self.found = self.of(resources.GatewayPriority, group_facts.settled(
            one, node, self.driver(**options).settings, held), node, **options)
        return {r.chassis: r.priority for r in self.found}

    def becomes(self, wanted, *args, marks=None, **options):
        """Compare what becomes of the priorities.

        :param marks: dict of chassis to (why, earlier), too
        """
        self.assertEqual(wanted, self.priorities(*args, **options))
        if marks is not None:
            self.assertEqual(marks, {
                r.chassis: (r.drained, r.earlier) for r in self.found})

    def test_the_timers_of_bfd(self):
        """While the agent runs, and with a name in SB."""
        timers = {'ovn__bfd_min_rx': 200, 'ovn__bfd_min_tx': 300,
                  'ovn__bfd_mult': 4}
        wanted = resources.BfdTimers(cloud.CHASSIS, 200, 300, 4)
        phases = model.Phase
        for options, phase, chassis, found in (
                (timers, phases.RUNNING, cloud.CHASSIS, [wanted]),
                (timers, phases.DRAINING, cloud.CHASSIS, [wanted]),
                (timers, phases.STOPPED, cloud.CHASSIS, []),
                (timers, phases.RESTORING, cloud.CHASSIS, []),
                (timers, phases.RUNNING, '', []),
                ({}, phases.RUNNING, cloud.CHASSIS, [])):
            node = cloud.node(phase=phase, chassis=chassis)
            self.assertEqual(found, self.wanted(node, node, **options))

    def test_the_active_chassis_takes_the_lead(self):
        # Rows DRN-09 and DRN-12, trap T10.
        for lead, *priorities in ((3, 1, 2), (3, 2, 2), (2, 1, 1), (2, 1, 0),
                                  (2, 0, 0), (31, 5, 30, 20)):
            self.becomes({HERE: lead}, group(*priorities))

    def test_established_it_writes_nothing(self):
        # Row DRN-10.
        for priorities in (2, 1), (3, 2, 1), (32767, 1), (2, 0):
            self.becomes({}, group(*priorities))

    def test_a_standby_writes_nothing(self):
        for owner in (OTHER, '', 'unknown'):
            for own in (0, 1, 7):
                self.becomes({}, group(own, 5, owner=owner))

    def test_no_row_or_no_peer(self):
        # Row DRN-13.
        self.becomes({}, group(1))
        self.becomes({}, group(None, 1, 2))

    def test_numbers_stay_small(self):
        # Row DRN-15, trap T28b.
        self.becomes({HERE: 3, OTHER: 2, THIRD: 1}, group(5, 32767, 9))
        self.becomes({HERE: 2, OTHER: 1, THIRD: 1}, group(5, 32767, 32767))
        # What is at 0 stays so.
        self.becomes({HERE: 2, OTHER: 1}, group(0, 100, 0))

    def test_drained_it_is_a_standby_again(self):
        # Row DRN-08, trap T12.
        self.becomes({HERE: 1}, group(0, 2, owner=OTHER, restore=True))
        # Somebody has set it to 0 since the start: that counts.
        self.becomes({}, group(0, 2, owner=OTHER))

    def test_stopping_it_lowers_itself(self):
        # Row DRN-02, A-02: active or not, and no other candidate.
        for owner in (HERE, OTHER, ''):
            self.becomes({HERE: 0}, group(5, 2, 1, owner=owner), DRAINING,
                         marks={HERE: ('shutdown', 5)})
        # The owner need not be confirmed for that.
        self.assertEqual([()], [r.owned for r in self.found])
        # Held back it is not lowered yet.
        self.becomes({}, group(5, 2, 1), DRAINING, held=True)

    def test_what_is_lowered_stays_so(self):
        for why in ('shutdown', 'maintenance'):
            self.becomes({HERE: 0}, group(0, 2, own_marks=(why, 7)), DRAINING,
                         marks={HERE: (why, 7)})
        # Somebody has raised it meanwhile: that counts.
        self.becomes({HERE: 0}, group(3, 2, own_marks=('shutdown', 7)),
                     DRAINING, marks={HERE: ('shutdown', 3)})
        # It was at 0 before, and nobody knows why.
        self.becomes({}, group(0, 2), DRAINING)

    def test_drain_on_shutdown_is_off(self):
        # Row DRN-06.
        self.becomes({}, group(5, 2), DRAINING, drain_on_shutdown=False)
        # What an operator wants does not depend on it.
        self.becomes({HERE: 0}, group(5, 2), DRAINING, {model.ALL},
                     marks={HERE: ('maintenance', 5)}, drain_on_shutdown=False)

    def test_maintenance(self):
        here = group(5, 2, routers=('r1', 'r2'))
        for drains in ({model.ALL}, {'r1'}, {'r2', 'r9'}):
            self.becomes({HERE: 0}, here, marks={HERE: ('maintenance', 5)},
                         drains=drains)
        self.becomes({HERE: 6}, group(5, 5, routers=('r1',)), drains={'r2'})
        # It outlasts a stop, and what was lowered for a stop becomes that.
        for phase in (model.Phase.RUNNING, DRAINING):
            for why in ('shutdown', 'maintenance'):
                self.becomes({HERE: 0}, group(0, 2, own_marks=(why, 7)), phase,
                             {model.ALL}, marks={HERE: ('maintenance', 7)})

    def test_a_standby_that_could_not_announce(self):
        self.becomes({HERE: 0}, group(1, 2, owner=OTHER, unfit=True),
                     marks={HERE: ('unfit', 1)})
        self.assertEqual([()], [r.owned for r in self.found])
        # It stays so, also while a port is nowhere for a moment.
        for owner in (OTHER, ''):
            self.becomes({HERE: 0}, group(
                0, 2, owner=owner, own_marks=('unfit', 1), unfit=True),
                marks={HERE: ('unfit', 1)})
        # Until it could.
        for restore, earlier, priority in (
                ('standby', 7, 1), ('ordered', 3, 3), ('ordered', 9, 4)):
            self.becomes(
                {HERE: priority},
                group(0, 5, owner=OTHER, own_marks=('unfit', earlier)),
                marks={HERE: ('', 0)}, restore=restore)

    def test_who_could_not_announce_and_has_the_port_keeps_it(self):
        self.becomes({HERE: 3}, group(1, 2, unfit=True))
        self.becomes({}, group(3, 2, unfit=True))
        # It took it as the only one that was left: the first one that can
        # announce it is to have it.
        self.becomes({}, group(0, 0, own_marks=('unfit', 1), unfit=True))
        self.becomes({HERE: 2}, group(0, 0, own_marks=('unfit', 1)),
                     marks={HERE: ('', 0)})

    def test_a_port_that_is_nowhere_makes_no_standby(self):
        # Decision record 0009: for some milliseconds, of an owner, too.
        self.becomes({}, group(3, 2, owner='', unfit=True))
        # Of a shared group it has one.
        for owner in '', HERE:
            self.becomes({}, group(3, 2, ports=ports(OTHER, owner),
                                   unfit=True))

    def test_without_another_candidate_it_stays_one(self):
        for alone in (group(1, unfit=True, owner=OTHER),
                      group(1, 0, unfit=True, owner=OTHER),
                      group(1, 2, unfit=True, owner=OTHER, known=False)):
            self.becomes({}, alone)

    def test_what_else_it_is_lowered_for(self):
        # What somebody has set to 0 is not its own.
        self.becomes({}, group(0, 2, owner=OTHER, unfit=True))
        # What an operator wants, and a stop, say more than that.
        one = group(0, 2, owner=OTHER, own_marks=('unfit', 7), unfit=True)
        for phase, drains, why in (
                (model.Phase.RUNNING, {model.ALL}, 'maintenance'),
                (DRAINING, (), 'shutdown')):
            self.becomes({HERE: 0}, one, phase, drains, marks={HERE: (why, 7)})
        # And when these are over, it is that.
        for why in ('shutdown', 'maintenance', 'unfit'):
            self.becomes({HERE: 0}, group(
                0, 2, owner=OTHER, own_marks=(why, 7), unfit=True),
                marks={HERE: ('unfit', 7)})

    def test_nobody_fit_to_take_over(self):
        unfit = {'peer_marks': ('unfit', 3)}
        for drains, phase in ((), DRAINING), ({model.ALL},
                                              model.Phase.RUNNING):
            self.becomes({}, group(5, 0, 0, **unfit), phase, drains)
            # One is enough.
            self.becomes({HERE: 0}, group(5, 0, 1, **unfit), phase, drains)

    def test_nobody_to_take_over(self):
        # A-03, row DRN-04, trap T14: it is the only one, or the only one
        # that is there and not drained.
        for alone in (group(5), group(5, 0), group(5, 2, known=False),
                      group(5, 0, 0, peer_marks=('shutdown', 3))):
            self.becomes({}, alone, DRAINING)
            self.becomes({}, alone, drains={model.ALL})
        # One is enough.
        self.becomes({HERE: 0}, group(5, 0, 1), DRAINING)

    def test_drained_it_never_takes_the_lead(self):
        # It is the only one alive, or was not lowered: OVN gave it the port.
        for own, peer in ((0, 0), (0, 2), (1, 0)):
            alone = group(own, peer, known=False,
                          own_marks=('' if own else 'maintenance', 0))
            self.assertNotIn(True, [p > own for p in self.priorities(
                alone, drains={model.ALL}).values()])
        # Until that ends.
        self.becomes({HERE: 2}, group(0, 0, own_marks=('maintenance', 7)),
                     marks={HERE: ('', 0)})

    def test_the_mark_goes_with_the_priority(self):
        for why in ('shutdown', 'maintenance'):
            self.becomes({HERE: 1},
                         group(0, 2, owner=OTHER, own_marks=(why, 7)),
                         marks={HERE: ('', 0)})
            # Also from one that somebody has raised by hand.
            for owner in (HERE, OTHER):
                self.becomes({HERE: 4},
                             group(4, 2, owner=owner, own_marks=(why, 7)),
                             marks={HERE: ('', 0)})

    def test_a_standby_does_not_take_the_port_from_an_owner_at_1(self):
        # Row DRN-11: of equals OVN takes the one whose name sorts last.
        self.becomes({HERE: 1, OTHER: 2},
                     group(0, 1, owner=OTHER, restore=True))
        # One that is drained, too, has nothing to keep.
        self.becomes({HERE: 1}, group(0, 0, owner=OTHER, restore=True))

    def test_it_comes_back_to_its_place(self):
        # A-05, trap T28: own, owner and standby; what becomes of all.
        for earlier, owner, third, wanted in (
                (3, 5, 1, {HERE: 3}),
                (3, 5, 4, {HERE: 3}),
                (9, 5, 1, {HERE: 4}),
                # No room between the two.
                (3, 2, 1, {HERE: 2, OTHER: 3, THIRD: 1}),
                (9, 5, 4, {HERE: 2, OTHER: 3, THIRD: 1}),
                # It was behind it before.
                (1, 5, 4, {HERE: 1}),
                (0, 5, 4, {HERE: 1})):
            one = group(0, owner, third, owner=OTHER,
                        own_marks=('shutdown', earlier))
            self.becomes(wanted, one, restore='ordered')
            # That is what the other mode does not do.
            self.becomes({HERE: 1}, one)

    def test_the_place_of_another_that_is_drained_is_kept(self):
        # It was before this one, which must not get ahead of it.
        one = group(0, 32765, 0, owner=OTHER, own_marks=('shutdown', 32767),
                    peer_marks=('shutdown', 32766))
        self.becomes(
            {HERE: 2, OTHER: 3, THIRD: 0}, one,
            marks={HERE: ('', 0), OTHER: ('', 0), THIRD: ('shutdown', 1)},
            restore='ordered')

    def test_ports_that_are_about_to_move_do(self):
        # Somebody has given another one more than the owner: coming back
        # does not give the owner the lead again.
        one = group(0, 1, 5, owner=OTHER, restore=True)
        self.becomes({HERE: 1}, one)
        # That one is not there.
        gone = tuple(c._replace(known=c.chassis != THIRD)
                     for c in one.candidates)
        self.becomes({HERE: 1, OTHER: 3, THIRD: 2},
                     one._replace(candidates=gone))
        # Some have moved, and some have not yet.
        self.becomes({HERE: 1}, group(0, 1, 1, ports=ports(OTHER, THIRD),
                                      restore=True))

    def test_the_owner_waits_while_somebody_moves_its_ports(self):
        self.becomes({}, group(2, 5, moving=True))
        self.becomes({HERE: 6}, group(2, 5))
        # Drained it is lowered all the same, and then goes on being so.
        self.becomes({HERE: 0}, group(2, 5, moving=True), DRAINING)

    def test_nobody_has_the_port(self):
        self.becomes({HERE: 7},
                     group(0, 5, owner='', own_marks=('shutdown', 7)),
                     restore='ordered')

    def test_a_shared_group(self):
        shared = group(1, 2, table='HA_Chassis_Group',
                       ports=ports(HERE, HERE, ''))
        self.becomes({HERE: 3}, shared)
        # All that are somewhere have to be here when it is written.
        self.assertEqual({('cr-lrp-0', 'cr-lrp-1')},
                         {r.owned for r in self.found})
        self.becomes({}, group(1, 2, ports=ports(HERE, OTHER)))
        self.becomes({}, group(1, 2, ports=()))

    def test_what_it_was_decided_on_goes_along(self):
        self.priorities(group(5, 32767))
        for resource in self.found:
            self.assertEqual({HERE: 5, OTHER: 32767}, dict(resource.before))
            self.assertEqual({HERE: 2, OTHER: 1}, dict(resource.after))

    def test_at_the_end_nothing(self):
        for phase in (model.Phase.RESTORING, model.Phase.STOPPED):
            self.becomes({}, group(1, 2), phase)

    def test_it_comes_after_all_that_makes_reachable(self):
        # Row LOOP-03.
        self.assertEqual(resources.Stage.LEAD, max(resources.Stage))
        self.assertEqual(resources.Stage.LEAD, resources.GatewayPriority.stage)
