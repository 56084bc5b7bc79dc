# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What is announced: on purpose not, with a tag, and the proof of it."""

import dataclasses

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.common import networks
from ovn_network_agent.engine import contributions
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit.drivers import base

FIP, OTHER, OWN = '198.51.100.10', '198.51.100.11', '198.51.100.1'
WITHHELD, TAG = ((FIP, 'because'),), 4400001
PREFIXES = (OWN + '/32', FIP + '/32')
MANAGED = model.NbDefaultRoute('198.51.100.254', 'lrp-1', True, cloud.OWNER)
# Each way to announce an address.
WAYS = ({}, {'fip_route__announce_method': 'kernel'}, {'frr__vrf_name': ''},
        {'frr__vrf_name': '', 'fip_route__announce_method': 'kernel'},
        {'fip_route__route_table_id': 100})


class WithheldTest(base.FipRouteTestCase):

    def router(self, **values):
        return cloud.router(**{'fips': [FIP, OTHER], 'withheld': WITHHELD,
                               **values})

    def about(self, address, *args, **options):
        """Kinds of what is wanted for one address, a set."""
        return {each.kind for each in self.wanted(*args, **options)
                if each.subject == networks.host_prefix(address) or
                networks.host_prefix(address) in each.key}

    def test_what_attracts_packets_is_not_wanted(self):
        """And nothing else changes.

        The proof does not wait for it: else the former owner would announce
        the others for long.
        """
        for options in WAYS:
            self.assertEqual({'flow'}, self.about(
                FIP, self.router(), **options), options)
            self.assertEqual([OWN, OTHER],
                             self.announced(self.router(), **options))
            wanted = set(self.wanted(self.router(), **options))
            proof, = (r for r in wanted if r.kind == 'advertised')
            self.assertEqual((OWN + '/32', OTHER + '/32'), proof.prefixes)
            wanted.remove(proof)
            without = set(self.wanted(self.router(withheld=()), **options))
            self.assertLessEqual(wanted, without, options)
            self.assertEqual({FIP + '/32'}, {
                each.subject or each.dst for each in without - wanted
                if each.kind != 'advertised'}, options)

    def test_all_of_a_router(self):
        router = self.router(withheld=tuple(
            (address, 'because') for address in (OWN, FIP, OTHER)))
        self.assertEqual([], self.announced(router))
        found, = self.of(resources.Advertised, router)
        self.assertEqual((), found.prefixes)
        self.assertEqual(1, len(self.of(resources.DefaultRoute, router)))

    def test_a_segment_in_doubt(self):
        """What has no doubt about it does not stay."""
        router = self.router(ports=(cloud.port(segment=None),))
        about = {ref.key[-1] for ref in self.kept(router)
                 if ref.kind == 'announcement'}
        self.assertEqual({OWN + '/32', OTHER + '/32'}, about)

    def test_it_is_no_problem(self):
        """The operator has asked for it."""
        for address, values in (
                (FIP, {'balanced': (base.balanced(FIP, True, 'it is'),)}),
                ('203.0.113.10', {'fips': ['203.0.113.10']})):
            for withheld, number in ((), 1), (((address, 'because'),), 0):
                self.assertEqual(number, len(self.of(
                    resources.Problem, cloud.router(withheld=withheld,
                                                    **values))))

    def test_no_relay_of_its_packets(self):
        """A former owner does not attract them either."""
        router = self.router(ports=(cloud.port(
            local=False, chassis=cloud.OTHER, relay=7,
            handover=model.Handover.ANNOUNCE),))
        self.assertEqual({OWN + '/32', OTHER + '/32'}, {
            each.dst for each in self.wanted(router)
            if getattr(each, 'in_port', None) == resources.LOCAL})


class RoutedByOvnTest(base.FipRouteTestCase):
    """OVN routes the router itself."""

    def test_nothing_is_wanted(self):
        for name in ('fip_route', 'veth_leak', 'gateway_drain',
                     'port_forward'):
            for handover in model.Handover:
                port = cloud.port(local=handover is model.Handover.NONE,
                                  relay=7, handover=handover)
                self.assertEqual([], self.wanted(cloud.router(
                    fips=[FIP], ports=(port,), default_routes=(MANAGED,),
                    routed_by_ovn=True), None, name, drivers=[name]),
                    (name, handover))

    def test_a_standby_prepares_nothing_either(self):
        ports = [model.GroupPort(
            'cr-lrp-1', cloud.OTHER, 'lrp-1', ('198.51.100.1/24',),
            cloud.segment(), ('10.0.0.0/24',), routed)
            for routed in (False, True)]
        for name in ('fip_route', 'veth_leak'):
            here, left = (self.wanted(model.GatewayGroup(
                'Gateway_Chassis', ports=(port,)), None, name)
                for port in ports)
            self.assertNotEqual([], here)
            self.assertEqual([], left)


class ProofTest(base.FipRouteTestCase):

    def proofs(self, *args, **options):
        return self.of(resources.Advertised, *args, **options)

    def test_of_all_addresses_and_after_all_that_announces_them(self):
        router = cloud.router(fips=[FIP])
        for options in ({}, {'fip_route__announce_method': 'kernel'},
                        {'frr__vrf_name': ''}):
            wanted = self.wanted(router, **options)
            found, = (r for r in wanted if r.kind == 'advertised')
            self.assertEqual((router.uuid, cloud.OWNER, PREFIXES),
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
        self.assertEqual(PREFIXES[:1], found.prefixes)

    def test_none(self):
        away = [cloud.router(fips=[FIP], default_routes=(MANAGED,), ports=(
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
        self.assertTrue(resources.Advertised.retained)
        for advertised, proofs in ((cloud.HOSTNAME, []), ('gw2', [PREFIXES]),
                                   ('', [PREFIXES])):
            self.assertEqual(proofs, [
                proof.prefixes for proof in self.proofs(cloud.router(
                    fips=[FIP], default_routes=(MANAGED._replace(
                        advertised=advertised),)))])


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
        own, others = (dict.fromkeys(PREFIXES, TAG),
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
