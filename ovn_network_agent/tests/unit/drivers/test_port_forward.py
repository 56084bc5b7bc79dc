# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Driver port_forward: what it wants for which rules."""

import dataclasses

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.engine import contributions
from ovn_network_agent.engine import tracking
from ovn_network_agent.model import port_forwards
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import golden
from ovn_network_agent.tests.unit import world
from ovn_network_agent.tests.unit.drivers import base

PREFIX = '192.0.2.53/32'
LINE = resources.PrefixListEntry('ANNOUNCED-NETWORKS', PREFIX)
ADDRESS = resources.VipAddress('loopback1', PREFIX)
TABLE = resources.Ref('nft_table', ('ip',))
ANSWERS, only = (0x200, 0x200), base.only


class PortForwardTestCase(base.DriverTestCase):

    name = 'port_forward'

    def elements(self, subject, *versions, **options):
        """Keys of what is wanted while there are VIPs of these versions."""
        return {r.key for r in self.wanted(subject, cloud.node(
            extent=port_forwards.Extent(versions)), **options)}


class PortForwardTest(PortForwardTestCase):

    def forwards(self, *vips, gateway=True, node=None, **options):
        return self.wanted(port_forwards.Forwards(vips, gateway), node,
                           **options)

    def problems(self, wanted):
        return [r.text for r in only(resources.Problem, wanted)]

    def unmanaged(self, address='192.0.2.53', **values):
        return port_forwards.Vip(address, rules=(golden.rule(),), **values)

    def test_port_forwarding_alone_needs_no_frr(self):
        """Row PFM-02: only the address of a managed VIP."""
        alone = {'ovn__ovn_nb_remote': [], 'ovn__ovn_sb_remote': []}
        wanted = self.forwards(golden.vip(), gateway=None, **alone)
        self.assertIn(ADDRESS.ref, [r.ref for r in wanted])
        for unmanaged in (self.unmanaged(), self.unmanaged('2001:db8::53')):
            wanted += self.forwards(unmanaged, gateway=None, **alone)
        self.assertEqual(
            {'nft_table', 'kernel_route', 'rule', 'vip_address', 'address',
             'neighbour'}, {r.kind for r in wanted})

    def test_nothing_without_vips(self):
        # Row PF-01.
        self.assertEqual([], self.forwards())
        router = cloud.router(fips=('198.51.100.10',))
        for extent in (None, port_forwards.Extent()):
            self.assertEqual([], self.wanted(
                router, cloud.node(extent=extent)))

    def test_a_managed_vip(self):
        # Rows PF-10, PF-19, PF-25, PF-26; traps T36, T37.
        wanted = self.forwards(golden.vip())
        self.assertLessEqual({
            resources.Rule(150, 254, fwmark=(0x100, 0x100)),
            resources.Rule(151, 201, fwmark=ANSWERS),
            resources.Rule(152, resources.BLACKHOLE, fwmark=ANSWERS),
            resources.KernelRoute(201, '0.0.0.0/0', 'veth-default',
                                  '169.254.0.2'), LINE, ADDRESS}, {*wanted})
        self.assertEqual([], only(resources.Announcement, wanted))
        # No line where no list is managed.
        self.assertNotIn('prefix_list_entry', [r.kind for r in self.forwards(
            golden.vip(), frr__frr_prefix_list='')])

    def test_the_address_waits_for_the_way_to_the_backend_and_back(self):
        wanted = self.forwards(golden.vip())
        address, = only(resources.VipAddress, wanted)
        way = {r.ref for r in wanted
               if r.kind in ('rule', 'kernel_route', 'nft_table')}
        self.assertEqual(5, len(way))
        self.assertEqual(way, set(address.requires))

    def test_a_vip_has_no_flow(self):
        # Row OVS-03: it is no address of a router.
        wanted = [*self.forwards(golden.vip()), *self.wanted(
            cloud.router(), cloud.node(extent=port_forwards.Extent((4,))))]
        self.assertEqual([], only(resources.Flow, wanted))

    def test_other_numbers_and_names(self):
        wanted = self.forwards(
            golden.vip(), port_forward__port_forward_dev='dummy7',
            port_forward__port_forward_table_id=77,
            port_forward__port_forward_ct_zone=4711,
            veth_leak__veth_provider_ip='192.0.2.1',
            frr__frr_prefix_list='OUT')
        self.assertLessEqual({
            resources.Rule(151, 77, fwmark=ANSWERS),
            resources.KernelRoute(77, '0.0.0.0/0', 'veth-default',
                                  '192.0.2.1'),
            resources.PrefixListEntry('OUT', PREFIX),
            resources.VipAddress('dummy7', PREFIX)}, {*wanted})
        table, = only(resources.NftTable, wanted)
        self.assertIn('ct zone set 4711', golden.rendered(table))
        # The rules of marked answers go after the table that marks them.
        self.assertEqual({rule.ref for rule in wanted
                          if isinstance(rule, resources.Rule) and rule.fwmark},
                         {*table.requires})

    def test_l3mdev_accept_only_when_asked_for(self):
        # Row PF-24.
        self.assertEqual([], only(resources.Sysctl,
                                     self.forwards(golden.vip())))
        self.assertEqual(
            [resources.Sysctl('net/ipv4/tcp_l3mdev_accept', '1'),
             resources.Sysctl('net/ipv4/udp_l3mdev_accept', '1')],
            only(resources.Sysctl, self.forwards(
                golden.vip(),
                port_forward__port_forward_l3mdev_accept=True)))

    def test_destinations_get_no_redirects(self):
        # Row PFT-15.
        self.assertEqual(
            [resources.Sysctl(f'net/ipv4/conf/{name}/send_redirects', '0')
             for name in ('all', 'bond0.7', 'eth0')],
            self.of(resources.Sysctl, port_forwards.Forwards(
                (golden.vip(),), True, ('bond0.7', 'eth0'))))

    def test_default_vrf_needs_no_marks(self):
        wanted = self.forwards(golden.vip(), frr__vrf_name='')
        self.assertEqual([], only(resources.Rule, wanted))
        self.assertEqual([], only(resources.KernelRoute, wanted))
        table, = only(resources.NftTable, wanted)
        for word in ('mark', 'guard', 'veth'):
            self.assertNotIn(word, golden.rendered(table))
        self.assertIn(ADDRESS, wanted)

    def test_ipv6(self):
        wanted = self.forwards(golden.vip(address='2001:db8::53'))
        self.assertLessEqual({
            resources.KernelRoute(201, '::/0', 'veth-default',
                                  'fe80::a9fe:2'),
            resources.Rule(150, 254, fwmark=(0x100, 0x100), ipv6=True),
            resources.Rule(151, 201, fwmark=ANSWERS, ipv6=True),
            resources.Rule(152, resources.BLACKHOLE, fwmark=ANSWERS,
                           ipv6=True),
            resources.PrefixListEntry('ANNOUNCED-NETWORKS',
                                      '2001:db8::53/128', 128, 128),
            resources.VipAddress('loopback1', '2001:db8::53/128')}, {*wanted})
        self.assertEqual([('ip6',)], [r.key for r in only(
            resources.NftTable, wanted)])

    def test_each_family_has_its_own(self):
        wanted = self.forwards(golden.vip(),
                               golden.vip(address='2001:db8::53'))
        self.assertEqual([('ip',), ('ip6',)], [r.key for r in only(
            resources.NftTable, wanted)])
        self.assertEqual(7, len(only(resources.Rule, wanted)))
        # For IPv4, veth_leak has this rule.
        self.assertIn(resources.Rule(1999, resources.BLACKHOLE,
                                     iif='veth-provider', ipv6=True), wanted)
        self.assertEqual(len(wanted), len({r.ref for r in wanted}))

    def test_with_gateway_is_dormant_without_one(self):
        # Row A-08.
        for gateway, announced in ((True, True), (False, False),
                                   (None, False)):
            self.assertIn(ADDRESS, self.forwards(golden.vip(),
                                                 gateway=gateway))
            wanted = self.forwards(golden.vip(), gateway=gateway,
                                   port_forward__vip_announce='with-gateway')
            self.assertEqual(announced, ADDRESS in wanted)
            # bgpd would apply a new line only after some seconds.
            self.assertIn(LINE, wanted)
            self.assertEqual(1, len(only(resources.NftTable, wanted)))

    def test_a_dormant_vip_that_is_not_prepared(self):
        dormant = {'gateway': False,
                   'port_forward__vip_announce': 'with-gateway'}
        self.assertNotIn(LINE, self.forwards(
            golden.vip(), fip_route__standby_prepare=False, **dormant))
        # The line alone would announce an address that is on a device.
        self.assertNotIn(LINE, self.forwards(
            self.unmanaged(present=True), **dormant))

    def test_a_dead_vip_is_withdrawn_and_still_translated(self):
        """One live rule keeps it."""
        dead = port_forwards.Rule('udp', 53, 53, (
            port_forwards.Destination('10.0.0.1', alive=False),))
        for rules, there in (([dead], False), ([dead, golden.rule(port=54)],
                                               True)):
            wanted = self.forwards(golden.vip(*rules))
            self.assertEqual(there, ADDRESS in wanted)
            self.assertEqual(1, len(only(resources.NftTable, wanted)))

    def test_an_address_of_the_operator_is_only_let_out(self):
        # Rows PF-19, A-09, trap T36: its connected route is announced.
        wanted = self.forwards(self.unmanaged(present=True))
        self.assertIn(LINE, wanted)
        for kind in (resources.VipAddress, resources.Announcement,
                     resources.AnnouncedRoute):
            self.assertEqual([], only(kind, wanted))

    def test_an_address_that_nobody_has(self):
        # Row A-09.
        static = resources.Announcement('vrf-provider', PREFIX, '169.254.0.1')
        kernel = resources.AnnouncedRoute(10, PREFIX, 'veth-provider',
                                          '169.254.0.1')
        drop = resources.Rule(1998, resources.BLACKHOLE, dst=PREFIX,
                              iif='veth-default')
        for method, route, plain in (
                ('static', static,
                 resources.Announcement('', PREFIX, 'loopback1')),
                ('kernel', kernel,
                 resources.AnnouncedRoute(254, PREFIX, 'loopback1'))):
            options = {'fip_route__announce_method': method}
            wanted = self.forwards(self.unmanaged(), **options)
            self.assertIn(LINE, wanted)
            self.assertIn(drop, wanted)
            self.assertIn(TABLE, wanted[wanted.index(route)].requires)
            self.assertEqual([], only(resources.VipAddress, wanted))
            self.assertIn(plain, self.forwards(
                self.unmanaged(), frr__vrf_name='', **options))

    def test_ipv6_that_nobody_has_is_said(self):
        problem, = self.problems(self.forwards(self.unmanaged('2001:db8::53')))
        self.assertIn('2001:db8::53 is not announced', problem)
        self.assertIn('manage_vip', problem)

    def test_no_default_route_in_the_vrf_is_said(self):
        # Trap T61.
        def node(default_route):
            return cloud.node(devices=(model.Device(
                'vrf-provider', '0a:00:00:00:00:02', True, 10,
                default_route),))
        self.assertIn('vrf-provider', self.problems(self.forwards(
            golden.vip(), node=node(False)))[0])
        self.assertEqual([], self.problems(self.forwards(
            golden.vip(), node=node(None))))

    def test_the_anchor_of_managed_vips(self):
        # Also of a dead one: with it the last one can be withdrawn.
        anchor = resources.Address('loopback1', '169.254.169.253/32')
        dead = port_forwards.Destination('10.0.0.1', alive=False)
        for vip, there in (
                (golden.vip(), True),
                (golden.vip(port_forwards.Rule('udp', 53, 53, (dead,))), True),
                (golden.vip(address='2001:db8::53'), False),
                (golden.vip(taken='router r1'), False),
                (self.unmanaged(), False)):
            self.assertEqual(there, anchor in self.forwards(vip), vip)

    def test_snat_addresses(self):
        # Row PF-30: not those of floating IPs.
        router = cloud.router(
            nats=(cloud.fip('198.51.100.10'), model.Nat(
                'snat', '198.51.100.20', '10.0.0.0/24')),
            sent=('198.51.100.10', '198.51.100.21', '198.51.100.22'),
            # Nor those of load balancers, which northd may list as well.
            balanced=(model.BalancedAddress('198.51.100.22'),))
        self.assertEqual(
            {'198.51.100.20', '198.51.100.21'},
            {each.key[2] for each in self.wanted(router, cloud.node(
                extent=port_forwards.Extent((4,), (4,))))
             if each.key[1] == 'snat_addresses'})

    def test_an_address_of_a_router_costs_only_that_vip(self):
        for router in (
                cloud.router(fips=('192.0.2.53',)),
                cloud.router(ports=(cloud.port(networks=('192.0.2.53/24',)),)),
                cloud.router(sent=('192.0.2.53',)),
                cloud.router(balanced=(model.BalancedAddress('192.0.2.53'),))):
            tracker = tracking.Tracker()
            wanted = contributions.Contributions(
                [self.driver()], tracker,
                {k.kind for kinds in world.BACKENDS.values() for k in kinds}
                | {'nft_table', 'nft_element', 'vip_address'})
            vips = (golden.vip(), golden.vip(address='192.0.2.54'))
            (address, name), = port_forwards.taken(
                vips, cloud.snapshot(router))
            self.assertEqual(f'router {router.name}', name)
            wanted.update(dataclasses.replace(
                cloud.snapshot(router), forwards=port_forwards.Forwards((
                    vips[0]._replace(taken=name), vips[1]),
                    True)))
            self.assertEqual(vips[0].address, address)
            problem, = wanted.left_out
            self.assertIn('192.0.2.53', problem.text)
            self.assertEqual(('192.0.2.53',), problem.addresses)
            self.assertIn(router.name, problem.text)
            found = tracker.wanted()
            self.assertEqual(
                [resources.VipAddress('loopback1', '192.0.2.54/32')],
                only(resources.VipAddress, found))
            table, = only(resources.NftTable, found)
            self.assertNotIn('192.0.2.53', golden.rendered(table))

    def test_what_takes_nothing(self):
        """A machine in a VNI, and a router that is elsewhere."""
        def machine(vni):
            return cloud.with_machines(cloud.snapshot(), cloud.machine(
                '192.0.2.53', network=cloud.network(vni=vni)))

        elsewhere = cloud.snapshot(cloud.router(
            fips=('192.0.2.53',), ports=(cloud.port(local=False),)))
        for view, found in ((machine(None), 1), (machine(model.Vni(1001)), 0),
                            (elsewhere, 0)):
            self.assertEqual(found, len(port_forwards.taken(
                (golden.vip(),), view)))


class GuardTest(PortForwardTestCase):

    def test_provider_networks_and_the_guard(self):
        # Row PF-13.
        router = cloud.router(ports=(
            cloud.port(networks=('198.51.100.1/24', '2001:db8::1/64')),
            cloud.port(2, local=False, networks=('192.0.2.1/24',))))
        four = {('ip', 'provider_networks', '198.51.100.0/24'),
                ('ip', 'guarded', 'veth-default')}
        six = {('ip6', 'provider_networks', '2001:db8::/64'),
               ('ip6', 'guarded', 'veth-default')}
        self.assertEqual(four, self.elements(router, 4))
        self.assertEqual(four | six, self.elements(router, 4, 6))

    def test_networks_of_a_standby_switch_no_guard_on(self):
        ports = [model.GroupPort('cr-lrp-1', chassis, 'lrp-1', (network,
                                                                'fd00::1/64'))
                 for chassis, network in (
                     (cloud.OTHER, '198.51.100.1/24'),
                     (cloud.CHASSIS, '192.0.2.1/24'))]
        group = model.GatewayGroup('HA_Chassis_Group', ports=tuple(ports))

        four = {('ip', 'provider_networks', '198.51.100.0/24')}
        six = {('ip6', 'provider_networks', 'fd00::/64')}
        self.assertEqual([], self.wanted(group, cloud.node(extent=None)))
        for versions, options, wanted in (
                ((4,), {}, four), ((4, 6), {}, four | six),
                ((4, 6), {'fip_route__standby_prepare': False}, set()),
                ((4, 6), {'network_cidr': ['203.0.113.0/24']}, six)):
            self.assertEqual(wanted, self.elements(group, *versions,
                                                   **options))

    def test_no_network_no_guard(self):
        """Nor is there one in the default VRF."""
        # Trap T63, row PF-14.
        router = cloud.router(ports=(cloud.port(networks=()),))
        self.assertEqual(set(), self.elements(router, 4))
        self.assertEqual(
            {('ip', 'provider_networks', '198.51.100.0/24')},
            self.elements(cloud.router(), 4, frr__vrf_name=''))

    def test_networks_by_hand(self):
        options = {'network_cidr': ['203.0.113.0/25', '203.0.113.128/25']}
        node = cloud.node(extent=port_forwards.Extent((4,)))
        for subject, wanted in (
                (cloud.router(), set()),
                (node, {('ip', 'provider_networks', '203.0.113.0/24'),
                        ('ip', 'guarded', 'veth-default')})):
            self.assertEqual(wanted, self.elements(subject, 4, **options))
