# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Driver fip_route: from the view to resources, as tables."""

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.common import networks
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit.drivers import base

MAC, FIP = cloud.BRIDGE_MAC, base.FIP
OWN, balanced = '198.51.100.1', base.balanced
OTHER_SEGMENT = cloud.segment(datapath='dp-2', localnet_port='provnet-2',
                              physical_network='physnet2', bridge='br-other',
                              device='br-other', mac='0a:00:00:00:00:09')


class PlanesTest(base.FipRouteTestCase):

    def routes(self, router, **options):
        """(route, rule, announcement) of FIP, values as tuples."""
        return [(r.kind, *(v for v in (
            getattr(r, name, None) for name in (
                'vrf', 'priority', 'table', 'dev', 'nexthop', 'via'))
            if v is not None))
            for kind in (resources.KernelRoute, resources.Rule,
                         resources.Announcement, resources.AnnouncedRoute)
            for r in self.of(kind, router, **options)
            if r.subject == FIP + '/32']

    def test_methods_tables_and_vrfs(self):
        router = cloud.router(fips=[FIP])
        static = {}
        kernel = {'fip_route__announce_method': 'kernel'}
        own_table = {'fip_route__route_table_id': 201,
                     'fip_route__route_rule_priority': 1001}
        no_vrf = {'frr__vrf_name': ''}
        through_veth = ('announcement', 'vrf-provider', '169.254.0.1')
        in_vrf = ('announced_route', 10, 'veth-provider', '169.254.0.1')
        rule = ('rule', 1001, 201)
        for options, wanted in (
                (static, [('kernel_route', 254, 'br-ex'), through_veth]),
                (kernel, [('kernel_route', 254, 'br-ex'), in_vrf]),
                (static | own_table, [('kernel_route', 201, 'br-ex'), rule,
                                      through_veth]),
                (kernel | own_table, [('kernel_route', 201, 'br-ex'), rule,
                                      in_vrf]),
                # The route that BGP sees is the one to the bridge: one
                # beside it would hide FRR's.
                (static | no_vrf, [('announcement', '', 'br-ex')]),
                (kernel | no_vrf, [('announced_route', 254, 'br-ex')]),
                (static | no_vrf | own_table,
                 [('kernel_route', 201, 'br-ex'), rule,
                  ('announcement', '', 'br-ex')]),
                (kernel | no_vrf | own_table,
                 [('kernel_route', 201, 'br-ex'), rule,
                  ('announced_route', 254, 'br-ex')])):
            self.assertEqual(wanted, self.routes(router, **options), options)

    def test_without_the_vrf_there_is_no_route_in_it(self):
        args = (cloud.router(fips=[FIP]), cloud.node(
            devices=(model.Device('br-ex', MAC, True),)))
        options = {'fip_route__announce_method': 'kernel'}
        self.assertEqual([], self.announced(*args, **options))
        self.assertTrue(self.of(resources.KernelRoute, *args, **options))

    def test_flows(self):
        flows = {(f.priority, f.family, f.dst): f for f in self.of(
            resources.Flow, cloud.router(fips=[FIP]))}
        self.assertEqual(
            {(900, 4, None), (900, 6, None), (910, 4, FIP + '/32'),
             (910, 4, '198.51.100.1/32')}, set(flows))
        for family in (4, 6):
            tweak = flows[900, family, None]
            self.assertEqual(('br-ex', 0x999, 3, None, MAC, 'normal'), (
                tweak.bridge, tweak.cookie, tweak.in_port, tweak.set_src,
                tweak.set_dst, tweak.output))
        hairpin = flows[910, 4, FIP + '/32']
        self.assertEqual(
            ('br-ex', 0x998, 3, MAC, 'fa:16:3e:00:00:01', 'in_port'),
            (hairpin.bridge, hairpin.cookie, hairpin.in_port,
             hairpin.set_src, hairpin.set_dst, hairpin.output))

    def test_an_announcement_rests_on_route_and_mac_tweak(self):
        wanted = self.wanted(cloud.router(fips=[FIP]))
        announcement = next(r for r in wanted if r.kind == 'announcement'
                            and r.prefix == FIP + '/32')
        self.assertEqual(
            {('flow', ('br-ex', 900, 3, 4, None)),
             ('flow', ('br-ex', 900, 3, 6, None)),
             ('kernel_route', (254, FIP + '/32'))},
            {(ref.kind, ref.key) for ref in announcement.requires})
        self.assertLessEqual({ref for r in wanted for ref in r.requires},
                             {r.ref for r in wanted})

    def test_prefix_list(self):
        router = cloud.router(ports=(cloud.port(networks=(
            '198.51.100.1/24', '2001:db8::1/64', '203.0.113.1/28')),))
        self.assertEqual(
            [('ANNOUNCED-NETWORKS', '198.51.100.0/24', 32, 32),
             ('ANNOUNCED-NETWORKS', '203.0.113.0/28', 32, 32),
             ('ANNOUNCED-NETWORKS', '2001:db8::/64', 128, 128)],
            [r.key for r in self.of(resources.PrefixListEntry, router)])
        self.assertEqual([], self.of(resources.PrefixListEntry, router,
                                       frr__frr_prefix_list=''))

    def test_what_a_standby_prepares(self):
        """Trap T53: decided, and not what was left over."""
        port = model.GroupPort('cr-lrp-1', cloud.OTHER, 'lrp-1',
                               ('198.51.100.1/24',), cloud.segment())

        for changed, options, wanted in (
                ({}, {}, ['flow', 'flow', 'prefix_list_entry']),
                ({}, {'frr__frr_prefix_list': ''}, ['flow', 'flow']),
                ({}, {'fip_route__standby_prepare': False}, []),
                ({'segment': None}, {}, []),
                ({'chassis': cloud.CHASSIS}, {}, [])):
            self.assertEqual(wanted, self.kinds(model.GatewayGroup(
                'HA_Chassis_Group', ports=(port._replace(**changed),)),
                **options))

    def test_the_node(self):
        self.assertEqual({'net/ipv4/conf/br-ex/proxy_arp': '1',
                          'net/ipv4/conf/br-ex/forwarding': '1',
                          'net/ipv4/neigh/br-ex/proxy_delay': '0'}, {
            r.path: r.value
            for r in self.of(resources.Sysctl, cloud.node())})
        self.assertIn(resources.Address('br-ex', '169.254.169.254/32'),
                      self.wanted(cloud.node()))
        self.assertNotIn('address', self.kinds(cloud.node(), bridge_ip=''))


class AddressesTest(base.FipRouteTestCase):

    def test_what_is_announced(self):
        local, outside = cloud.port(), cloud.port(networks=('192.0.2.1/24',))
        far = '203.0.113.8'
        snat = model.Nat('snat', OWN, '10.0.0.0/24')
        for what, wanted, values, *options in (
                ('FIP and the port', [OWN, FIP], {'fips': [FIP]}),
                ('SNAT on the address of the port', [OWN], {'nats': (snat,)}),
                ('SNAT elsewhere', [OWN, '198.51.100.77'], {'nats': (
                    snat._replace(external_ip='198.51.100.77'),)}),
                ('the same address twice', [OWN, FIP], {'nats': (
                    snat, cloud.fip(FIP),
                    cloud.fip(FIP, logical_ip='10.0.0.6'))}),
                ('nat_addresses before the NAT row', [OWN, '198.51.100.33'],
                 {'sent': (OWN, '198.51.100.33')}),
                ('load balancers, one of them of a tenant', [OWN, FIP], {
                    'balanced': (balanced('10.0.0.9', floating=False),
                                 balanced(FIP), balanced('2001:db8::9'))}),
                ('a load balancer that OVN does not answer for', [OWN], {
                    'balanced': (balanced(
                        FIP, unanswered='it is distributed'),)}),
                ('outside of the networks', [OWN], {'fips': ['192.0.2.7']}),
                ('of a port on another chassis', [OWN, FIP], {
                    'fips': [FIP, far], 'ports': (local, cloud.port(
                        2, local=False, chassis='elsewhere',
                        networks=('203.0.113.1/24',)))},
                 ['198.51.100.0/24', '203.0.113.0/24']),
                ('distributed', [OWN], {'nats': (cloud.fip(
                    '198.51.100.11', distributed_mac='fa:16:3e:00:00:aa'),)}),
                ('IPv6', [OWN], {'fips': ['2001:db8::10']}),
                ('not here', [], {'fips': [FIP],
                                  'ports': (cloud.port(local=False),)}),
                ('no port at all', [], {'fips': [FIP], 'ports': ()}),
                ('manual networks with the port outside', [FIP], {
                    'fips': [FIP, '192.0.2.9'], 'ports': (outside,)},
                 ['198.51.100.0/24']),
                ('two addresses on the port', [OWN, FIP, '203.0.113.1', far], {
                    'fips': [FIP, far], 'ports': (cloud.port(networks=(
                        '198.51.100.1/24', '203.0.113.1/24')),)}),
                ('one port here and one away', [OWN, FIP], {
                    'fips': [FIP, far], 'ports': (local, cloud.port(
                        2, local=False, networks=('203.0.113.1/24',)))})):
            self.assertEqual(wanted, self.announced(
                cloud.router(**values),
                network_cidr=options[0] if options else []), what)

    def hairpins(self, *args, **options):
        return {f.dst: f.set_dst for f in self.of(
            resources.Flow, *args, **options) if f.dst}

    def test_ipv6_outside_of_the_networks_is_only_reflected(self):
        router = cloud.router(
            ports=(cloud.port(networks=('198.51.100.1/24',
                                        '2001:db8::1/64')),),
            fips=[FIP, '2001:db8::10'])
        options = {'network_cidr': ['198.51.100.0/24']}
        wanted = self.wanted(router, **options)
        self.assertEqual(
            {'198.51.100.1/32', FIP + '/32', '2001:db8::1/128',
             '2001:db8::10/128'}, set(self.hairpins(router, **options)))
        self.assertEqual(
            {6}, {f.family for f in wanted if f.kind == 'flow' and
                  f.dst and ':' in f.dst})
        for resource in wanted:
            if resource.kind != 'flow':
                self.assertNotIn('2001:', str(resource))

    def test_two_gateway_ports_have_each_their_own(self):
        router = cloud.router(
            ports=(cloud.port(1), cloud.port(2, networks=('203.0.113.1/24',))),
            fips=[FIP, '203.0.113.8'])
        self.assertEqual(
            {'198.51.100.1/32': 'fa:16:3e:00:00:01',
             FIP + '/32': 'fa:16:3e:00:00:01',
             '203.0.113.1/32': 'fa:16:3e:00:00:02',
             '203.0.113.8/32': 'fa:16:3e:00:00:02'}, self.hairpins(router))
        # One default route is all a router can have.
        self.assertEqual(['lrp-1'], [r.lrp for r in self.of(
            resources.DefaultRoute, router)])


class UnresolvedTest(base.FipRouteTestCase):

    def test_what_is_there_stays_and_nothing_is_made(self):
        """Trap T50: nothing moves to another device for want of knowledge."""
        for segment in (None, cloud.segment(mac=''),
                        cloud.segment(patch_port=0), OTHER_SEGMENT):
            router = cloud.router(ports=(cloud.port(segment=segment),),
                                  fips=[FIP])
            self.assertEqual([], self.announced(router), segment)
            self.assertEqual({'keep', 'prefix_list_entry'},
                             {*self.kinds(router)}, segment)
            kept = self.kept(router)
            for kind, key in (
                    ('kernel_route', (254, FIP + '/32')),
                    ('announced_route', (10, FIP + '/32')),
                    ('announcement', ('vrf-provider', FIP + '/32')),
                    ('announcement', ('vrf-provider', '198.51.100.1/32')),
                    ('default_route', (router.uuid, '0.0.0.0/0')),
                    ('mac_binding', ('lrp-1', '198.51.100.254'))):
                self.assertIn(resources.Ref(kind, key), kept, segment)

    def test_with_a_table_of_their_own_the_rules_stay_too(self):
        router = cloud.router(ports=(cloud.port(segment=None),), fips=[FIP])
        options = {'fip_route__route_table_id': 201}
        self.assertLessEqual({
            each.ref for each in self.wanted(cloud.router(fips=[FIP]),
                                             **options)
            if each.kind in ('kernel_route', 'rule', 'announcement')},
            self.kept(router, **options))

    def test_one_of_two_ports(self):
        router = cloud.router(
            ports=(cloud.port(1, segment=None), cloud.port(
                2, networks=('203.0.113.1/24',))),
            fips=[FIP, '203.0.113.8'])
        self.assertEqual(['203.0.113.1', '203.0.113.8'],
                         self.announced(router))
        self.assertIn(resources.Ref('announcement',
                                    ('vrf-provider', FIP + '/32')),
                      self.kept(router))


class NetworksTest(base.DriverTestCase):

    def test_provider_networks(self):
        for found, manual, wanted in (
                (['2001:db8::1/64', '203.0.113.1/28', '198.51.100.1/24',
                  '198.51.100.2/24', 'fe80::1/64', 'nonsense'], (),
                 ['198.51.100.0/24', '203.0.113.0/28', '2001:db8::/64']),
                (['198.51.100.1/24', '2001:db8::1/64'], ['192.0.2.0/24'],
                 ['192.0.2.0/24']),
                ([], ['2001:db8:1::/64', '192.0.2.0/24'],
                 ['192.0.2.0/24', '2001:db8:1::/64']), ([], (), [])):
            self.assertEqual(wanted, [str(each) for each in (
                networks.provider_networks(found, manual))])
