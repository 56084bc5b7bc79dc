# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""Ports that leave: who serves them, and until when."""

import dataclasses

from oslotest import base

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.gateways import departure
from ovn_network_agent.gateways import handover
from ovn_network_agent.gateways import membership
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import world

HERE, OTHER, THEIRS = cloud.CHASSIS, cloud.OTHER, cloud.THEIRS
NONE, ANNOUNCE, FORWARD = (model.Handover.NONE, model.Handover.ANNOUNCE,
                           model.Handover.FORWARD)
RELAY = model.Relay('br-ex', '192.0.2.2', 9, True)
DRIVERS = ['fip_route', 'veth_leak', 'gateway_drain']


def route(owner=cloud.OWNER, advertised=''):
    return model.NbDefaultRoute('198.51.100.254', 'lrp-1', True, owner,
                                advertised)


class HandoverTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.now = 1000.0
        self.make()

    def make(self, **values):
        self.handovers = handover.Handovers(
            world.conf(
                **{'drivers': DRIVERS, 'gateway_drain__overlap': False,
                   **values}), lambda: self.now)

    def view(self, owner, own=2, other=1, routes=(route(),), known=True,
             relays=(RELAY,), phase=model.Phase.RUNNING,
             applied=(None, None), **node):
        """A view of one router, updated; the state of its port."""
        port = cloud.port(1, chassis=owner, local=owner == HERE)
        router = cloud.router(1, ports=(port,), default_routes=routes)
        group = model.GatewayGroup(
            'Gateway_Chassis', 'key', 'lrp-1', (
                model.Candidate(HERE, own, applied=applied[0]),
                model.Candidate(OTHER, other, known, RELAY.address,
                                'geneve', applied=applied[1])),
            (model.GroupPort('cr-lrp-1', owner, 'lrp-1'),),
            (router.uuid,))
        self.seen = self.handovers.update(dataclasses.replace(
            cloud.snapshot(router, relays=relays, phase=phase, **node),
            groups=(group,)))
        self.port = self.seen.routers[0].ports[0]
        return self.port.handover

    def test_served_until_the_new_owner_has_proved_it(self):
        """Row DRN-18, trap T15."""
        self.assertIs(NONE, self.view(HERE))
        self.assertIs(ANNOUNCE, self.view(OTHER))
        self.assertEqual(9, self.port.relay)
        self.now += 3
        self.assertIs(ANNOUNCE, self.view(OTHER, routes=(route(THEIRS),)))
        self.assertIs(ANNOUNCE, self.view(
            OTHER, routes=(route(THEIRS, 'gw2'),)))
        self.assertEqual(0.5, self.handovers.due_in())
        self.now += 0.5
        self.assertIs(FORWARD, self.view(OTHER, routes=(route(THEIRS),)))
        self.assertEqual(9, self.port.relay)
        self.now += handover.SETTLE
        self.assertIs(NONE, self.view(OTHER, routes=(route(THEIRS, 'gw2'),)))
        self.assertEqual(0, self.port.relay)
        self.assertEqual(frozenset(), self.handovers.routers)

    def test_a_proof_that_does_not_count(self):
        """Trap T26: of this chassis, or of one before the present tag."""
        for found in (route(), route(advertised='gw1'),
                      route(advertised='gw2'), route(THEIRS, 'gw1'),
                      route(THEIRS, 'gw3'), route(ownership.Owner(), '')):
            self.make()
            self.view(HERE)
            self.view(OTHER, routes=(found,))
            self.now += 29
            self.assertIs(ANNOUNCE, self.view(OTHER, routes=(found,)))

    def test_a_proof_that_was_there_before(self):
        """The new owner has had the port before, and nobody took note.

        It may not announce any more, and has no reason to prove it anew.
        Trap T26.
        """
        found = (route(THEIRS, 'gw2'),)
        self.view(HERE, routes=found)
        self.assertIs(ANNOUNCE, self.view(OTHER, routes=found))
        self.now += 1
        self.assertIs(ANNOUNCE, self.view(OTHER, routes=found))
        self.assertEqual(2, self.handovers.due_in())
        self.now += 2
        self.assertIs(FORWARD, self.view(OTHER, routes=found))

    def test_a_proof_that_comes_with_the_move_is_one(self):
        self.view(HERE)
        self.assertIs(ANNOUNCE, self.view(OTHER,
                                          routes=(route(THEIRS, 'gw2'),)))
        self.assertEqual(0.5, self.handovers.due_in())

    def test_not_for_ever(self):
        self.view(HERE)
        self.view(OTHER)
        self.assertEqual(30, self.handovers.due_in())
        self.now += 30
        self.assertIs(FORWARD, self.view(OTHER))

    def test_while_draining_the_drain_says_when_it_ends(self):
        self.view(HERE)
        for _minute in range(5):
            self.assertIs(ANNOUNCE, self.view(
                OTHER, phase=model.Phase.DRAINING))
            self.now += 60

    def test_what_cannot_be_forwarded_is_let_go_at_once(self):
        for values in ({'relays': ()}, {'known': False}, {'relays': (
                model.Relay('br-ex', '192.0.2.3', 9, True),)}, {'relays': (
                    model.Relay('br-ex', '192.0.2.2', 9),)}):
            self.make()
            self.view(HERE)
            self.assertIs(FORWARD, self.view(OTHER, **values))

    def test_it_comes_back(self):
        """Row DRN-19."""
        self.view(HERE)
        self.view(OTHER)
        self.assertIs(NONE, self.view(HERE))
        self.assertTrue(self.port.local)
        self.assertEqual(0, self.port.relay)
        self.assertIs(ANNOUNCE, self.view(OTHER))
        self.assertEqual(30, self.handovers.due_in())

    def test_the_next_owner_dies_and_nobody_has_it(self):
        self.view(HERE)
        self.view(OTHER)
        self.assertIs(ANNOUNCE, self.view(''))
        self.assertEqual(9, self.port.relay)

    def test_what_was_never_here_is_not_ours(self):
        self.assertIs(NONE, self.view(OTHER))
        self.assertEqual(frozenset(), self.handovers.routers)

    def test_a_router_that_is_deleted_is_over(self):
        self.view(HERE)
        self.assertEqual({self.seen.routers[0].uuid}, self.handovers.routers)
        self.handovers.update(cloud.snapshot())
        self.assertEqual(frozenset(), self.handovers.routers)
        self.assertIs(NONE, self.view(OTHER))

    def test_without_a_managed_route_there_is_no_proof_to_wait_for(self):
        self.view(HERE, routes=())
        self.assertIs(ANNOUNCE, self.view(OTHER, routes=()))
        self.now += 3
        self.assertIs(FORWARD, self.view(OTHER, routes=()))

    def test_where_the_route_goes_through_another_port(self):
        """Who has that one proves it, and nothing about this.  Trap T26."""
        for found in (route(), route(THEIRS, 'gw2')):
            self.make()
            found = (found._replace(output_port='lrp-2'),)
            self.view(HERE)
            self.assertIs(ANNOUNCE, self.view(
                OTHER, routes=found, phase=model.Phase.DRAINING))
            self.assertEqual(3, self.handovers.due_in())
            self.now += 3
            self.assertIs(FORWARD, self.view(
                OTHER, routes=found, phase=model.Phase.DRAINING))

    def test_relayed_before_it_leaves(self):
        """What is to go, or outranked, goes to both sides already."""
        for values in ({'phase': model.Phase.DRAINING}, {'own': 1, 'other': 2},
                       {'drains': frozenset({model.ALL})},
                       {'drains': frozenset({cloud.router(1).uuid})}):
            self.make()
            self.assertIs(NONE, self.view(HERE, **values))
            self.assertEqual(9, self.port.relay, values)

    def test_a_drain_waits_a_moment_for_the_relay(self):
        """The agent at the other end has just been started."""
        silent = (model.Relay('br-ex', RELAY.address, 9, False),)
        for values in ({'phase': model.Phase.DRAINING},
                       {'drains': frozenset({model.ALL})}):
            self.make()
            self.view(HERE, relays=silent)
            self.assertFalse(self.seen.groups[0].held)
            self.view(HERE, relays=silent, **values)
            self.assertTrue(self.seen.groups[0].held)
            self.now += 1
            self.view(HERE, **values)
            self.assertFalse(self.seen.groups[0].held)

    def test_a_drain_does_not_wait_for_a_relay_for_ever(self):
        self.view(HERE, relays=(), phase=model.Phase.DRAINING)
        self.assertTrue(self.seen.groups[0].held)
        self.assertEqual(departure.PATIENCE, self.handovers.due_in())
        self.now += departure.PATIENCE
        self.view(HERE, relays=(), phase=model.Phase.DRAINING)
        self.assertFalse(self.seen.groups[0].held)

    def test_a_stop_leaves_all_groups_at_once(self):
        """Row DRN-26: else two that stop could wait for each other."""
        self.view(HERE)
        group, = self.seen.groups
        other = group._replace(
            key='other', ports=(model.GroupPort('cr-lrp-2', OTHER),))
        for phase, drains, held in (
                (model.Phase.DRAINING, (), True),
                (model.Phase.RUNNING, {model.ALL}, False)):
            found, _until = departure.Holding(world.conf()).held(
                (group, other), cloud.node(
                    phase=phase, drains=frozenset(drains)), 0)
            self.assertEqual([True, held], [
                departure.key(g) in found for g in (group, other)])

    def test_what_a_drain_does_not_wait_for(self):
        """A standby, nobody to take over, relays that are not wanted."""
        for owner, values in ((OTHER, {}), (HERE, {'known': False}),
                              (HERE, {'other': 0}), (HERE, {'own': 0})):
            self.make()
            self.view(owner, relays=(), phase=model.Phase.DRAINING, **values)
            self.assertFalse(self.seen.groups[0].held, values)
        self.make(gateway_drain__relay=False)
        self.view(HERE, relays=(), phase=model.Phase.DRAINING)
        self.assertFalse(self.seen.groups[0].held)
        self.make(gateway_drain__drain_on_shutdown=False)
        self.view(HERE, relays=(), phase=model.Phase.DRAINING)
        self.assertFalse(self.seen.groups[0].held)

    def test_not_relayed_without_need(self):
        for values in ({}, {'own': 1, 'other': 2, 'known': False},
                       {'drains': frozenset({'another'})},
                       {'relays': (), 'phase': model.Phase.DRAINING}):
            self.make()
            self.view(HERE, **values)
            self.assertEqual(0, self.port.relay, values)

    def test_what_comes_while_the_other_one_lives_is_relayed_there(self):
        """Both have it; compute nodes answer through the other one.

        They learn a moment after us that it is not the first any more.
        """
        self.view(OTHER, own=1, other=2)
        self.view(HERE, own=1, other=2)
        self.assertTrue(self.seen.groups[0].moving)
        self.assertEqual(9, self.port.relay)
        for _again in range(2):
            self.view(HERE, own=1, other=0)
            self.assertTrue(self.seen.groups[0].moving)
            self.assertEqual(9, self.port.relay)
            self.assertEqual(membership.LINGER, self.handovers.due_in())
        self.now += membership.LINGER
        for _again in range(2):
            self.view(HERE, own=1, other=0)
            self.assertFalse(self.seen.groups[0].moving)
            self.assertEqual(0, self.port.relay)

    def test_relayed_until_the_order_is_in_the_southbound_database(self):
        """By which compute nodes send; ovn-northd may be slow."""
        self.view(OTHER, own=1, other=2, applied=(1, 2))
        self.view(HERE, own=1, other=2, applied=(1, 2))
        for _again in range(3):
            self.view(HERE, own=1, other=0, applied=(1, 2))
            self.assertEqual(9, self.port.relay)
            self.assertEqual(membership.LINGER, self.handovers.due_in())
            self.now += membership.LINGER
        self.view(HERE, own=1, other=0, applied=(1, 2))
        for _again in range(2):
            self.view(HERE, own=1, other=0, applied=(1, 0))
            self.assertEqual(9, self.port.relay)
        self.now += membership.LINGER
        self.view(HERE, own=1, other=0, applied=(1, 0))
        self.assertEqual(0, self.port.relay)

    def test_relayed_to_that_one_and_not_to_a_third(self):
        relays = (RELAY, model.Relay('br-ex', '192.0.2.3', 11, True))
        port = cloud.port(1)
        for owner, other, relay in ((OTHER, 3, 0), (HERE, 3, 9), (HERE, 0, 9)):
            router = cloud.router(1, ports=(port._replace(
                chassis=owner, local=owner == HERE),))
            group = model.GatewayGroup('Gateway_Chassis', 'key', 'lrp-1', (
                model.Candidate(HERE, 2),
                model.Candidate(OTHER, other, True, RELAY.address, 'geneve'),
                model.Candidate('third', 1, True, '192.0.2.3', 'geneve')),
                (model.GroupPort('cr-lrp-1', owner, 'lrp-1'),),
                (router.uuid,))
            seen = self.handovers.update(dataclasses.replace(
                cloud.snapshot(router, relays=relays), groups=(group,)))
            self.assertEqual(relay, seen.routers[0].ports[0].relay)

    def test_a_tie_is_not_a_wish(self):
        """Trap T8: the lead is taken at once."""
        self.view(HERE, own=2, other=2)
        self.assertFalse(self.seen.groups[0].moving)

    def test_without_the_driver_everything_is_let_go(self):
        self.handovers = handover.Handovers(
            world.conf(drivers=['fip_route']), lambda: self.now)
        self.view(HERE)
        self.assertIs(NONE, self.view(OTHER))
        self.assertEqual(frozenset(), self.handovers.routers)

    def test_at_the_end_nothing_is_handed_over(self):
        self.view(HERE)
        self.view(OTHER)
        self.assertIs(NONE, self.view(OTHER, phase=model.Phase.STOPPED))
