# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""When others take over before this chassis lets go."""

import dataclasses
import threading

from oslotest import base

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.gateways import departure
from ovn_network_agent.gateways import drain
from ovn_network_agent.gateways import handover
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import world

HERE, OTHER, THIRD = cloud.CHASSIS, cloud.OTHER, 'third'
DRAINING = {'phase': model.Phase.DRAINING}
DRIVERS = ['fip_route', 'veth_leak', 'gateway_drain']


def group(number=1, owner=HERE, own=2, other=1, third=0, address='192.0.2.2',
          applied=None, facts=()):
    return model.GatewayGroup(
        'Gateway_Chassis', f'key-{number:d}', f'lrp-{number:d}', (
            model.Candidate(HERE, own, True, '192.0.2.1', 'geneve',
                            applied=applied),
            model.Candidate(OTHER, other, True, address, 'geneve'),
            model.Candidate(THIRD, third, True, '192.0.2.3', 'geneve')),
        (model.GroupPort(f'cr-lrp-{number:d}', owner, f'lrp-{number:d}'),),
        (f'router-{number:d}',), frozenset(facts))


class OverlapTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.now = 1000.0
        self.make()

    def make(self, **values):
        self.handovers = handover.Handovers(
            world.conf(**{'drivers': DRIVERS, 'gateway_drain__overlap': True,
                          'gateway_drain__relay': False, **values}),
            lambda: self.now)

    def view(self, *groups, **node):
        """What is wanted of the others, and which groups are held."""
        self.seen = self.handovers.update(dataclasses.replace(
            cloud.snapshot(**node), groups=groups))
        return self.seen.node.overlap, [g.held for g in self.seen.groups]

    def test_until_others_have_taken_over(self):
        """First they take over, then the order changes, then it ends."""
        self.assertEqual(((), [False]), self.view(group()))
        for _again in range(2):
            self.assertEqual((('192.0.2.2',), [True]),
                             self.view(group(), **DRAINING))
        self.assertEqual(departure.TAKE, self.handovers.due_in())
        self.now += 0.3
        self.assertEqual((('192.0.2.2',), [True]),
                         self.view(group(owner=OTHER), **DRAINING))
        self.assertAlmostEqual(departure.INSTALL, self.handovers.due_in())
        self.now += departure.INSTALL
        self.assertEqual((('192.0.2.2',), [False]),
                         self.view(group(owner=OTHER), **DRAINING))
        self.now += 0.1
        lowered = group(owner=OTHER, own=0)
        self.assertEqual((('192.0.2.2',), [False]),
                         self.view(lowered, **DRAINING))
        self.assertAlmostEqual(departure.SWITCH, self.handovers.due_in())
        self.now += departure.SWITCH
        for _again in range(2):
            self.assertEqual(((), [False]), self.view(lowered, **DRAINING))

    def test_the_chassis_go_by_the_southbound_database(self):
        """ovn-northd copies the new order; only then compute nodes switch."""
        self.view(group(), **DRAINING)
        self.view(group(owner=OTHER, applied=2), **DRAINING)
        self.now += departure.INSTALL
        late = group(owner=OTHER, own=0, applied=2)
        self.assertEqual((('192.0.2.2',), [False]),
                         self.view(late, **DRAINING))
        self.now += departure.SWITCH + 1
        self.assertEqual((('192.0.2.2',), [False]),
                         self.view(late, **DRAINING))
        there = group(owner=OTHER, own=0, applied=0)
        self.assertEqual((('192.0.2.2',), [False]),
                         self.view(there, **DRAINING))
        self.assertAlmostEqual(departure.SWITCH, self.handovers.due_in())
        self.now += departure.SWITCH
        self.assertEqual(((), [False]), self.view(there, **DRAINING))

    def test_northd_is_away_for_too_long(self):
        self.view(group(applied=2), **DRAINING)
        self.now += departure.LONGEST
        self.assertEqual((), self.view(
            group(owner=OTHER, own=0, applied=2), **DRAINING)[0])

    def test_not_before_the_databases_answer(self):
        """The order could not be changed before the end of the overlap."""
        for fact in (model.Fact.FIXED, model.Fact.LATE):
            self.make()
            away = group(facts=[fact])
            for _again in range(2):
                self.assertEqual(((), [True]), self.view(away, **DRAINING))
                self.now += 2 * departure.LONGEST
            self.assertEqual((('192.0.2.2',), [True]),
                             self.view(group(), **DRAINING))

    def test_all_are_lowered_at_once(self):
        """When all have left; also those that were not here."""
        third = group(3, owner=OTHER)
        both = group(1), group(2), third
        self.assertEqual([True] * 3, self.view(*both, **DRAINING)[1])
        self.now += 0.1
        both = group(1), group(2, owner=OTHER), third
        self.assertEqual([True] * 3, self.view(*both, **DRAINING)[1])
        both = group(1, owner=OTHER), group(2, owner=OTHER), third
        self.assertEqual([True] * 3, self.view(*both, **DRAINING)[1])
        self.now += departure.INSTALL
        self.assertEqual([False] * 3, self.view(*both, **DRAINING)[1])

    def test_only_those_who_are_to_take_over(self):
        self.assertEqual(('192.0.2.2', '192.0.2.3'), self.view(
            group(1), group(2, other=0, third=1), **DRAINING)[0])

    def test_a_drain_by_command_of_all(self):
        self.assertEqual(('192.0.2.2',), self.view(
            group(), drains=frozenset({model.ALL}))[0])
        # It was undone, and comes again.
        self.view(group())
        self.assertEqual(('192.0.2.2',), self.view(
            group(), drains=frozenset({model.ALL}))[0])

    def test_not_when_some_are_to_stay(self):
        """The others would take those, too."""
        self.assertEqual(((), [False, False]), self.view(
            group(1), group(2), drains=frozenset({'router-1'})))
        self.make()
        self.assertEqual((), self.view(
            group(1), group(2, other=0, third=0), **DRAINING)[0])

    def test_what_else_it_is_not_for(self):
        for one in (group(owner=OTHER), group(own=0), group(other=0),
                    group(address='')):
            self.make()
            self.assertEqual(((), [False]), self.view(one, **DRAINING))
        self.make(gateway_drain__overlap=False)
        self.assertEqual(((), [False]), self.view(group(), **DRAINING))

    def test_first_the_relay(self):
        """It begins when the other end answers, or is not waited for."""
        self.make(gateway_drain__relay=True)
        self.assertEqual(((), [True]), self.view(group(), **DRAINING))
        self.now += 1
        self.assertEqual((('192.0.2.2',), [True]), self.view(
            group(), relays=(model.Relay('br-ex', '192.0.2.2', 9, True),),
            **DRAINING))

    def test_what_the_driver_makes_of_it(self):
        """While it is held nothing is lowered; at the end nothing is left."""
        driver = world.driver('gateway_drain', world.conf(drivers=DRIVERS))
        self.view(group(), **DRAINING)
        self.assertEqual([resources.Overlap(('192.0.2.2',))], list(
            driver.resources(self.seen.node, self.seen.node)))
        self.assertEqual([], [
            r for r in driver.resources(self.seen.groups[0], self.seen.node)
            if r.kind == resources.GatewayPriority.kind])
        stopped = self.seen.node._replace(phase=model.Phase.STOPPED)
        self.assertEqual([], list(driver.resources(stopped, stopped)))

    def test_a_drain_waits_for_its_end(self):
        """Or what undoes it would be killed with the agent."""
        wanted = drain.Drain(world.conf(drivers=DRIVERS), threading.Event(),
                             lambda: self.now)
        gone = group(owner=OTHER, own=0)
        wanted.begin(dataclasses.replace(cloud.snapshot(), groups=(group(),)))
        for node in ({'overlap': ('192.0.2.2',)}, {'overlapping': True}):
            wanted.consider(dataclasses.replace(
                cloud.snapshot(**node), groups=(gone,)))
            self.assertIsNone(wanted.result)
        wanted.consider(dataclasses.replace(cloud.snapshot(), groups=(gone,)))
        self.assertIs(drain.Result.COMPLETED, wanted.result)
