# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Driver fip_route: default routes, MAC bindings, and what is said of them."""

import dataclasses

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.common import networks
from ovn_network_agent.tests.unit import world
from ovn_network_agent.tests.unit.drivers import fip_routes

MAC, FIP = world.BRIDGE_MAC, fip_routes.FIP
GATEWAY = ownership.LINK_LOCAL_GATEWAY
balanced = fip_routes.balanced


class NorthboundTest(fip_routes.FipRouteTestCase):

    def rows(self, router):
        return [r for r in self.wants(router)
                if r.kind in ('default_route', 'mac_binding')]

    def foreign(self, **values):
        return model.NbDefaultRoute(**{
            'nexthop': '198.51.100.9', 'output_port': '', 'managed': False,
            **values})

    def test_a_router_without_a_gateway_gets_one(self):
        router = world.router()
        self.assertEqual(
            [resources.MacBinding('lrp-1', '198.51.100.254', MAC),
             resources.DefaultRoute(router.uuid, 'lrp-1', '198.51.100.254',
                                    world.OWNER)], self.rows(router))

    def test_one_with_a_gateway_of_somebody_gets_nothing(self):
        """Trap T25: no MAC binding either."""
        ours = self.foreign(managed=True, owner=world.OWNER,
                            nexthop='198.51.100.254', output_port='lrp-1')
        for routes in ((self.foreign(),), (self.foreign(), ours)):
            router = world.router(default_routes=routes)
            self.assertEqual([], self.rows(router))
            self.assertEqual(set(), self.kept(router))
            self.assertEqual(['198.51.100.1'], self.announced(router))

    def test_one_through_a_port_of_another_chassis_is_not(self):
        """Two agents would take it from each other for ever.

        It goes through a port that is elsewhere, and through none here.
        """
        for outputs, owner, rows in (
                (['lrp-2'], world.OTHER, 0), (['lrp-2'], '', 2),
                (['lrp-1'], world.OTHER, 2), (['gone'], world.OTHER, 2),
                (['lrp-1', 'lrp-2'], world.OTHER, 2)):
            router = world.router(
                ports=(world.port(1), world.port(
                    2, local=False, chassis=owner,
                    networks=('203.0.113.1/24',))),
                default_routes=[self.foreign(
                    managed=True, owner=world.THEIRS, nexthop='203.0.113.254',
                    output_port=output) for output in outputs])
            self.assertEqual(rows, len(self.rows(router)), outputs)
            self.assertEqual(rows, 2 - len(self.kept(router)), outputs)
            self.assertEqual(['198.51.100.1'], self.announced(router))

    def test_a_router_that_moved_away_is_left_to_its_new_owner(self):
        router = world.router(
            ports=(world.port(local=False, chassis=world.OTHER),),
            fips=[FIP], default_routes=(self.foreign(
                managed=True, owner=world.OWNER,
                nexthop='198.51.100.254', output_port='lrp-1'),))
        self.assertEqual(
            {resources.Ref('default_route', (router.uuid, '0.0.0.0/0')),
             resources.Ref('mac_binding', ('lrp-1', '198.51.100.254'))},
            self.kept(router))
        # Also at the end of this agent.
        self.assertEqual({('keep', True)}, {(r.kind, r.foreign)
                                            for r in self.wants(router)})

    def test_the_virtual_gateway(self):
        for lrp_networks, wanted in (
                (['198.51.100.1/24'], '198.51.100.254'),
                (['192.168.42.5/23'], '192.168.43.254'),
                (['10.0.0.9/16'], '10.0.255.254'),
                (['172.16.0.1/30'], '172.16.0.2'),
                (['172.16.0.1/31'], None),
                (['172.16.0.1/32'], None),
                (['172.16.0.1/32', '198.51.100.1/24'], '198.51.100.254'),
                (['2001:db8::1/64'], None),
                (['2001:db8::1/64', '198.51.100.1/24'], '198.51.100.254'),
                (['nonsense', '198.51.100.1/24'], '198.51.100.254'),
                ([], None)):
            self.assertEqual(wanted, networks.virtual_gateway(lrp_networks),
                             lrp_networks)

    def test_a_link_local_virtual_gateway(self):
        """Rows NB-02 and NB-13: the subnet has no free address for one."""
        for port in (world.port(nexthop_used=True),
                     world.port(networks=('198.51.100.1/31',)),
                     world.port(networks=('198.51.100.1/32',)),
                     world.port(networks=('2001:db8::1/64',
                                          '198.51.100.1/32'))):
            router = world.router(ports=(port,))
            found = [r for r in self.rows(router) if ':' not in
                     f'{r.key}'.replace(router.uuid, '')]
            self.assertEqual(
                [resources.MacBinding('lrp-1', GATEWAY, MAC),
                 resources.DefaultRoute(router.uuid, 'lrp-1', GATEWAY,
                                        world.OWNER)], found)

    def test_both_gateways_stay_while_the_user_is_not_known(self):
        doubtful = dataclasses.replace(world.segment(), patch_port=0)
        router = world.router(
            ports=(world.port(segment=doubtful),),
            default_routes=(self.foreign(
                managed=True, owner=world.OWNER, nexthop=GATEWAY,
                output_port='lrp-1'),))
        self.assertEqual(
            {resources.Ref('default_route', (router.uuid, '0.0.0.0/0')),
             resources.Ref('mac_binding', ('lrp-1', '198.51.100.254')),
             resources.Ref('mac_binding', ('lrp-1', GATEWAY))},
            {ref for ref in self.kept(router)
             if ref.kind in ('default_route', 'mac_binding')})

    def problems(self, router, **options):
        return [r.text for r in self.wants(router, **options)
                if r.kind == 'problem']

    def test_what_is_not_announced_is_said(self):
        self.assertEqual([], self.problems(world.router(
            fips=[FIP, '2001:db8::10'])))
        elsewhere = world.router(fips=[FIP, '192.0.2.7'])
        said, = self.problems(elsewhere)
        self.assertIn('(192.0.2.7)', said)
        said, = self.problems(world.router(balanced=(
            balanced('192.0.2.7'), balanced('10.0.0.9', floating=False))))
        self.assertIn('1 NAT addresses (192.0.2.7)', said)
        said, = self.problems(world.router(balanced=(
            balanced(FIP, unanswered='it is distributed'),
            balanced('10.0.0.9', floating=False, unanswered='it is so'))))
        self.assertIn(f'{FIP} of a load balancer is not announced, because it '
                      'is distributed', said)
        # By hand it is what was asked for.
        self.assertEqual([], self.problems(
            elsewhere, network_cidr=['198.51.100.0/24']))

    def test_the_first_port_with_an_address_for_one(self):
        router = world.router(ports=(
            world.port(1, networks=('203.0.113.1/32',)), world.port(2)))
        self.assertEqual(['lrp-2'], [r.lrp for r in self.rows(router)
                                     if r.kind == 'default_route'])
