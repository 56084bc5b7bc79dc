# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Driver evpn: from the view to resources."""

from oslotest import base

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.drivers.common import announcing
from ovn_network_agent.model import evpn_names
from ovn_network_agent.tests.unit import world

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
        'segment': world.segment(vlan=201, device='br-ex.201'),
        'vni': RED, 'gateways': ('192.168.50.1',), **values})


def address(found=ONE, of=None, **values):
    return model.PortAddress(of or network(), 'vm-1', found, MAC, **values)


class EvpnTest(base.BaseTestCase):

    def wanted(self, subject, tunnel='', **options):
        driver = world.driver('evpn', world.conf(**{
            'drivers': ['evpn'], 'evpn__local_ip': '10.0.100.11', **options}))
        return list(driver.resources(subject, world.node(tunnel=tunnel)))

    def of(self, kind, *args, **options):
        return [each for each in self.wanted(*args, **options)
                if isinstance(each, kind)]

    def test_devices(self):
        devices, = self.of(resources.VniDevices, network())
        self.assertEqual(resources.VniDevices(
            1001, TABLE, evpn_names.router_mac(world.CHASSIS), '10.0.100.11',
            4789, 1450, 'vrf-provider'), devices)
        port, = self.of(resources.VniPort, network())
        self.assertEqual(resources.VniPort(
            END, 1001, '02:00:03:e9:00:c9', 'br-ex', 201), port)
        self.assertIn(devices.ref, port.requires)
        flows = self.of(resources.Flow, network())
        self.assertEqual({(3, 4, port.mac), (3, 6, port.mac)},
                         {(f.in_port, f.family, f.set_dst) for f in flows})

    def test_a_mac_of_each_node(self):
        port, = self.of(resources.VniPort, network(),
                        evpn__anycast_mac=False)
        self.assertEqual(evpn_names.own_mac(world.CHASSIS), port.mac)
        self.assertNotIn(port.mac, (evpn_names.own_mac('other'),
                                    evpn_names.router_mac(world.CHASSIS)))
        self.assertEqual({port.mac}, {each.set_dst for each in self.of(
            resources.Flow, network(), evpn__anycast_mac=False)})

    def test_packets_to_elsewhere_stay(self):
        """Whatever device the kernel sees them come from."""
        rules = self.of(resources.VniRule, network())
        self.assertEqual(
            {(dev, ipv6) for dev in (END, 'br-1001', 'vrf-1001')
             for ipv6 in (None, True)},
            {(rule.iif, rule.ipv6) for rule in rules})
        self.assertEqual({resources.BLACKHOLE},
                         {rule.table for rule in rules})
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
        only_four = network(networks=('192.168.50.0/24',))
        self.assertEqual([], self.of(resources.RouterAdvertisement,
                                     only_four))
        self.assertEqual([], self.of(
            resources.RouterAdvertisement, network(),
            provider_port__router_advertisements=False))

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
                subject, '10.0.100.11', **device))
        problem, *kept = self.wanted(network(), **device)
        self.assertIn('lo of [evpn] local_device has no IPv4 address',
                      problem.text)
        self.assertIn(resources.Ref('vni_devices', (1001,)), [
            each.of for each in kept if each.kind == 'keep'])
        # The flow to the veth pair does not depend on the tunnels.
        self.assertEqual({'keep', 'flow'}, {each.kind for each in kept})
        self.assertEqual({'keep'}, {
            each.kind for each in self.wanted(address(), **device)})

    def test_a_vlan_that_no_device_can_have(self):
        for tag in (-1, 4095, 1 << 40):
            problem, *kept = self.wanted(network(segment=world.segment(
                vlan=tag, device=f'br-ex.{tag}')))
            self.assertIn(f'its network is VLAN {tag}', problem.text)
            self.assertIn(resources.Ref('vni_port', (END,)),
                          [each.of for each in kept])

    def test_other_drivers_leave_the_network_alone(self):
        options = world.conf(drivers=['provider_port', 'veth_leak'])
        for name in ('provider_port', 'veth_leak'):
            driver = world.driver(name, options)
            for subject in (network(), address()):
                if type(subject) in driver.SUBJECTS:
                    self.assertEqual([], list(driver.resources(
                        subject, world.node())), name)

    def test_a_drain_and_a_stop_count_them(self):
        """All but those that are not announced."""
        conf = world.conf(drivers=['evpn'], network_cidr=['198.51.100.0/24'])
        wrong = network(uuid='2', vni=model.Vni(1001, problem='others'))
        view = world.with_machines(
            world.snapshot(), address(), address(SIX),
            address('192.168.50.11', withheld='by hand'),
            address('192.168.51.9'), address(ONE, wrong))
        self.assertEqual([ONE, SIX], [
            each.address for each in announcing.of_machines(conf, view)])
