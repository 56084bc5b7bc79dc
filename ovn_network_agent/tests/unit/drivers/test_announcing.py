# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""When a router is to be proved to be announced."""

import dataclasses

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.engine import contributions
from ovn_network_agent.tests.unit import world
from ovn_network_agent.tests.unit.drivers import fip_routes

FIP = '198.51.100.10'
OWN = '198.51.100.1/32'


class ProofTest(fip_routes.FipRouteTestCase):

    def proofs(self, *args, **options):
        return self.kind(resources.Advertised, *args, **options)

    def test_of_all_addresses_and_after_all_that_announces_them(self):
        router = world.router(fips=[FIP])
        for options in ({}, {'fip_route__announce_method': 'kernel'},
                        {'frr__vrf_name': ''}):
            wanted = self.wants(router, **options)
            found, = (r for r in wanted if r.kind == 'advertised')
            self.assertEqual(
                (router.uuid, world.OWNER, (OWN, FIP + '/32')),
                (found.router, found.owner, found.prefixes))
            self.assertEqual(
                {r.ref for r in wanted if r.kind == 'default_route' or
                 r.stage is resources.Stage.ANNOUNCE or
                 r.kind == 'flow' and r.output == 'in_port'},
                set(found.requires))
            self.assertEqual(5, len(found.requires))

    def test_what_is_malformed_or_of_another_family_is_not_waited_for(self):
        """Trap T19: the view has left out the malformed row already."""
        router = world.router(
            fips=[FIP, '2001:db8::5'], problems=('NAT row x: malformed',),
            ports=(world.port(networks=('198.51.100.1/24',
                                        '2001:db8::1/64')),))
        found, = self.proofs(router)
        self.assertEqual((OWN, FIP + '/32'), found.prefixes)

    def test_a_distributed_address_is_not_waited_for(self):
        nats = (world.fip(FIP, distributed_mac='fa:16:3e:00:00:99'),)
        found, = self.proofs(world.router(nats=nats))
        self.assertEqual((OWN,), found.prefixes)

    def test_none_for_a_real_gateway(self):
        foreign = model.NbDefaultRoute('198.51.100.9', '', False)
        self.assertEqual([], self.proofs(world.router(
            fips=[FIP], default_routes=(foreign,))))

    def test_none_where_it_is_not_active(self):
        managed = model.NbDefaultRoute('198.51.100.254', 'lrp-1', True,
                                       world.OWNER)
        for handover in model.Handover:
            away = world.port(local=False, chassis=world.OTHER, relay=7,
                              handover=handover)
            self.assertEqual([], self.proofs(world.router(
                fips=[FIP], ports=(away,), default_routes=(managed,))))

    def test_none_while_a_segment_is_in_doubt(self):
        doubtful = dataclasses.replace(world.segment(), patch_port=0)
        ports = (world.port(1), world.port(2, segment=doubtful,
                                           networks=('203.0.113.2/24',)))
        self.assertEqual([], self.proofs(world.router(ports=ports)))
        self.assertEqual(1, len(self.proofs(world.router(ports=ports[:1]))))

    def test_none_while_an_address_cannot_be_announced(self):
        """The VRF is not there yet: nothing is announced by a route."""
        node = world.node(devices=world.node().devices[:1])
        self.assertEqual([], self.proofs(
            world.router(fips=[FIP]), node,
            fip_route__announce_method='kernel'))

    def test_none_without_a_name(self):
        self.assertEqual([], self.proofs(world.router(),
                                         world.node(hostname='')))

    def test_without_addresses_there_is_nothing_to_wait_for(self):
        """network_cidr leaves all out; the route is what is handed over."""
        found, = self.proofs(world.router(fips=[FIP]),
                             network_cidr=['203.0.113.0/24'])
        self.assertEqual((), found.prefixes)

    def test_an_address_more_is_no_other_proof(self):
        one, = self.proofs(world.router(fips=[FIP]))
        two, = self.proofs(world.router(fips=[FIP, '198.51.100.11']))
        self.assertEqual(one, two)
        self.assertNotEqual(one.requires, two.requires)

    def test_it_is_pure(self):
        wanted = self.wants(world.router(fips=[FIP]))
        proof, = (r for r in wanted if r.kind == 'advertised')
        rest = [r for r in wanted if r is not proof]
        bare = dataclasses.replace(proof, prefixes=(),
                                   requires=proof.requires[:1])
        again = contributions.complete(bare, rest)
        self.assertEqual((proof, proof.prefixes, proof.requires),
                         (again, again.prefixes, again.requires))

    def test_what_is_proved_is_not_proved_again(self):
        """The proof stays by itself, so no address is looked at."""
        def proved(owner=world.OWNER, advertised=world.HOSTNAME):
            return self.proofs(world.router(
                fips=[FIP], default_routes=(model.NbDefaultRoute(
                    '198.51.100.254', 'lrp-1', True, owner, advertised),)))

        self.assertEqual([], proved())
        self.assertTrue(resources.Advertised.retained)
        for other in (proved(advertised='gw2'), proved(advertised='')):
            self.assertEqual([(OWN, FIP + '/32')],
                             [proof.prefixes for proof in other])
