# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Driver fip_route: machines here, default routes and MAC bindings."""

import dataclasses

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.common import networks
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit.drivers import base

FIP = base.FIP
OTHER = '198.51.100.11'
MAC = 'fa:16:3e:00:00:aa'
OF_BRIDGE = cloud.BRIDGE_MAC
GATEWAY = ownership.LINK_LOCAL_GATEWAY
balanced = base.balanced
FOREIGN = model.NbDefaultRoute('198.51.100.9', '', False)
OURS = model.NbDefaultRoute('198.51.100.254', 'lrp-1', True, cloud.OWNER)


def distributed(address=FIP, resident=True, **values):
    return cloud.fip(address, distributed_mac=MAC, resident=resident, **values)


def hosting(number=1, **values):
    """A gateway port of another chassis, with machines here."""
    return cloud.port(number, **{
        'local': False, 'chassis': cloud.OTHER, 'hosting': True, **values})


class MachinesTest(base.FipRouteTestCase):

    def test_only_the_machines_here_are_announced(self):
        for what, port, wanted in (
                ('a compute node', hosting(), [FIP]),
                ('a gateway with machines', cloud.port(hosting=True),
                 ['198.51.100.1', FIP, '198.51.100.12']),
                ('a gateway that has left', hosting(
                    handover=model.Handover.FORWARD), [FIP]),
                ('no machine here', hosting(hosting=False), [])):
            for method in ('kernel', 'static'):
                router = cloud.router(ports=(port,), nats=(
                    distributed(), distributed(OTHER, resident=False),
                    cloud.fip('198.51.100.12')))
                self.assertEqual(wanted, self.announced(
                    router, fip_route__announce_method=method), what)

    def test_what_a_machine_needs(self):
        router = cloud.router(ports=(hosting(),), nats=(
            distributed(), distributed('2001:db8::10')))
        wanted = self.wanted(router)
        flows = {flow.dst: flow for flow in wanted
                 if isinstance(flow, resources.Flow)}
        self.assertEqual((MAC, cloud.BRIDGE_MAC, 'in_port'), (
            flows[FIP + '/32'].set_dst, flows[FIP + '/32'].set_src,
            flows[FIP + '/32'].output))
        self.assertEqual(2, sum(1 for flow in wanted if isinstance(
            flow, resources.Flow) and flow.dst is None))
        self.assertIn('198.51.100.0/24', [
            entry.network for entry in wanted
            if isinstance(entry, resources.PrefixListEntry)])
        # What belongs to the router is of the chassis of its gateway.
        self.assertFalse({
            resources.DefaultRoute.kind, resources.MacBinding.kind,
            resources.Advertised.kind} & {each.kind for each in wanted})

    def test_the_port_of_an_address(self):
        """The row names one; without a name, the network decides."""
        ports = (hosting(1), hosting(2, networks=('198.51.100.2/24',),
                                     segment=cloud.segment(bridge='')))
        for nat, wanted in (
                (distributed(), [FIP]),
                (distributed(gateway_port='lrp-2'), []),
                (distributed(gateway_port='lrp-9'), [FIP])):
            self.assertEqual(wanted, self.announced(
                cloud.router(ports=ports, nats=(nat,))), nat)

    def test_centralised_rows_follow_the_port_that_they_name(self):
        ports = (cloud.port(1), cloud.port(2, local=False,
                                           chassis=cloud.OTHER))
        for named, wanted in (('', ['198.51.100.1', FIP]),
                              ('lrp-1', ['198.51.100.1', FIP]),
                              ('lrp-2', ['198.51.100.1'])):
            self.assertEqual(wanted, self.announced(cloud.router(
                ports=ports, nats=(cloud.fip(FIP, gateway_port=named),))))

    def test_a_node_without_the_network_says_so(self):
        """The mappings are no remedy for another fault."""
        for values, words, other in (
                ({'bridge': '', 'device': '', 'mac': '', 'patch_port': 0},
                 ('1 of the distributed', FIP, 'set ovn-bridge-mappings'),
                 'ovn-controller'),
                ({'patch_port': 0}, ('ovn-controller',), 'mappings')):
            router = cloud.router(
                ports=(hosting(segment=cloud.segment(**values)),),
                nats=(distributed(),))
            self.assertEqual([], self.announced(router))
            problem, = self.of(resources.Problem, router)
            self.assertEqual((FIP,), problem.addresses)
            for word in words:
                self.assertIn(word, problem.text)
            self.assertNotIn(other, problem.text)

    def test_the_binding_of_a_router_with_distributed_addresses(self):
        """It is not the MAC of one node: all nodes use it at once."""
        for nats, mac in (((cloud.fip(FIP),), cloud.BRIDGE_MAC),
                          ((distributed(resident=False),),
                           ownership.VIRTUAL_GATEWAY_MAC)):
            router = cloud.router(nats=nats)
            for each in (router, dataclasses.replace(router, ports=(
                    cloud.port(networks=('2001:db8::1/64',)),))):
                bindings = self.of(resources.MacBinding, each)
                self.assertEqual({mac}, {one.mac for one in bindings})

    def test_it_is_withheld_like_any_other(self):
        router = cloud.router(ports=(hosting(),), nats=(distributed(),),
                              withheld=((FIP, 'of its row'),))
        self.assertEqual([], self.announced(router))
        self.assertEqual({FIP + '/32'}, {
            flow.dst for flow in self.of(resources.Flow, router)
            if flow.dst})
        self.assertEqual([], self.wanted(dataclasses.replace(
            router, routed_by_ovn=True)))


class LeakTest(base.DriverTestCase):

    name = 'veth_leak'

    def test_the_leak_of_a_node_with_machines(self):
        def rules(port):
            return {(rule.src, rule.dst) for rule in self.of(
                resources.Rule, cloud.router(ports=(port,)))}

        self.assertTrue(rules(hosting()))
        self.assertEqual(rules(cloud.port()), rules(hosting()))
        self.assertEqual(set(), rules(hosting(hosting=False)))


class NorthboundTest(base.FipRouteTestCase):

    def rows(self, router):
        return [r for r in self.wanted(router)
                if r.kind in ('default_route', 'mac_binding')]

    def test_a_router_without_a_gateway_gets_one(self):
        router = cloud.router()
        self.assertEqual(
            [resources.MacBinding('lrp-1', '198.51.100.254', OF_BRIDGE),
             resources.DefaultRoute(router.uuid, 'lrp-1', '198.51.100.254',
                                    cloud.OWNER)], self.rows(router))

    def test_one_with_a_gateway_of_somebody_gets_nothing(self):
        """Trap T25: no MAC binding either."""
        for routes in (FOREIGN,), (FOREIGN, OURS):
            router = cloud.router(default_routes=routes)
            self.assertEqual([], self.rows(router))
            self.assertEqual(set(), self.kept(router))
            self.assertEqual(['198.51.100.1'], self.announced(router))

    def test_one_through_a_port_of_another_chassis_is_not(self):
        """Two agents would take it from each other for ever.

        It goes through a port that is elsewhere, and through none here.
        """
        for outputs, owner, rows in (
                (['lrp-2'], cloud.OTHER, 0), (['lrp-2'], '', 2),
                (['lrp-1'], cloud.OTHER, 2), (['gone'], cloud.OTHER, 2),
                (['lrp-1', 'lrp-2'], cloud.OTHER, 2)):
            router = cloud.router(
                ports=(cloud.port(1), cloud.port(
                    2, local=False, chassis=owner,
                    networks=('203.0.113.1/24',))),
                default_routes=[OURS._replace(
                    owner=cloud.THEIRS, nexthop='203.0.113.254',
                    output_port=output) for output in outputs])
            self.assertEqual(rows, len(self.rows(router)), outputs)
            self.assertEqual(rows, 2 - len(self.kept(router)), outputs)
            self.assertEqual(['198.51.100.1'], self.announced(router))

    def test_a_router_that_moved_away_is_left_to_its_new_owner(self):
        # Trap T13.
        router = cloud.router(
            ports=(cloud.port(local=False, chassis=cloud.OTHER),),
            fips=[FIP], default_routes=(OURS,))
        self.assertEqual(
            {resources.Ref('default_route', (router.uuid, '0.0.0.0/0')),
             resources.Ref('mac_binding', ('lrp-1', '198.51.100.254'))},
            self.kept(router))
        # Also at the end of this agent.
        self.assertEqual({('keep', True)}, {
            (r.kind, r.foreign) for r in self.wanted(router)})

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
        for port in (cloud.port(nexthop_used=True),
                     cloud.port(networks=('198.51.100.1/31',)),
                     cloud.port(networks=('198.51.100.1/32',)),
                     cloud.port(networks=('2001:db8::1/64',
                                          '198.51.100.1/32'))):
            router = cloud.router(ports=(port,))
            found = [r for r in self.rows(router) if ':' not in
                     f'{r.key}'.replace(router.uuid, '')]
            self.assertEqual(
                [resources.MacBinding('lrp-1', GATEWAY, OF_BRIDGE),
                 resources.DefaultRoute(router.uuid, 'lrp-1', GATEWAY,
                                        cloud.OWNER)], found)

    def test_both_gateways_stay_while_the_user_is_not_known(self):
        doubtful = cloud.segment()._replace(patch_port=0)
        router = cloud.router(
            ports=(cloud.port(segment=doubtful),),
            default_routes=(OURS._replace(nexthop=GATEWAY),))
        self.assertEqual(
            {resources.Ref('default_route', (router.uuid, '0.0.0.0/0')),
             resources.Ref('mac_binding', ('lrp-1', '198.51.100.254')),
             resources.Ref('mac_binding', ('lrp-1', GATEWAY))},
            {ref for ref in self.kept(router)
             if ref.kind in ('default_route', 'mac_binding')})

    def test_what_is_not_announced_is_said(self):
        elsewhere = cloud.router(fips=[FIP, '192.0.2.7'])
        for router, words in (
                (elsewhere, '(192.0.2.7)'),
                (cloud.router(balanced=(
                    balanced('192.0.2.7'), balanced('10.0.0.9', False))),
                 '1 of the NAT addresses (192.0.2.7)'),
                (cloud.router(balanced=(
                    balanced(FIP, unanswered='it is distributed'),
                    balanced('10.0.0.9', False, 'it is so'))),
                 f'{FIP} of a load balancer is not announced, because it is '
                 'distributed')):
            said, = self.of(resources.Problem, router)
            self.assertIn(words, said.text)
        # By hand it is what was asked for.
        for router, options in (
                (cloud.router(fips=[FIP, '2001:db8::10']), {}),
                (elsewhere, {'network_cidr': ['198.51.100.0/24']})):
            self.assertEqual([], self.of(resources.Problem, router, **options))

    def test_the_first_port_with_an_address_for_one(self):
        router = cloud.router(ports=(
            cloud.port(1, networks=('203.0.113.1/32',)), cloud.port(2)))
        self.assertEqual(['lrp-2'], [
            r.lrp for r in self.of(resources.DefaultRoute, router)])
