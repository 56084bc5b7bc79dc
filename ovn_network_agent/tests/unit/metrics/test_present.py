# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The gauges of a view."""

import dataclasses

from oslotest import base

from ovn_network_agent import model
from ovn_network_agent.forward import vip_state
from ovn_network_agent.metrics import present
from ovn_network_agent.model import port_forwards
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import world


class ViewTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.conf = world.conf()

    def present(self, *routers, **values):
        """The gauges of routers, each with its group."""
        return present.of_view(cloud.snapshot(
            *routers, groups=[cloud.group(r) for r in routers], **values),
            self.conf)

    def test_before_ovn_was_seen(self):
        self.assertEqual(
            {'phase': {('restoring',): 1, ('running',): 0,
                       ('draining',): 0, ('stopped',): 0}},
            present.of_view(None, self.conf))

    def test_routers(self):
        found = self.present(cloud.router(1), cloud.router(2),
                        cloud.away(cloud.router(3)))
        self.assertEqual(2, found['local_routers'])
        self.assertEqual(2, found['gateway_ports_here'])
        self.assertEqual(1, found['effective_networks'])
        self.assertEqual(1, found['localnet_segments'])
        self.assertEqual(0, found['drains_requested'])
        self.assertEqual({('lrp-1',): 1, ('lrp-2',): 1, ('lrp-3',): 0},
                         found['gateway_port_served'])
        self.assertEqual(3, found['gateway_groups']['undecided',])

    def test_intents_to_peer(self):
        self.assertIsNone(self.present()['network_peer_intents'])
        state = model.PeerState
        view = dataclasses.replace(cloud.snapshot(), subjects={
            model.Peering: {str(number): {'': model.Peering(
                'r', 'r', 'x', each)} for number, each in enumerate((
                    state.CREATED, state.CREATED, state.CONFLICT))}})
        self.assertEqual(
            {('pending',): 0, ('created',): 2, ('conflict',): 1,
             ('error',): 0}, present.of_view(view, world.conf(
                 drivers=['network_peer']))['network_peer_intents'])

    def test_egress_addresses(self):
        self.assertNotIn('egress_ip_places', self.present())
        place = model.EgressPlace('r', 'r', '', '', 4, '198.51.100.9')
        machine = model.EgressMachine('p', '10.0.1.5', 'r')
        view = dataclasses.replace(cloud.snapshot(), subjects={
            model.EgressIp: {'a': {'': model.EgressIp(
                'a', model.EgressMode.ROUTER, ('198.51.100.9',), (
                    place, place._replace(address='', why='x')),
                (machine, machine._replace(why='x'), machine))}}})
        found = present.of_view(view, world.conf(drivers=['egress_ip']))
        self.assertEqual({('assigned',): 1, ('unassigned',): 1},
                         found['egress_ip_places'])
        self.assertEqual({('leaving',): 2, ('left_out',): 1},
                         found['egress_ip_machines'])

    def test_no_router(self):
        found = self.present()
        self.assertEqual(0, found['local_routers'])
        self.assertEqual(0, found['effective_networks'])
        self.assertEqual({}, found['gateway_port_served'])

    def test_a_port_that_is_handed_over(self):
        away = cloud.away(cloud.router(1))
        for handover, served in ((model.Handover.ANNOUNCE, 1),
                                 (model.Handover.FORWARD, 0)):
            leaving = dataclasses.replace(away, ports=tuple(
                port._replace(handover=handover)
                for port in away.ports))
            self.assertEqual({('lrp-1',): served},
                             self.present(leaving)['gateway_port_served'])

    def test_in_the_clean_up_nothing_is_served(self):
        found = self.present(cloud.router(1), phase=model.Phase.STOPPED)
        self.assertEqual({('lrp-1',): 0}, found['gateway_port_served'])
        self.assertEqual(1, found['phase']['stopped',])

    def test_drains(self):
        self.assertEqual(1, self.present(drains=frozenset([model.ALL]))[
            'drains_requested'])

    def test_the_default_route_of_the_vrf(self):
        vrf = model.Device('vrf-provider', '0a:00:00:00:00:02', True, 10)
        for known, value in ((True, 1), (False, 0), (None, None)):
            found = self.present(devices=(vrf._replace(default_route=known),))
            self.assertIs(value, found['vrf_default_route_present'])
        self.assertIsNone(self.present(devices=())['vrf_default_route_present'])
        self.conf.set_override('vrf_name', '', group='frr')
        self.assertIsNone(self.present()['vrf_default_route_present'])


class VipsTest(base.BaseTestCase):

    def test_states_and_backends(self):
        backends = (port_forwards.Destination('10.0.0.1'),
                    port_forwards.Destination('10.0.0.2', alive=False))
        checked = port_forwards.Rule(
            'tcp', 80, 8080, backends, check=port_forwards.HealthCheck('tcp'))
        plain = port_forwards.Rule('udp', 53, 53, backends[:1])
        vip = port_forwards.Vip('192.0.2.1', rules=(checked, plain))
        other = port_forwards.Vip('192.0.2.2', rules=(plain,))
        found = present.of_vips((
            vip_state.VipStatus(vip, vip_state.State.ANNOUNCED),
            vip_state.VipStatus(other, vip_state.State.REFUSED, 'why')))
        self.assertEqual(1, found['announced_vips'])
        self.assertEqual(1, found['vips']['refused',])
        self.assertEqual(0, found['vips']['down',])
        self.assertEqual({('192.0.2.1',): 1, ('192.0.2.2',): 0},
                         found['vip_announced'])
        self.assertEqual(2, found['vip_backends']['192.0.2.1', 'tcp', 80])
        self.assertEqual({('192.0.2.1', 'tcp', 80): 1},
                         found['vip_backends_alive'])

    def test_none(self):
        self.assertEqual(0, present.of_vips(())['announced_vips'])
