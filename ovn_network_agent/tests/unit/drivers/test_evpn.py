# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Driver evpn: from the view to resources, for networks and routers."""

import dataclasses

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.drivers.common import announcing
from ovn_network_agent.model import evpn_names
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import world
from ovn_network_agent.tests.unit.drivers import base

ONE, SIX = '192.168.50.10', '2001:db8:50::10'
MAC = 'fa:16:3e:00:00:01'
UUID = '1a2b3c4d-5e6f-4711-8888-999999999999'
END = 'vrf1a2b3c4d-5e'
TABLE = ownership.EVPN_TABLES.start + 1001
RED = model.Vni(1001, imports=('64999:1001',), exports=('64999:1001',))


def network(**values):
    return model.ProviderNetwork(**{
        'uuid': UUID, 'called': 'red',
        'networks': ('192.168.50.0/24', '2001:db8:50::/64'),
        'segment': cloud.segment(vlan=201, device='br-ex.201'),
        'vni': RED, 'gateways': ('192.168.50.1',), **values})


def address(found=ONE, of=None, **values):
    return model.PortAddress(of or network(), 'vm-1', found, MAC, **values)


class EvpnTest(base.DriverTestCase):

    name = 'evpn'
    options = {'drivers': ['evpn'], 'evpn__local_ip': '10.0.100.11'}

    def test_devices(self):
        devices, = self.of(resources.VniDevices, network())
        self.assertEqual(resources.VniDevices(
            1001, TABLE, evpn_names.router_mac(cloud.CHASSIS), '10.0.100.11',
            4789, 1450, 'vrf-provider'), devices)
        port, = self.of(resources.VniPort, network())
        self.assertEqual(resources.VniPort(
            END, 1001, '02:00:03:e9:00:c9', 'br-ex', 201), port)
        self.assertIn(devices.ref, port.requires)
        flows = self.of(resources.Flow, network())
        self.assertEqual({(3, 4, port.mac), (3, 6, port.mac)},
                         {(f.in_port, f.family, f.set_dst) for f in flows})

    def test_a_mac_of_each_node(self):
        port, = self.of(resources.VniPort, network(), evpn__anycast_mac=False)
        self.assertEqual(evpn_names.own_mac(cloud.CHASSIS), port.mac)
        self.assertNotIn(port.mac, (evpn_names.own_mac('other'),
                                    evpn_names.router_mac(cloud.CHASSIS)))
        self.assertEqual({port.mac}, {each.set_dst for each in self.of(
            resources.Flow, network(), evpn__anycast_mac=False)})

    def test_packets_to_elsewhere_stay(self):
        """Whatever device the kernel sees them come from."""
        rules = self.of(resources.VniRule, network())
        self.assertEqual(
            {(dev, ipv6) for dev in (END, 'br-1001', 'vrf-1001')
             for ipv6 in (None, True)},
            {(rule.iif, rule.ipv6) for rule in rules})
        self.assertEqual({resources.BLACKHOLE}, {rule.table for rule in rules})
        self.assertLess(resources.VniRule.stage, resources.Stage.LINK)
        # There is no device without them.
        needed = {ref for kind in (resources.VniDevices, resources.VniPort)
                  for each in self.of(kind, network())
                  for ref in each.requires}
        self.assertLessEqual({rule.ref for rule in rules}, needed)

    def test_what_the_segment_has(self):
        self.assertEqual(
            {'192.168.50.1/32', f'{ownership.SEGMENT_LINK_LOCAL}/64'},
            {each.address for each in self.of(resources.Address, network())})
        self.assertIn('169.254.169.254/32', {
            each.address for each in self.of(resources.Address,
                                             network(gateways=()))})
        advertised, = self.of(resources.RouterAdvertisement, network())
        self.assertEqual((END, ('2001:db8:50::/64',)),
                         (advertised.dev, advertised.prefixes))
        proxy, = self.of(resources.NeighbourProxy, network())
        self.assertEqual('2001:db8:50::1', proxy.dst)
        for subject, options in (
                (network(networks=('192.168.50.0/24',)), {}),
                (network(), {'provider_port__router_advertisements': False})):
            self.assertEqual([], self.of(
                resources.RouterAdvertisement, subject, **options))

    def test_frr(self):
        instance, = self.of(resources.EvpnInstance, network())
        self.assertEqual(resources.EvpnInstance(
            1001, 0, '10.0.100.11', '10.0.100.11:1001', ('64999:1001',),
            ('64999:1001',)), instance)
        self.assertEqual([], self.of(resources.EvpnInstance, network(),
                                     evpn__manage_frr=False))
        chosen, = self.of(resources.EvpnInstance, network(
            vni=model.Vni(70000)), evpn__bgp_as=65001)
        self.assertEqual((65001, ''), (chosen.asn, chosen.rd))

    def test_a_prefix_of_the_node_in_each_family(self):
        routes = self.of(resources.KernelRoute, network())
        self.assertEqual([
            (TABLE, '100.64.100.11/32', 'vrf-1001'),
            (TABLE, 'fd6f:766e:6e61::a00:640b/128', 'vrf-1001')],
            [(each.table, each.dst, each.dev) for each in routes])

    def test_an_address(self):
        neighbour, route = self.wanted(address())
        self.assertEqual(resources.Neighbour(END, ONE, '', MAC), neighbour)
        self.assertEqual(resources.VniRoute(TABLE, f'{ONE}/32', END,
                                            vni=1001), route)
        self.assertEqual('VNI 1001 192.168.50.10/32', route.subject)
        self.assertLessEqual(
            {neighbour.ref, resources.Ref('vni_port', (END,)),
             resources.Ref('evpn_instance', (1001,))}, {*route.requires})
        self.assertIn(f'{SIX}/128', [
            each.dst for each in self.of(resources.VniRoute, address(SIX))])

    def test_two_tenants_with_one_address(self):
        other = network(uuid='9' + UUID[1:], vni=model.Vni(1002))
        refs = [each.ref for subject in (address(), address(of=other))
                for each in self.wanted(subject)]
        self.assertEqual(4, len(set(refs)))

    def test_a_machine_that_comes_and_one_in_doubt(self):
        for doubtful in (address(announced=False),
                         address(bound=False, announced=False),
                         address(of=network(segment=None))):
            self.assertEqual(
                [resources.Ref('neighbour', (END, ONE)),
                 resources.Ref('vni_route', (TABLE, f'{ONE}/32'))],
                [each.of for each in self.wanted(doubtful)])

    def test_what_is_left_out(self):
        self.assertEqual([], self.wanted(address(withheld='by an option')))
        for left_out, text in (
                (address(claimed='port vm-2'), 'port vm-2 has it, too'),
                (address('100.64.100.11', network(networks=(
                    '100.64.0.0/10',))), 'this node announces it as its own'),
                (address('192.168.51.10'), 'it is in no subnet')):
            problem, = self.wanted(left_out)
            self.assertIn(text, problem.text)

    def test_networks_that_are_left_out(self):
        plain = network(vni=None)
        self.assertEqual([], self.wanted(plain))
        self.assertEqual([], self.wanted(address(of=plain)))
        bad = network(vni=model.Vni(1001, problem='it is wrong'))
        problem, = self.wanted(bad)
        self.assertIn('network red: nothing on this chassis is in EVPN, '
                      'because it is wrong', problem.text)
        self.assertEqual([], self.wanted(address(of=bad)))

    def test_an_unknown_segment_keeps_everything(self):
        made = {each.ref for each in self.wanted(network())
                if each.kind not in ('flow', 'keep')}
        problem, *kept = self.wanted(network(segment=None))
        self.assertIn('no localnet port', problem.text)
        self.assertEqual(made, {each.of for each in kept})

    def test_the_address_of_a_device(self):
        device = {'evpn__local_ip': '', 'evpn__local_device': 'lo'}
        for subject in network(), address():
            self.assertEqual(self.wanted(subject), self.wanted(
                subject, cloud.node(tunnel='10.0.100.11'), **device))
        problem, *kept = self.wanted(network(), **device)
        self.assertIn('lo of [evpn] local_device has no IPv4 address',
                      problem.text)
        self.assertIn(resources.Ref('vni_devices', (1001,)), [
            each.of for each in kept if each.kind == 'keep'])
        # The flow to the veth pair does not depend on the tunnels.
        self.assertEqual({'keep', 'flow'}, {each.kind for each in kept})
        self.assertEqual({'keep'}, {*self.kinds(address(), **device)})

    def test_a_vlan_that_no_device_can_have(self):
        for tag in (-1, 4095, 1 << 40):
            problem, *kept = self.wanted(network(segment=cloud.segment(
                vlan=tag, device=f'br-ex.{tag}')))
            self.assertIn(f'its network is VLAN {tag}', problem.text)
            self.assertIn(resources.Ref('vni_port', (END,)),
                          [each.of for each in kept])

    def test_other_drivers_leave_the_network_alone(self):
        others = ['provider_port', 'veth_leak']
        for name in others:
            for subject in (network(), address()):
                if type(subject) in self.driver(name).SUBJECTS:
                    self.assertEqual([], self.wanted(
                        subject, name=name, drivers=others), name)

    def test_a_drain_and_a_stop_count_them(self):
        """All but those that are not announced."""
        conf = world.conf(drivers=['evpn'], network_cidr=['198.51.100.0/24'])
        wrong = network(uuid='2', vni=model.Vni(1001, problem='others'))
        view = cloud.with_machines(
            cloud.snapshot(), address(), address(SIX),
            address('192.168.50.11', withheld='by hand'),
            address('192.168.51.9'), address(ONE, wrong))
        self.assertEqual([ONE, SIX], [
            each.address for each in announcing.of_machines(conf, view)])


FIP, TENANT, VIA = '198.51.100.77', '10.0.0.0/24', '198.51.100.1'
VNI = model.Vni(1001)
OTHERS = ('fip_route', 'veth_leak', 'tenant_network', 'gateway_drain',
          'port_forward')


def port(**values):
    return cloud.port(**{'vni': VNI, 'network': UUID, **values})


def served(of=None, **values):
    return model.ServedAddress(**{
        'router': 'r', 'called': 'red-router', 'address': FIP, 'mac': MAC,
        'port': of or port(), 'kinds': ('fip',), **values})


def prefix(of=None, **values):
    return model.TenantPrefix(**{
        'router': 'r', 'called': 'red-router', 'prefix': TENANT,
        'subnet': TENANT, 'network': 'net', 'port': of or port(), 'via': VIA,
        **values})


class RoutersTest(base.DriverTestCase):

    name = 'evpn'
    options = {'drivers': ['evpn', *OTHERS], 'evpn__local_ip': '10.0.100.11'}

    def test_an_address(self):
        neighbour, route = self.wanted(served())
        self.assertEqual(resources.Neighbour(END, FIP, '', MAC), neighbour)
        self.assertEqual(resources.VniRoute(TABLE, f'{FIP}/32', END,
                                            vni=1001), route)
        self.assertLessEqual({
            neighbour.ref, resources.Ref('vni_port', (END,)),
            resources.Ref('evpn_instance', (1001,))}, {*route.requires})
        self.assertEqual(served().subject, route.subject)

    def test_a_machine_of_a_distributed_floating_ip(self):
        elsewhere = port(local=False, hosting=True, chassis='other')
        neighbour, _route = self.wanted(served(
            elsewhere, resident=True, mac='fa:16:3e:00:00:99'))
        self.assertEqual('fa:16:3e:00:00:99', neighbour.lladdr)
        self.assertEqual([], self.wanted(served(answered=False)))

    def test_a_prefix_goes_through_the_gateway_port(self):
        neighbour, route = self.wanted(prefix())
        self.assertEqual(resources.Neighbour(END, VIA, '', MAC), neighbour)
        self.assertEqual(resources.VniRoute(TABLE, TENANT, END, VIA,
                                            vni=1001), route)
        self.assertEqual(prefix().subject, route.subject)
        # The address of the port itself has the same neighbour.
        self.assertIn(neighbour, self.wanted(served(address=VIA)))

    def test_a_port_that_has_left(self):
        """The VRF forwards what still comes by the route of the next owner.
        """
        for handover in model.Handover:
            left = port(local=False, handover=handover, chassis='other')
            for subject in (served(left), prefix(left)):
                self.assertEqual([], self.wanted(subject))

    def test_in_doubt(self):
        for subject, dst, via in (
                (served(port(segment=None)), f'{FIP}/32', FIP),
                (prefix(port(segment=None)), TENANT, VIA),
                (prefix(claim=model.Claim.UNKNOWN, rivals=('x',)), TENANT,
                 VIA)):
            self.assertEqual({resources.Ref('neighbour', (END, via)),
                              resources.Ref('vni_route', (TABLE, dst))}, {
                each.of for each in self.of(resources.Keep, subject)})

    def test_what_is_left_out(self):
        for subject in (served(withheld='by an option'),
                        prefix(withheld='by an option'),
                        served(address='10.0.0.9', kinds=('vip',))):
            self.assertEqual([], self.wanted(subject))
        for subject, text in (
                (served(address='203.0.113.9'),
                 'it is in no network of the gateway port lrp-1'),
                (served(unanswered='of another row'), 'because of another'),
                (prefix(claimed='blue'),
                 'overlaps with the provider network of router blue'),
                (prefix(prefix='100.64.100.11/32'),
                 'this node announces it as its own')):
            problem, = self.wanted(subject)
            self.assertIn('in VNI 1001', problem.text)
            self.assertIn(text, problem.text)

    def test_a_wrong_vni(self):
        bad = port(vni=model.Vni(0, problem='it is wrong'))
        for subject in (served(bad), prefix(bad)):
            self.assertEqual([], self.wanted(subject))
        problem, = self.wanted(cloud.router(ports=(bad,)).bare)
        self.assertIn('none of its addresses is announced, because it is '
                      'wrong', problem.text)
        # What it sends would be in the underlay.
        self.assertEqual([], self.wanted(cloud.router(ports=(bad,)).bare,
                                         name='fip_route'))
        self.assertEqual([], self.wanted(cloud.router(ports=(port(),)).bare))

    def test_other_drivers(self):
        """They have the rows of OVN, and the order of candidates."""
        bridge = model.GroupPort(
            'cr-lrp-1', 'other', 'lrp-1', ('198.51.100.1/24',),
            cloud.segment(), ('10.0.0.0/24',), routed=('10.0.1.0/24',),
            vni=VNI)
        group = model.GatewayGroup('Gateway_Chassis', 'g', ports=(bridge,))
        for name in OTHERS:
            for subject in (served(), served(kinds=('snat',)), prefix(),
                            cloud.router(ports=(port(),)).bare, group):
                if type(subject) in self.driver(name).SUBJECTS:
                    self.assertLessEqual(
                        {*self.kinds(subject, name=name)}, {
                            'default_route', 'mac_binding', 'relay_port',
                            'relay'}, name)

    def test_the_virtual_gateway(self):
        """Its MAC is nobody's in the underlay, and no proof is wanted."""
        router = cloud.router(ports=(port(),)).bare
        wanted = {each.kind: each
                  for each in self.wanted(router, name='fip_route')}
        self.assertEqual({'default_route', 'mac_binding'}, wanted.keys())
        self.assertEqual(ownership.VIRTUAL_GATEWAY_MAC,
                         wanted['mac_binding'].mac)
        plain = dataclasses.replace(router, ports=(cloud.port(),))
        self.assertIn('advertised', self.kinds(plain, name='fip_route'))

    def test_addresses_of_routers_elsewhere(self):
        """Nobody in OVN here answers machines that ask for them by IPv6."""
        network = model.ProviderNetwork(
            UUID, 'red', ('2001:db8:50::/64',), cloud.segment(), vni=VNI,
            elsewhere=('2001:db8:50::77',))
        self.assertIn((END, '2001:db8:50::77'), [
            (each.dev, each.dst)
            for each in self.of(resources.NeighbourProxy, network)])
