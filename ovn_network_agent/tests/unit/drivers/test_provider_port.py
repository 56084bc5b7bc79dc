# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Driver provider_port: from the view to resources."""


from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import world
from ovn_network_agent.tests.unit.drivers import base

ONE = '198.51.100.10'


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
        self.assertIn(resources.Rule(1500, 100, dst=f'{ONE}/32'), self.wanted(
            address(), fip_route__route_table_id=100,
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
        for segment in (
                None, cloud.segment(patch_port=0), cloud.segment(mac=''),
                cloud.segment(bridge='', device='')):
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
