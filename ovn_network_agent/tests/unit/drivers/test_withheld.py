# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Addresses that are not announced on purpose: what drivers want for them."""

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.common import networks
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit.drivers import base

FIP, OTHER, OWN = '198.51.100.10', '198.51.100.11', '198.51.100.1'
WITHHELD = ((FIP, 'because'),)
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
        managed = model.NbDefaultRoute('198.51.100.254', 'lrp-1', True,
                                       cloud.OWNER)
        for name in ('fip_route', 'veth_leak', 'gateway_drain',
                     'port_forward'):
            for handover in model.Handover:
                port = cloud.port(local=handover is model.Handover.NONE,
                                  relay=7, handover=handover)
                self.assertEqual([], self.wanted(cloud.router(
                    fips=[FIP], ports=(port,), default_routes=(managed,),
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
