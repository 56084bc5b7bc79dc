# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Routers with addresses of IPv6: what all drivers want for them."""

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit.drivers import base

FIP, FIP6 = base.FIP, '2001:db8:100::10'
OWN, OWN6 = '198.51.100.1', '2001:db8:100::1'
NET6, NETS6 = '2001:db8:100::/64', ('2001:db8:100::1/64',)
NETS = ('198.51.100.1/24', *NETS6)
NEXTHOP6 = 'fe80::a9fe:1'
GATEWAY6 = 'fe80::a9fe:a9fe'
STATIC = {'fip_route__announce_method': 'static'}
DRIVERS = ('fip_route', 'veth_leak', 'gateway_drain')


def router(*fips, nets=NETS, **values):
    values.setdefault('ports', (cloud.port(networks=nets),))
    return cloud.router(fips=fips, **values)


def of_ipv6(wanted):
    """The resources with an address of IPv6, or for it."""
    return [r for r in wanted if ':' in ' '.join(
        str(part) for part in r.key if part != 'br-ex') or
        getattr(r, 'ipv6', None)]


class Ipv6TestCase(base.FipRouteTestCase):

    options = {'fip_route__announce_method': 'kernel'}

    def of_all(self, of, **options):
        """What three drivers want for a router and for the node, a list."""
        return [each for name in DRIVERS for subject in (cloud.node(), of)
                for each in self.wanted(subject, name=name, **options)]

    def leak(self, of, **options):
        return self.wanted(of, name='veth_leak', **options)


class AddressesTest(Ipv6TestCase):

    def test_the_addresses_of_a_router(self):
        wanted = self.wanted(router(FIP, FIP6))
        self.assertEqual(sorted((FIP, FIP6, OWN, OWN6)), self.announced(
            router(FIP, FIP6)))
        for address in (FIP6, OWN6):
            prefix = address + '/128'
            route = resources.KernelRoute(254, prefix, 'br-ex')
            self.assertIn(route, wanted)
            announced = resources.AnnouncedRoute(
                10, prefix, 'veth-provider', NEXTHOP6)
            self.assertIn(announced, wanted)
            found = next(r for r in wanted if r == announced)
            self.assertIn(route.ref, found.requires)
        self.assertIn(resources.PrefixListEntry(
            'ANNOUNCED-NETWORKS', '2001:db8:100::/64', 128, 128), wanted)
        self.assertIn(resources.Address('br-ex', GATEWAY6 + '/64'), wanted)

    def test_with_static_routes(self):
        """Everything but the announcement is as with kernel routes."""
        of = router(FIP, FIP6)
        with_kernel, wanted = self.wanted(of), self.wanted(of, **STATIC)
        for address in (FIP6, OWN6):
            self.assertIn(resources.Announcement(
                'vrf-provider', address + '/128',
                f'{NEXTHOP6} veth-provider'), wanted)

        def rest(found):
            return [r for r in of_ipv6(found) if r.kind not in (
                'announcement', 'announced_route', 'advertised')]

        self.assertEqual(rest(with_kernel), rest(wanted))
        self.assertIn(resources.Announcement('', FIP6 + '/128', 'br-ex'),
                      self.wanted(of, frr__vrf_name='', **STATIC))

    def test_a_router_of_ipv6_alone(self):
        of = router(FIP6, nets=NETS6)
        self.assertEqual([FIP6, OWN6][::-1], self.announced(of))
        self.assertEqual(
            [resources.DefaultRoute(of.uuid, 'lrp-1', GATEWAY6,
                                    cloud.OWNER, prefix='::/0')],
            self.of(resources.DefaultRoute, of))
        self.assertEqual([], self.of(resources.Problem, of))
        proof, = self.of(resources.Advertised, of)
        self.assertEqual((OWN6 + '/128', FIP6 + '/128'), proof.prefixes)

    def test_without_a_vrf(self):
        """The route that carries the traffic is the announcement."""
        wanted = self.wanted(router(FIP6), frr__vrf_name='')
        self.assertIn(resources.AnnouncedRoute(254, FIP6 + '/128', 'br-ex'),
                      wanted)
        self.assertNotIn('kernel_route', {r.kind for r in wanted})
        self.assertEqual([], self.leak(router(FIP6), frr__vrf_name=''))

    def test_an_address_in_no_network_has_a_flow_alone(self):
        for of in (router('2001:db8:200::10'),
                   router(FIP6, nets=('198.51.100.1/24',))):
            foreign = of.nats[0].external_ip + '/128'
            self.assertEqual(
                [('flow', foreign)],
                [(r.kind, r.subject) for r in self.wanted(of)
                 if r.subject == foreign])

    def test_one_in_no_network_is_reported_where_there_is_ipv6(self):
        for nets, number in ((NETS, 1), (('198.51.100.1/24',), 0)):
            self.assertEqual(number, len(self.of(
                resources.Problem, router('2001:db8:200::10', nets=nets))))

    def test_a_link_local_network_of_a_port_is_none(self):
        of = router(nets=('198.51.100.1/24', 'fe80::1/64'))
        self.assertEqual([OWN], self.announced(of))
        self.assertEqual([], of_ipv6(self.leak(of)))

    def test_while_the_segment_is_in_doubt(self):
        port = cloud.port(networks=NETS, segment=None)
        self.assertLessEqual(
            {resources.Ref('announced_route', (10, FIP6 + '/128')),
             resources.Ref('kernel_route', (254, FIP6 + '/128'))},
            self.kept(router(FIP6, ports=(port,))))

    def test_a_standby_prepares_both_families(self):
        port = model.GroupPort('cr-lrp-1', cloud.OTHER, 'lrp-1', NETS,
                               cloud.segment())
        group = model.GatewayGroup('HA_Chassis_Group', ports=(port,))
        for name, wanted in (
                ('fip_route',
                 {resources.Address('br-ex', GATEWAY6 + '/64'),
                  resources.PrefixListEntry('ANNOUNCED-NETWORKS', NET6, 128,
                                            128)}),
                ('veth_leak',
                 {resources.Rule(2000, 200, src=NET6),
                  resources.Rule(2001, resources.BLACKHOLE, iif='br-ex',
                                 ipv6=True)})):
            self.assertLessEqual(wanted, {*self.wanted(group, name=name)})


class OffTest(Ipv6TestCase):
    """A node gets nothing of IPv6 but what a network asks for."""

    def test_nothing_without_a_network(self):
        wanted = self.of_all(router(FIP, nets=('198.51.100.1/24',)))
        self.assertEqual([], of_ipv6(wanted))
        self.assertEqual(
            {resources.Ref('flow', ('br-ex', 900, 3, 6, None))},
            {r.ref for r in wanted if getattr(r, 'family', 4) == 6})

    def test_nothing_but_flows_with_other_networks(self):
        self.assertEqual({'flow'}, {r.kind for r in of_ipv6(self.of_all(
            router(FIP, FIP6), network_cidr=['198.51.100.0/24']))})

    def test_configured_networks(self):
        options = {'network_cidr': ['198.51.100.0/24', '2001:db8:100::/64']}
        wanted = self.of_all(router(FIP6), **options)
        self.assertIn(resources.AnnouncedRoute(
            10, FIP6 + '/128', 'veth-provider', NEXTHOP6), wanted)
        self.assertIn(resources.Rule(2000, 200, src='2001:db8:100::/64'),
                      wanted)


class LeakTest(Ipv6TestCase):

    def test_the_way_through_the_pair(self):
        rule, drop = resources.Rule, resources.BLACKHOLE
        default, provider = ownership.VETH_ENDS
        self.assertLessEqual({
            resources.Address(default, 'fe80::a9fe:1/64'),
            resources.Address(provider, 'fe80::a9fe:2/64'),
            resources.Neighbour(default, 'fe80::a9fe:2', provider),
            resources.Neighbour(provider, 'fe80::a9fe:1', default),
            resources.KernelRoute(200, '::/0', default, 'fe80::a9fe:2'),
            resources.KernelRoute(10, NET6, provider, NEXTHOP6),
            rule(1997, 254, dst=NET6, iif=default, suppress=0),
            rule(1998, drop, dst=NET6, iif=default),
            rule(1999, 254, iif=default, ipv6=True),
            rule(1999, drop, iif=provider, ipv6=True),
            rule(2000, 200, src=NET6),
            rule(2001, drop, iif='br-ex', ipv6=True)}, {*self.leak(router())})

    def test_vips_want_the_same_pair(self):
        """Two drivers that want different resources would be a conflict."""
        from_vips = {r.ref: r
                     for r in self.driver('port_forward')._way_back(6)}
        from_leak = {r.ref: r for r in self.leak(router())}
        both = from_vips.keys() & from_leak.keys()
        self.assertEqual(5, len(both))
        for ref in both:
            self.assertEqual(from_vips[ref], from_leak[ref])
            self.assertEqual(from_vips[ref].requires, from_leak[ref].requires)


class NorthboundTest(Ipv6TestCase):

    def rows(self, of):
        found = [r for r in self.wanted(of)
                 if r.kind in ('default_route', 'mac_binding')]
        self.assertEqual(len(found), len({r.ref for r in found}))
        return found

    def found(self, prefix, nexthop, **values):
        return model.NbDefaultRoute(**{
            'nexthop': nexthop, 'output_port': 'lrp-1', 'managed': False,
            'prefix': prefix, **values})

    def test_a_route_and_a_binding_of_each_family(self):
        of = router()
        self.assertEqual(
            [resources.MacBinding('lrp-1', '198.51.100.254', cloud.BRIDGE_MAC),
             resources.DefaultRoute(of.uuid, 'lrp-1', '198.51.100.254',
                                    cloud.OWNER),
             resources.MacBinding('lrp-1', GATEWAY6, cloud.BRIDGE_MAC),
             resources.DefaultRoute(of.uuid, 'lrp-1', GATEWAY6,
                                    cloud.OWNER, prefix='::/0')],
            self.rows(of))

    def test_routes_to_the_halves_of_a_provider_network(self):
        """OVN asks nobody for an address that another chassis has."""
        of = router(FIP, FIP6)
        self.assertEqual(
            [resources.OnLinkRoute(of.uuid, 'lrp-1', GATEWAY6,
                                   cloud.OWNER, prefix=half)
             for half in ('2001:db8:100::/65', '2001:db8:100:0:8000::/65')],
            self.of(resources.OnLinkRoute, of))

    def test_each_port_has_the_routes_of_its_networks(self):
        """They do not decide whose default route it is."""
        theirs = self.found('::/0', GATEWAY6, managed=True,
                            output_port='lrp-2')
        own = self.found('2001:db8:100::/65', GATEWAY6, managed=True)
        of = router(ports=(
            cloud.port(networks=NETS), cloud.port(
                2, local=False, chassis=cloud.OTHER,
                networks=('2001:db8:101::1/64',))),
            default_routes=(theirs, own))
        self.assertEqual(2, len(self.of(resources.OnLinkRoute, of)))
        self.assertNotIn('::/0', [r.prefix for r in self.of(
            resources.DefaultRoute, of)])
        self.assertIn(resources.Ref('default_route', (of.uuid, '::/0')),
                      self.kept(of))

    def test_a_network_that_two_ports_have(self):
        of = router(ports=(cloud.port(networks=NETS), cloud.port(
            2, networks=('2001:db8:100::2/64', '2001:db8:102::1/128'))))
        self.assertEqual(['lrp-1'] * 2, [r.lrp for r in self.of(
            resources.OnLinkRoute, of)])

    def test_a_port_without_ipv6_has_no_routes_to_configured_networks(self):
        wanted = self.wanted(router(nets=('198.51.100.1/24',)), network_cidr=[
            '198.51.100.0/24', '2001:db8:100::/64'])
        self.assertNotIn('on_link_route', {r.kind for r in wanted})
        self.assertEqual(['198.51.100.254'], [
            r.ip for r in wanted if r.kind == 'mac_binding'])

    def test_a_gateway_of_one_family_does_not_concern_the_other(self):
        for prefix, nexthop, left in (
                ('::/0', '2001:db8:100::ffff', '0.0.0.0/0'),
                ('0.0.0.0/0', '198.51.100.9', '::/0')):
            of = router(default_routes=(self.found(prefix, nexthop),))
            self.assertEqual([left], [
                r.prefix for r in self.of(resources.DefaultRoute, of)])

    def test_a_router_that_moved_away_keeps_both(self):
        of = router(ports=(cloud.port(
            networks=NETS, local=False, chassis=cloud.OTHER),),
            default_routes=(
                self.found('0.0.0.0/0', '198.51.100.254', managed=True),
                self.found('::/0', GATEWAY6, managed=True)))
        self.assertLessEqual(
            {resources.Ref('default_route', (of.uuid, '::/0')),
             resources.Ref('default_route', (of.uuid, '0.0.0.0/0')),
             resources.Ref('mac_binding', ('lrp-1', GATEWAY6))},
            self.kept(of))

    def test_the_proof_of_both_families_is_about_ipv4(self):
        """A fabric without IPv6 must not delay a handover of IPv4."""
        proof, = self.of(resources.Advertised, router(FIP, FIP6))
        self.assertEqual((OWN + '/32', FIP + '/32'), proof.prefixes)
        self.assertEqual([], [ref for ref in proof.requires
                              if ':' in ' '.join(map(str, ref.key[1:]))])


class RelayTest(Ipv6TestCase):

    def test_packets_to_both_chassis(self):
        port = cloud.port(networks=NETS, local=False, relay=7,
                          handover=model.Handover.FORWARD)
        wanted = self.wanted(router(FIP6, ports=(port,)))
        flow = next(r for r in wanted if r.kind == 'flow' and
                    r.dst == FIP6 + '/128' and r.in_port == resources.LOCAL)
        self.assertEqual((6, 'ports:7,3'), (flow.family, flow.output))
        self.assertIn(resources.Neighbour('br-ex', FIP6, '', lladdr=port.mac),
                      wanted)

    def test_arriving(self):
        relay = model.Relay('br-ex', '10.0.0.2', 7)
        group = cloud.group(cloud.router(ports=(cloud.port(networks=NETS),)))
        peer = group.candidates[-1]._replace(
            chassis=cloud.OTHER, address='10.0.0.2', known=True)
        group = group._replace(candidates=(peer,))
        self.assertIn((6, NET6), {(r.family, r.dst) for r in self.of(
            resources.Flow, group, cloud.node(relays=(relay,)),
            name='gateway_drain')})

    def said(self, nets, **known):
        """The problems of the way out, of a router with networks."""
        vrf = model.Device('vrf-provider', '0a:00:00:00:00:02', True, 10,
                           **known)
        node = cloud.node(devices=(
            model.Device('br-ex', cloud.BRIDGE_MAC, True), vrf))
        return [each.text for each in self.of(
            resources.Problem, router(nets=nets), node, name='veth_leak')
            if 'way out' in each.text]

    def test_the_default_route_of_each_family(self):
        four, six = NETS[:1], NETS6
        for nets, known, words in (
                (four, {'default_route6': False, 'default_route': True}, ()),
                (six, {'default_route6': True, 'default_route': False}, ()),
                (six, {'default_route6': False}, ('of IPv6',)),
                (four, {'default_route': False}, ('default route, so',)),
                (NETS, {'default_route': False, 'default_route6': False},
                 ('of IPv6', 'default route, so')),
                (NETS, {}, ())):
            said = self.said(nets, **known)
            self.assertEqual(len(words), len(said), said)
            for word, text in zip(words, said, strict=True):
                self.assertIn(word, text)
