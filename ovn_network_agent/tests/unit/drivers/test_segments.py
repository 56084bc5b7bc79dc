# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Provider segments: several bridges, and VLANs."""

import dataclasses

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.drivers.common import segments
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit.drivers import base

TWO = {'further_bridges': ['br-two']}
MAC = '0a:00:00:00:00:07'
DEVICE = resources.VlanDevice('br-ex.101', 'br-ex', 101)
VLAN = cloud.segment(vlan=101, device='br-ex.101', mac=MAC, patch_port=5,
                     localnet_port='provnet-101')
FURTHER = cloud.segment(physical_network='physnet2', bridge='br-two',
                        device='br-two', mac=MAC, patch_port=4)
FIP, only = base.FIP, base.only
TAGGED = cloud.router(fips=(FIP, '2001:db8::5'),
                      ports=(cloud.port(segment=VLAN),))


def group(segment, owner=cloud.OTHER):
    return model.GatewayGroup(
        'Gateway_Chassis', 'key', 'lrp-1', (
            model.Candidate(cloud.CHASSIS, 1, True, '192.0.2.1', 'geneve'),
            model.Candidate(cloud.OTHER, 2, True, '192.0.2.2', 'geneve')),
        (model.GroupPort('cr-lrp-1', owner, 'lrp-1', ('198.51.100.1/24',),
                         segment, ('10.1.0.0/24',)),))


class ObjectionTest(base.DriverTestCase):

    def test_what_can_be_used(self):
        for segment in (cloud.segment(), VLAN, FURTHER):
            self.assertEqual('', segments.objection(segment,
                                                    ('br-ex', 'br-two')))

    def test_what_cannot(self):
        for values, text in (
                ({'bridge': ''}, 'not in ovn-bridge-mappings'),
                ({'bridge': 'br-x'}, 'neither [DEFAULT] bridge_dev nor'),
                ({'vlan': 4095}, 'which no device can have'),
                ({'device': 'br-provider.1234'}, 'more than 15 characters'),
                ({'occupied': True}, 'is not VLAN 101 on br-ex'),
                ({'mac': ''}, 'device br-ex does not exist'),
                ({'patch_port': 0}, 'no patch port for provnet-101')):
            self.assertIn(text, segments.objection(
                VLAN._replace(**values), ('br-ex',)))
        self.assertIn('no localnet port', segments.objection(None, ('br-ex',)))

    def test_the_device_is_known_without_its_mac_and_its_patch_port(self):
        for segment, known in ((VLAN._replace(mac='', patch_port=0), True),
                               (None, False),
                               (VLAN._replace(occupied=True), False)):
            self.assertEqual(known, segments.located(segment, ('br-ex',)))


class VlanTest(base.FipRouteTestCase):

    def test_its_device_answers_like_a_bridge(self):
        wanted = self.wanted(TAGGED)
        self.assertEqual([DEVICE], only(resources.VlanDevice, wanted))
        self.assertEqual(
            [resources.Address('br-ex.101', '169.254.169.254/32')],
            only(resources.Address, wanted))
        self.assertEqual({
            'net/ipv4/conf/br-ex.101/proxy_arp': '1',
            'net/ipv4/conf/br-ex.101/forwarding': '1',
            'net/ipv4/neigh/br-ex.101/proxy_delay': '0'},
            {r.path: r.value for r in only(resources.Sysctl, wanted)})
        self.assertEqual(
            {'mac_binding': MAC},
            {r.kind: r.mac for r in only(resources.MacBinding, wanted)})

    def test_all_that_needs_the_device_comes_after_it(self):
        wanted = self.wanted(TAGGED)
        for resource in wanted:
            if resource.kind in ('address', 'sysctl', 'kernel_route',
                                 'announcement'):
                self.assertIn(DEVICE.ref, resource.requires, resource)
        device, = only(resources.VlanDevice, wanted)
        self.assertEqual((resources.LinkUp('br-ex').ref,), device.requires)

    def test_routes_and_flows_of_both_families(self):
        """Rows OVS-12, D35 and D56."""
        wanted = self.wanted(TAGGED)
        self.assertEqual({'br-ex.101'}, {
            r.dev for r in only(resources.KernelRoute, wanted)})
        flows = only(resources.Flow, wanted)
        self.assertEqual({('br-ex', 5)}, {
            (f.bridge, f.in_port) for f in flows})
        self.assertEqual({4, 6}, {
            f.family for f in flows
            if f.cookie == ownership.COOKIE_MAC_TWEAK and f.set_dst == MAC})
        self.assertEqual({FIP + '/32', '2001:db8::5/128', '198.51.100.1/32'}, {
            f.dst for f in flows if f.cookie == ownership.COOKIE_HAIRPIN and
            f.set_src == MAC})

    def test_in_default_vrf_mode_the_announcement_leads_there(self):
        for method in ('static', 'kernel'):
            wanted = self.wanted(TAGGED, frr__vrf_name='',
                                fip_route__announce_method=method)
            ways = {getattr(r, 'nexthop', None) or r.dev for r in wanted
                    if r.stage is resources.Stage.ANNOUNCE}
            self.assertEqual({'br-ex.101'}, ways - {None})

    def test_a_standby_has_the_device_too(self):
        """And without OVN here it stays."""
        bare = VLAN._replace(patch_port=0)
        for subject in (group(VLAN, cloud.CHASSIS), group(VLAN), cloud.router(
                ports=(cloud.port(segment=bare),))):
            self.assertEqual([DEVICE], self.of(resources.VlanDevice, subject))

    def test_in_doubt_all_vlan_devices_stay(self):
        """Row D25."""
        node = cloud.node(devices=(
            *cloud.node().devices,
            model.Device('br-ex.101', MAC, True, vlan=101, lower='br-ex')))
        router = cloud.router(ports=(cloud.port(segment=None),))
        for kept in self.kept(router, node), self.kept(group(None), node):
            self.assertIn(DEVICE.ref, kept)
            self.assertIn(resources.Address(
                'br-ex.101', '169.254.169.254/32').ref, kept)

    def test_a_device_of_others_is_left_alone(self):
        """Row D24."""
        wrong = VLAN._replace(occupied=True)
        router = cloud.router(fips=[FIP], ports=(cloud.port(segment=wrong),))
        self.assertEqual({'keep', 'prefix_list_entry'}, {*self.kinds(router)})


class FurtherBridgeTest(base.FipRouteTestCase):

    def test_each_bridge_is_prepared(self):
        for kind in resources.LinkUp, resources.Address:
            self.assertEqual({'br-ex', 'br-two'}, {
                r.dev for r in self.of(kind, cloud.node(), **TWO)})

    def test_only_bridges_that_are_named_are_served(self):
        router = cloud.router(fips=[FIP], ports=(cloud.port(segment=FURTHER),))
        self.assertEqual([], self.announced(router))
        self.assertIn(FIP, self.announced(router, **TWO))
        self.assertEqual({('br-two', 4)}, {
            (f.bridge, f.in_port)
            for f in self.of(resources.Flow, router, **TWO)})
        self.assertEqual({'br-two'}, {
            r.dev for r in self.of(resources.KernelRoute, router, **TWO)})


class LeakTest(base.DriverTestCase):

    name, options = 'veth_leak', TWO

    def rules(self, *args, **options):
        """(source, target, device) of the rules that drop what leaves OVN."""
        return {(r.src, r.dst, r.iif)
                for r in self.of(resources.Rule, *args, **options)
                if r.priority == 2001}

    def test_the_rules_of_a_segment_are_for_its_device(self):
        nats = (model.Nat('snat', '198.51.100.1', '10.1.0.0/24'),)
        for segment, dev in ((VLAN, 'br-ex.101'), (FURTHER, 'br-two')):
            router = cloud.router(nats=nats, ports=(
                cloud.port(segment=segment),))
            expected = {('198.51.100.0/24', None, dev),
                        (None, '198.51.100.0/24', dev),
                        ('10.1.0.0/24', None, dev)}
            for subject in router, group(segment):
                self.assertEqual(expected, self.rules(subject))

    def test_configured_networks(self):
        for subject, devices in ((cloud.node(), ('br-ex', 'br-two')),
                                 (TAGGED, ('br-ex.101',))):
            self.assertEqual(
                {(*ends, dev) for dev in devices for ends in (
                    ('192.0.2.0/24', None), (None, '192.0.2.0/24'))},
                self.rules(subject, network_cidr=['192.0.2.0/24']))

    def test_in_doubt_they_stay(self):
        node = cloud.node(devices=(
            model.Device('br-ex', MAC, True),
            model.Device('br-ex.101', MAC, True, vlan=101, lower='br-ex')))
        router = cloud.router(ports=(cloud.port(segment=None),))
        wanted = self.wanted(router, node)
        self.assertEqual(set(), self.rules(router, node))
        for dev in ('br-ex', 'br-ex.101'):
            self.assertIn(resources.Keep(resources.Rule(
                2001, 0, src='198.51.100.0/24', iif=dev).ref), wanted)
        # Where the leak is the operator's, they are as well.
        self.assertIn(resources.Keep(resources.Rule(
            2001, 0, src='198.51.100.0/24', iif='br-ex').ref, foreign=True),
            self.wanted(router, node, veth_leak__veth_leak_enabled=False))


class RelayTest(base.DriverTestCase):

    name, options = 'gateway_drain', TWO

    NODE = cloud.node(
        bridge_mappings=(('physnet1', 'br-ex'), ('physnet2', 'br-two')),
        relays=(model.Relay('br-ex', '192.0.2.2', 9, True),
                model.Relay('br-two', '192.0.2.2', 11, True, 'ona-n1')))

    def here(self, kind, segment):
        return self.of(kind, group(segment), self.NODE)

    def test_each_bridge_has_its_own(self):
        """Two tunnels between two nodes need names and keys of their own."""
        found = [r for segment in (VLAN, FURTHER)
                 for r in self.here(resources.RelayPort, segment)]
        self.assertEqual(['br-ex', 'br-two'], [r.bridge for r in found])
        self.assertEqual(('ona-c0000202', 0xffff44),
                         (found[0].name, found[0].tunnel))
        self.assertEqual(2, len({r.name for r in found}))
        self.assertEqual(2, len({r.tunnel for r in found}))

    def test_both_ends_derive_the_key_from_the_physical_network(self):
        there = self.NODE._replace(bridge_mappings=(
            ('physnet1', 'br-a'), ('physnet2', 'br-b')))
        far = FURTHER._replace(bridge='br-b', device='br-b')
        one, = self.of(resources.RelayPort, group(far), there,
                       bridge_dev='br-a', further_bridges=['br-b'])
        other, = self.here(resources.RelayPort, FURTHER)
        self.assertEqual((one.name, one.tunnel), (other.name, other.tunnel))

    def test_what_arrives_goes_to_the_patch_port_of_the_segment(self):
        for segment, expected in ((VLAN, ('br-ex', 9, 'ports:5')),
                                  (FURTHER, ('br-two', 11, 'ports:4'))):
            flow, = self.here(resources.Flow, segment)
            self.assertEqual(expected,
                             (flow.bridge, flow.in_port, flow.output))

    def test_what_has_left_goes_through_the_relay_of_its_bridge(self):
        router = dataclasses.replace(TAGGED, ports=(cloud.port(
            segment=VLAN, chassis=cloud.OTHER, local=False, relay=9,
            handover=model.Handover.ANNOUNCE),))
        wanted = self.wanted(router, self.NODE, 'fip_route')
        self.assertEqual({('br-ex', resources.LOCAL, 'ports:9,5')}, {
            (f.bridge, f.in_port, f.output)
            for f in only(resources.Flow, wanted)
            if f.cookie == ownership.COOKIE_RELAY})
        self.assertEqual({'br-ex.101'}, {
            n.dev for n in only(resources.Neighbour, wanted)})

    def test_in_doubt_the_relays_stay(self):
        unmapped = FURTHER._replace(bridge='', device='')
        for segment in (None, unmapped):
            self.assertEqual({('br-two', 'ona-n1')}, {
                r.of.key for r in self.here(resources.Keep, segment)})
        self.assertEqual([], self.here(resources.Keep, VLAN))
