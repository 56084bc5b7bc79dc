# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Drivers provider_port and tenant_network: from the view to resources."""

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import world
from ovn_network_agent.tests.unit.drivers import base

ONE = '198.51.100.10'
NET, SIX, BALANCED = '10.0.0.0/24', '2001:db8:1::/64', '10.0.9.0/24'
VIA, TABLE = '198.51.100.1', 10
HANDOVER, tenant = model.Handover, cloud.tenant
# Segments that cannot be used for the moment.
DOUBTFUL = (None, cloud.segment(patch_port=0), cloud.segment(mac=''),
            cloud.segment(bridge='', device=''))


def network(**values):
    return model.ProviderNetwork(**{
        'uuid': 'net', 'called': 'public',
        'networks': ('198.51.100.0/24',), 'segment': cloud.segment(),
        **values})


def address(found=ONE, of=None, **values):
    return model.PortAddress(of or network(), 'vm-1', found,
                             'fa:16:3e:00:00:01', **values)


class ProviderPortTest(base.DriverTestCase):

    name = 'provider_port'

    def problem(self, subject, **options):
        found, = self.wanted(subject, **options)
        return found.naming(found.addresses).text

    def test_an_address(self):
        route, announced = self.wanted(address(tag=4400001))
        self.assertEqual(resources.KernelRoute(254, f'{ONE}/32', 'br-ex'),
                         route)
        self.assertEqual(
            resources.Announcement('vrf-provider', f'{ONE}/32',
                                   '169.254.0.1', 4400001), announced)
        flows = {flow.ref for flow in self.of(resources.Flow, network())}
        self.assertEqual(2, len(flows))
        self.assertLessEqual({route.ref, *flows}, {*announced.requires})

    def test_a_machine_that_comes(self):
        """Announced as soon as it runs here; before, nothing is made."""
        self.assertEqual(self.wanted(address()),
                         self.wanted(address(bound=False)))
        coming = address(bound=False, announced=False)
        self.assertEqual({'keep'}, {*self.kinds(coming)})
        self.assertLessEqual({each.ref for each in self.wanted(address())},
                             {keep.of for keep in self.wanted(coming)})

    def test_a_port_that_is_not_up(self):
        """Its announcement stays if there is one."""
        route, *kept = self.wanted(address(announced=False))
        self.assertEqual('kernel_route', route.kind)
        self.assertEqual({'keep'}, {each.kind for each in kept})
        refs = {keep.of for keep in kept}
        self.assertNotIn(route.ref, refs)
        self.assertLessEqual({
            resources.Ref('announcement', ('vrf-provider', f'{ONE}/32')),
            resources.Ref('announced_route', (10, f'{ONE}/32'))}, refs)
        # Its announcement is the only route without a VRF, and no other one
        # comes for the moment in which ovn-controller starts.
        for method in 'kernel', 'static':
            self.assertEqual({'keep'}, set(self.kinds(
                address(announced=False), frr__vrf_name='',
                fip_route__announce_method=method)))

    def test_by_each_method_with_and_without_a_vrf(self):
        for kernel in (False, True):
            for vrf in ('', 'vrf-provider'):
                found = self.wanted(
                    address(), frr__vrf_name=vrf,
                    fip_route__announce_method='kernel' if kernel
                    else 'static')
                self.assertEqual(
                    (['kernel_route'] if vrf else []) +
                    ['announced_route' if kernel else 'announcement'],
                    [each.kind for each in found])

    def test_a_table_of_its_own(self):
        for subject, name, dst in ((address(), '', f'{ONE}/32'),
                                   (tenant(), 'tenant_network', NET)):
            self.assertIn(resources.Rule(1500, 100, dst=dst), self.wanted(
                subject, name=name, fip_route__route_table_id=100,
                fip_route__route_rule_priority=1500))

    def test_a_network(self):
        found = self.wanted(network())
        self.assertIn(resources.PrefixListEntry(
            world.conf().frr.frr_prefix_list, '198.51.100.0/24'), found)
        self.assertIn(resources.Flow(
            'br-ex', ownership.COOKIE_MAC_TWEAK,
            ownership.PRIORITY_MAC_TWEAK, 3, 4,
            set_dst=cloud.BRIDGE_MAC), found)

    def test_leak_of_the_network(self):
        rules = {(rule.src, rule.dst, rule.table, rule.iif) for rule
                 in self.of(resources.Rule, network(), name='veth_leak')}
        self.assertLessEqual(
            {('198.51.100.0/24', None, 200, None),
             ('198.51.100.0/24', None, resources.BLACKHOLE, 'br-ex'),
             (None, '198.51.100.0/24', resources.BLACKHOLE,
              'veth-default')}, rules)
        self.assertNotIn('problem', self.kinds(network(), name='veth_leak'))
        # A VRF without a default route drops what machines send.
        self.assertIn('problem', self.kinds(network(), cloud.node(
            devices=tuple(each._replace(default_route=False)
                          for each in cloud.node().devices)), 'veth_leak'))

    def test_what_is_not_announced(self):
        self.assertEqual([], self.wanted(address(withheld='no')))
        self.assertEqual(
            'network public: 198.51.100.10 of port vm-1 is not announced, '
            'because a router port has it, too; give one of them another '
            'address', self.problem(address(claimed='a router port')))
        self.assertEqual(
            'network public: 1 of the addresses of machines (192.0.2.1) in no '
            'subnet that OVN has of the network, and not announced; name all '
            'provider networks in [DEFAULT] network_cidr',
            self.problem(address('192.0.2.1')))
        # Of another family than the subnets.
        self.assertIn('(2001:db8::30) in no subnet',
                      self.problem(address('2001:db8::30')))
        self.assertEqual([], self.wanted(
            address('192.0.2.1'), network_cidr=['198.51.100.0/24']))

    def test_a_segment_in_doubt_keeps_what_is_announced(self):
        for segment in DOUBTFUL:
            of = network(segment=segment)
            self.assertEqual({'keep'}, {*self.kinds(address(of=of))})
            self.assertNotIn('problem', self.kinds(of))
            found, = self.of(resources.Problem, of._replace(named=True))
            self.assertIn('[provider_port] networks', found.text)

    def test_router_advertisements(self):
        of = network(networks=('198.51.100.0/24', '2001:db8::/64'))

        kind = resources.RouterAdvertisement
        for managed in False, True:
            sent, = self.of(kind, of._replace(managed=managed))
            self.assertEqual((('2001:db8::/64',), managed, False),
                             (sent.prefixes, sent.managed, sent.other))
        for none, options in (
                (network(), {}), (of._replace(advertised=True), {}),
                (of, {'provider_port__router_advertisements': False})):
            self.assertEqual([], self.of(kind, none, **options))

    def test_the_gateways_of_ipv6(self):
        of = network(networks=('2001:db8::/64', '2001:db8:0:1::/64'))
        first, second, far = '2001:db8::1', '2001:db8:0:1::1', '2001:db8::5'
        chosen, outside = ['2001:db8::fe', '2001:db8::ff'], '2001:db8:0:2::5'
        for subject, gateways, wanted in (
                (of, [], {first, second}), (of, chosen, {*chosen, second}),
                (of._replace(routers=(first,)), [], {second}),
                (network(elsewhere=(outside,)), [], set()),
                (of._replace(elsewhere=(far, outside)), [],
                 {first, second, far})):
            self.assertEqual(wanted, {each.dst for each in self.of(
                resources.NeighbourProxy, subject,
                provider_port__ipv6_gateways=gateways)})
        self.assertLessEqual(
            {('net/ipv6/conf/br-ex/proxy_ndp', '1'),
             ('net/ipv6/neigh/br-ex/proxy_delay', '0')},
            {(each.path, each.value)
             for each in self.of(resources.Sysctl, of)})


class TenantNetworkTest(base.DriverTestCase):

    name = 'tenant_network'

    def leak(self, subject):
        return self.wanted(subject, name='veth_leak')

    def problem(self, *args, **options):
        return '; '.join(each.text for each in self.of(
            resources.Problem, *args, **options))

    def test_a_subnet_in_a_vrf(self):
        entry, gateway, route, announced = self.wanted(tenant(tag=4400001))
        self.assertEqual(resources.Neighbour('br-ex', VIA, '',
                                             'fa:16:3e:00:00:01'), gateway)
        name = world.conf().frr.frr_prefix_list
        self.assertEqual(resources.PrefixListEntry(name, NET, 24, 24), entry)
        self.assertEqual(resources.KernelRoute(254, NET, 'br-ex', VIA), route)
        self.assertEqual(resources.Announcement(
            'vrf-provider', NET, '169.254.0.1', 4400001), announced)
        self.assertLessEqual({route.ref, gateway.ref}, {*announced.requires})
        # The route stays as long as the announcement cannot be withdrawn.
        self.assertEqual({NET}, {route.subject, announced.subject})
        *_rest, announced = self.wanted(
            tenant(), fip_route__announce_method='kernel')
        self.assertEqual(resources.AnnouncedRoute(
            TABLE, NET, 'veth-provider', '169.254.0.1'), announced)
        self.assertEqual(NET, announced.subject)

    def test_a_subnet_without_a_vrf(self):
        entry, _gateway, announced = self.wanted(tenant(), frr__vrf_name='')
        self.assertEqual('prefix_list_entry', entry.kind)
        self.assertEqual(resources.Announcement(
            '', NET, f'{VIA} br-ex onlink'), announced)
        *_entry, announced = self.wanted(tenant(tag=4400001), frr__vrf_name='',
                                         fip_route__announce_method='kernel')
        self.assertEqual(resources.AnnouncedRoute(
            254, NET, 'br-ex', VIA, 4400001), announced)

    def test_ipv6_and_one_address(self):
        port = cloud.port(networks=('2001:db8::1/64',))
        found = self.wanted(tenant(SIX, port=port, via='2001:db8::1'))
        self.assertIn(resources.KernelRoute(254, SIX, 'br-ex',
                                            '2001:db8::1'), found)
        self.assertEqual(ownership.NEXT_HOP_6, found[-1].nexthop)
        entry, _gateway, route, _announced = self.wanted(
            tenant('10.0.0.5/32', NET))
        self.assertEqual((NET, 32, 32), (entry.network, entry.ge, entry.le))
        self.assertEqual('10.0.0.5/32', route.dst)

    def test_a_handover(self):
        port = cloud.port(local=False, handover=HANDOVER.ANNOUNCE, relay=7)
        found = self.wanted(tenant(port=port))
        self.assertIn(resources.Flow(
            'br-ex', ownership.COOKIE_RELAY, ownership.PRIORITY_RELAY,
            resources.LOCAL, 4, NET, set_dst=port.mac, output='ports:7,3'),
            found)
        self.assertIn(resources.Neighbour('br-ex', VIA, '', port.mac), found)
        self.assertIn('announcement', [each.kind for each in found])
        found = self.kinds(tenant(port=port._replace(
            handover=HANDOVER.FORWARD)))
        self.assertIn('kernel_route', found)
        self.assertNotIn('announcement', found)

    def test_the_last_packets_without_a_vrf(self):
        """The route that was the announcement has gone."""
        port = cloud.port(local=False, handover=HANDOVER.FORWARD)
        for method in ('kernel', 'static'):
            route, rule = self.wanted(
                tenant(port=port), frr__vrf_name='',
                fip_route__announce_method=method)[-2:]
            self.assertEqual(
                resources.KernelRoute(200, NET, 'br-ex', VIA), route)
            self.assertEqual(resources.Rule(2000, 200, dst=NET), rule)

    def test_what_is_not_announced(self):
        self.assertEqual([], self.wanted(tenant(withheld='no')))
        self.assertIn('the provider network of router r2',
                      self.problem(tenant(claimed='r2')))
        self.assertIn(f'its gateway {VIA} in no network',
                      self.problem(tenant(), network_cidr=['192.0.2.0/24']))
        for subject in (tenant(claimed='r2'), tenant(
                rivals=('x',), claim=model.Claim.REFUSED)):
            self.assertEqual(['problem'], self.kinds(subject))
            self.assertEqual([], self.leak(subject))

    def test_two_routers(self):
        for claim, kinds, text in (
                (model.Claim.FIRST, {'announcement'}, 'had it first'),
                (model.Claim.UNKNOWN, {'keep'}, 'does not know who'),
                (model.Claim.REFUSED, set(), 'not announced')):
            subject = tenant(rivals=(f'{NET} of router r2',), claim=claim)
            self.assertLessEqual(kinds, {*self.kinds(subject)})
            self.assertIn(f'router r1: {NET} of network net overlaps with '
                          f'{NET} of router r2; ', self.problem(subject))
            self.assertIn(text, self.problem(subject))

    def test_a_virtual_ip_without_its_network(self):
        """It has the list entry and the rules of its network."""
        subject = tenant('10.0.0.5/32', NET, alone=True)
        entry, _gateway, route, _announced = self.wanted(subject)
        self.assertEqual((NET, 32, 32), (entry.network, entry.ge, entry.le))
        self.assertEqual(('10.0.0.5/32', VIA), (route.dst, route.via))
        self.assertIn((NET, 'br-ex'), [
            (rule.src, rule.iif) for rule in self.leak(subject)])
        text = self.problem(subject._replace(
            rivals=('10.0.0.5/32 of router r2',),
            claim=model.Claim.REFUSED))
        self.assertIn('router r1: virtual IP 10.0.0.5/32 overlaps with '
                      '10.0.0.5/32 of router r2; it is not announced', text)
        self.assertIn('= false on its load balancer or router', text)

    def test_a_segment_in_doubt_keeps_what_is_announced(self):
        for segment in DOUBTFUL:
            subject = tenant(port=cloud.port(segment=segment))
            self.assertEqual({'keep'}, {*self.kinds(subject)})
            self.assertIn(('vrf-provider', NET), [
                each.of.key for each in self.wanted(subject)])

    def test_way_back(self):
        found = self.leak(tenant('10.0.0.5/32', NET))
        self.assertEqual(
            {(2000, NET, None, 200, 'br-ex', None),
             (1997, None, NET, 254, 'veth-default', 0),
             (1998, None, NET, resources.BLACKHOLE, 'veth-default', None)},
            {(rule.priority, rule.src, rule.dst, rule.table, rule.iif,
              rule.suppress) for rule in found})
        self.assertEqual([], self.leak(tenant(withheld='no')))
        self.assertEqual({'keep'}, {each.kind for each in self.leak(
            tenant(claim=model.Claim.UNKNOWN))})
        self.assertIn('keep', [each.kind for each in self.leak(
            tenant(port=cloud.port(segment=None)))])

    def test_the_last_packets(self):
        """No route that the prefix list permits leads to the pair."""
        port = cloud.port(local=False, handover=HANDOVER.FORWARD)
        for prefix, ways in ((NET, {'10.0.0.0/25', '10.0.0.128/25'}),
                             ('10.0.0.5/32', {NET})):
            self.assertEqual(ways, {
                each.dst for each in self.of(
                    resources.KernelRoute, tenant(prefix, NET, port=port),
                    name='veth_leak')
                if (each.table, each.dev) == (TABLE, 'veth-provider')})
        self.assertNotIn('kernel_route', self.kinds(tenant(
            '10.0.0.5/32', port=port), name='veth_leak'))

    def test_a_standby_prepares(self):
        group = model.GatewayGroup('Gateway_Chassis', 'g', ports=(
            model.GroupPort('cr-lrp-1', cloud.OTHER, 'lrp-1',
                            ('198.51.100.1/24',), cloud.segment(),
                            routed=(NET, SIX), balanced=(BALANCED,)),))
        self.assertEqual(
            [(NET, 24), (SIX, 64), (BALANCED, 32)],
            [(each.network, each.ge) for each in self.wanted(group)])
        self.assertEqual(
            [(NET, 32), (SIX, 128), (BALANCED, 32)],
            [(each.network, each.le) for each in self.wanted(
                group, tenant_network__advertisement_method='host')])
        self.assertLessEqual({(NET, 'br-ex', 200), (BALANCED, 'br-ex', 200)}, {
            (each.src, each.iif, each.table) for each in self.of(
                resources.Rule, group, name='veth_leak')})
        self.assertEqual([], self.wanted(
            group, fip_route__standby_prepare=False))
