# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The proof that a router is announced, and the tags of its routes."""

import dataclasses

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.engine import contributions
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit.drivers import base

FIP = '198.51.100.10'
OWN = '198.51.100.1/32'


class ProofTest(base.FipRouteTestCase):

    def proofs(self, *args, **options):
        return self.of(resources.Advertised, *args, **options)

    def test_of_all_addresses_and_after_all_that_announces_them(self):
        router = cloud.router(fips=[FIP])
        for options in ({}, {'fip_route__announce_method': 'kernel'},
                        {'frr__vrf_name': ''}):
            wanted = self.wanted(router, **options)
            found, = (r for r in wanted if r.kind == 'advertised')
            self.assertEqual((router.uuid, cloud.OWNER, (OWN, FIP + '/32')),
                             (found.router, found.owner, found.prefixes))
            self.assertEqual(
                {r.ref for r in wanted if r.kind == 'default_route' or
                 r.stage is resources.Stage.ANNOUNCE or
                 r.kind == 'flow' and r.output == 'in_port'},
                set(found.requires))
            self.assertEqual(5, len(found.requires))

    def test_a_distributed_address_is_not_waited_for(self):
        nats = (cloud.fip(FIP, distributed_mac='fa:16:3e:00:00:99'),)
        found, = self.proofs(cloud.router(nats=nats))
        self.assertEqual((OWN,), found.prefixes)

    def test_none(self):
        managed = model.NbDefaultRoute('198.51.100.254', 'lrp-1', True,
                                       cloud.OWNER)
        away = [cloud.router(fips=[FIP], default_routes=(managed,), ports=(
            cloud.port(local=False, chassis=cloud.OTHER, relay=7,
                       handover=handover),)) for handover in model.Handover]
        # Of two segments, one is in doubt.
        ports = (cloud.port(1), cloud.port(
            2, networks=('203.0.113.2/24',), segment=cloud.segment()._replace(
                patch_port=0)))
        self.assertEqual(1, len(self.proofs(cloud.router(ports=ports[:1]))))
        plain = cloud.router(fips=[FIP])
        for what, router, node, options in (
                ('a real gateway', cloud.router(
                    fips=[FIP], default_routes=(model.NbDefaultRoute(
                        '198.51.100.9', '', False),)), None, {}),
                *(('not active', router, None, {}) for router in away),
                ('in doubt', cloud.router(ports=ports), None, {}),
                # Nothing is announced by a route in a VRF that is not there.
                ('no VRF', plain, cloud.node(devices=cloud.node().devices[:1]),
                 {'fip_route__announce_method': 'kernel'}),
                ('no name', plain, cloud.node(hostname=''), {})):
            self.assertEqual([], self.proofs(router, node, **options), what)

    def test_without_addresses_there_is_nothing_to_wait_for(self):
        """network_cidr leaves all out; the route is what is handed over."""
        found, = self.proofs(cloud.router(fips=[FIP]),
                             network_cidr=['203.0.113.0/24'])
        self.assertEqual((), found.prefixes)

    def test_it_is_pure(self):
        wanted = self.wanted(cloud.router(fips=[FIP]))
        proof, = (r for r in wanted if r.kind == 'advertised')
        rest = [r for r in wanted if r is not proof]
        bare = dataclasses.replace(proof, prefixes=(),
                                   requires=proof.requires[:1])
        again = contributions.complete(bare, rest)
        self.assertEqual((proof, proof.prefixes, proof.requires),
                         (again, again.prefixes, again.requires))

    def test_what_is_proved_is_not_proved_again(self):
        """The proof stays by itself, so no address is looked at."""
        def proved(owner=cloud.OWNER, advertised=cloud.HOSTNAME):
            return self.proofs(cloud.router(
                fips=[FIP], default_routes=(model.NbDefaultRoute(
                    '198.51.100.254', 'lrp-1', True, owner, advertised),)))

        self.assertEqual([], proved())
        self.assertTrue(resources.Advertised.retained)
        for other in (proved(advertised='gw2'), proved(advertised='')):
            self.assertEqual([(OWN, FIP + '/32')],
                             [proof.prefixes for proof in other])


ADDRESS = '198.51.100.1'
TAG = 4400001


class TagsTest(base.FipRouteTestCase):

    def tags(self, **values):
        """Tag of each announced prefix, for the ways to announce."""
        for options in ({}, {'frr__vrf_name': ''}):
            found = {each.prefix: each.tag for each in self.of(
                resources.Announcement, cloud.router(**values), **options)}
            kernel = {each.dst: each.metric for each in self.of(
                resources.AnnouncedRoute, cloud.router(**values),
                fip_route__announce_method='kernel', **options)}
            self.assertEqual(found, kernel)
            self.assertTrue(found)
            yield found

    def test_each_address_of_the_port_has_it(self):
        own, others = ({FIP + '/32': TAG, ADDRESS + '/32': TAG},
                       {'203.0.113.10/32': TAG + 1, '203.0.113.1/32': TAG + 1})
        away = {'tag': TAG, 'local': False, 'chassis': 'other'}
        for what, wanted, values in (
                ('one port', own, {'fips': [FIP],
                                   'ports': (cloud.port(tag=TAG),)}),
                ('two ports', own | others, {
                    'fips': [FIP, '203.0.113.10'], 'ports': (
                        cloud.port(tag=TAG), cloud.port(
                            2, networks=('203.0.113.1/24',), tag=TAG + 1))}),
                ('a distributed floating IP', {FIP + '/32': TAG}, {
                    'ports': (cloud.port(**away, hosting=True),),
                    'nats': (cloud.fip(
                        FIP, distributed_mac='fa:16:3e:00:00:09',
                        resident=True),)}),
                ('a port that is handed over', own, {
                    'fips': [FIP], 'ports': (cloud.port(
                        **away, relay=7,
                        handover=model.Handover.ANNOUNCE),)})):
            for tags in self.tags(**values):
                self.assertEqual(wanted, tags, what)

    def test_other_routes_have_none(self):
        router = cloud.router(fips=[FIP], ports=(cloud.port(tag=TAG),))
        routes = self.of(resources.KernelRoute, router)
        self.assertTrue(routes)
        for each in routes:
            self.assertIsNone(each.metric)
