# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Driver tenant_network: from the view to resources."""


from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import world
from ovn_network_agent.tests.unit.drivers import base

NET, SIX, BALANCED = '10.0.0.0/24', '2001:db8:1::/64', '10.0.9.0/24'
VIA = '198.51.100.1'
TABLE = 10
HANDOVER = model.Handover
tenant = cloud.tenant


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

    def test_a_table_of_its_own(self):
        self.assertIn(resources.Rule(1500, 100, dst=NET), self.wanted(
            tenant(), fip_route__route_table_id=100,
            fip_route__route_rule_priority=1500))

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
        for segment in (
                None, cloud.segment(patch_port=0), cloud.segment(mac=''),
                cloud.segment(bridge='', device='')):
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
