# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Driver veth_leak: from the view to resources."""

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit.drivers import base

PAIR = resources.Ref('veth_pair', ('veth-default',))


class VethLeakTest(base.DriverTestCase):

    name = 'veth_leak'

    def node(self, **options):
        return self.wanted(cloud.node(), **options)

    def test_the_pair_and_what_it_needs(self):
        wanted = self.node()
        default, provider = ownership.VETH_ENDS
        self.assertLessEqual({
            resources.VethPair(default, provider, 'vrf-provider'),
            resources.Address(default, '169.254.0.1/30'),
            resources.Address(provider, '169.254.0.2/30'),
            resources.Neighbour(default, '169.254.0.2', provider),
            resources.Neighbour(provider, '169.254.0.1', default),
            *(resources.Sysctl(f'net/ipv4/conf/{name}', '1') for name in (
                f'{default}/forwarding', f'{provider}/forwarding',
                f'{default}/promote_secondaries',
                f'{provider}/accept_local')),
            resources.KernelRoute(200, '0.0.0.0/0', default, '169.254.0.2'),
            resources.Rule(1999, 254, iif=default),
            resources.Rule(1999, resources.BLACKHOLE, iif=provider)},
            {*wanted})
        for resource in wanted:
            if resource.kind in ('address', 'neighbour', 'sysctl',
                                 'kernel_route'):
                self.assertIn(PAIR, resource.requires)

    def test_other_ends(self):
        for options, provider in (
                ({'veth_leak__veth_nexthop': '192.0.2.5'}, '192.0.2.6'),
                ({'veth_leak__veth_nexthop': '192.0.2.6',
                  'veth_leak__veth_provider_ip': '192.0.2.5'}, '192.0.2.5')):
            addresses = {r.dev: r.address for r in self.node(**options)
                         if r.kind == 'address'}
            self.assertEqual(
                {'veth-default': options['veth_leak__veth_nexthop'] + '/30',
                 'veth-provider': provider + '/30'}, addresses)

    def test_way_back_and_way_in_of_each_network(self):
        router = cloud.router(ports=(
            cloud.port(networks=('198.51.100.1/24',)),
            cloud.port(2, networks=('203.0.113.1/28',)),
            cloud.port(3, local=False, networks=('192.0.2.1/24',))))
        wanted = self.wanted(router)
        self.assertEqual(
            {('198.51.100.0/24', 2000, 200, None),
             ('203.0.113.0/28', 2000, 200, None),
             ('198.51.100.0/24', 2001, resources.BLACKHOLE, 'br-ex'),
             ('203.0.113.0/28', 2001, resources.BLACKHOLE, 'br-ex')},
            {(r.src, r.priority, r.table, r.iif) for r in wanted
             if r.kind == 'rule' and r.src})
        # What OVN has just lost, and gives back.
        self.assertEqual(
            {('198.51.100.0/24', 'br-ex'), ('203.0.113.0/28', 'br-ex')},
            {(r.dst, r.iif) for r in wanted if r.kind == 'rule' and
             (r.priority, r.table) == (2001, resources.BLACKHOLE) and r.dst})
        self.assertEqual(
            {(10, '198.51.100.0/24', 'veth-provider', '169.254.0.1'),
             (10, '203.0.113.0/28', 'veth-provider', '169.254.0.1')},
            {(r.table, r.dst, r.dev, r.via) for r in wanted
             if r.kind == 'kernel_route'})

    def test_no_way_back_before_the_table_it_looks_at(self):
        rule = next(r for r in self.wanted(cloud.router())
                    if r.kind == 'rule' and r.src)
        self.assertEqual((resources.Ref('kernel_route', (200, '0.0.0.0/0')),),
                         rule.requires)

    def test_untranslated_packets_of_an_owner_and_of_a_former_owner(self):
        nats = tuple(model.Nat(type_, '198.51.100.1', inside)
                     for type_, inside in (
                         ('snat', '10.1.0.0/24'), ('snat', '10.1.0.0/24'),
                         ('snat', '10.2.0.7'), ('snat', 'fd00::/64'),
                         ('snat', '0.0.0.0/0'), ('snat', 'bad'),
                         ('dnat_and_snat', '10.3.0.1')))
        for port in (cloud.port(), cloud.port(
                local=False, handover=model.Handover.FORWARD)):
            self.assertEqual(
                {('10.1.0.0/24', 'br-ex'), ('10.2.0.7/32', 'br-ex')},
                self.dropped(self.wanted(cloud.router(
                    ports=(port,), nats=nats))))
        elsewhere = cloud.router(ports=(cloud.port(local=False),), nats=nats)
        self.assertEqual(set(), self.dropped(self.wanted(elsewhere)))

    def dropped(self, wanted):
        """(source, device) of the rules for packets of tenants, a set."""
        return {(r.src, r.iif) for r in wanted if r.kind == 'rule' and
                r.src and r.src.startswith('10.') and
                (r.priority, r.table) == (2001, resources.BLACKHOLE)}

    def test_untranslated_packets_of_the_next_owner(self):
        """OVN forwards here before the agent has heard of the move."""
        group = cloud.group(cloud.router(ports=(cloud.port(
            chassis=cloud.OTHER, local=False),)))
        port = group.ports[0]._replace(tenants=('10.1.0.0/24',))
        group = group._replace(ports=(port,))
        for options, tenants in (
                ({}, {('10.1.0.0/24', 'br-ex')}),
                ({'network_cidr': ['192.0.2.0/24']},
                 {('10.1.0.0/24', 'br-ex')}),
                ({'fip_route__standby_prepare': False}, set()),
                ({'veth_leak__veth_leak_enabled': False}, set())):
            self.assertEqual(tenants, self.dropped(
                self.wanted(group, **options)), options)
        here = port._replace(chassis=cloud.CHASSIS)
        self.assertEqual([], self.wanted(group._replace(ports=(here,))))

    def test_networks_by_hand_need_no_router(self):
        options = {'network_cidr': ['192.0.2.0/24']}
        self.assertIn(resources.KernelRoute(
            10, '192.0.2.0/24', 'veth-provider', '169.254.0.1'),
            self.node(**options))
        self.assertEqual([], self.wanted(cloud.router(), **options))

    def test_port_forwarding_alone_leads_no_network_here(self):
        """Row PFM-02: only the pair, and the way back through it."""
        alone = {'ovn__ovn_nb_remote': [], 'ovn__ovn_sb_remote': []}
        self.assertEqual(self.node(), self.node(**alone))
        self.assertEqual(self.node(), self.node(
            network_cidr=['192.0.2.0/24'], **alone))

    def test_where_it_is_off_all_stays_as_found(self):
        """Row VETH-13: nothing is made, and nothing removed."""
        for subject in cloud.node(), cloud.router():
            self.assertEqual(
                [resources.Keep(r.ref, foreign=True)
                 for r in self.wanted(subject)],
                self.wanted(subject, veth_leak__veth_leak_enabled=False))

    def test_a_dual_stack_port_has_all_of_ipv4(self):
        """Trap T64: an IPv6 network stops nothing of IPv4."""
        both = cloud.router(ports=(cloud.port(networks=(
            '2001:db8::1/64', '198.51.100.1/24')),))
        self.assertLess(set(self.wanted(cloud.router())),
                        set(self.wanted(both)))

    def test_nothing_selects_by_a_mark(self):
        """Trap T60: a mark would cross the pair and could loop there."""
        for resource in (*self.node(), *self.wanted(cloud.router())):
            self.assertIsNone(getattr(resource, 'fwmark', None))

    def test_a_vrf_without_a_way_out(self):
        """Row VETH-16: it is said for routers here, and not made."""
        for default, said in ((None, 0), (True, 0), (False, 1)):
            node = cloud.node(devices=(model.Device(
                'vrf-provider', '', True, 10, default),))
            for router, count in (
                    (cloud.router(), said),
                    (cloud.router(ports=(cloud.port(local=False),)), 0)):
                self.assertEqual(count, len([
                    r for r in self.of(resources.Problem, router, node)
                    if 'vrf-provider' in r.text]))

    def test_no_router_and_no_vrf(self):
        """Nothing is wanted, and without the VRF no route in it."""
        for router, options in (
                (cloud.router(ports=(cloud.port(local=False),)), {}),
                (cloud.Router('uuid', 'name'), {}),
                (cloud.router(), {'frr__vrf_name': ''})):
            self.assertEqual([], self.wanted(router, **options))
        self.assertEqual([], self.node(frr__vrf_name=''))
        self.assertEqual({'rule'}, {*self.kinds(
            cloud.router(), cloud.node(devices=()))})
