# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Addresses of machines, and those in VNIs, by one-shot questions."""

from ovn_network_agent import resources
from ovn_network_agent.diagnosis.address import facts
from ovn_network_agent.diagnosis.address import gathering
from ovn_network_agent.diagnosis.address import ovn
from ovn_network_agent.diagnosis.address import subject
from ovn_network_agent.tests.functional.diagnosis import subjects
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.unit.ovn import clouds
from ovn_network_agent.tests.unit.ovn import test_view_vnis

HERE, AWAY = cloud.CHASSIS, cloud.OTHER
VM, SIX = '198.51.100.30', '2001:db8::30'
MAC = 'fa:16:3e:00:00:aa'
Kind = subject.Kind
ONE, VNI = test_view_vnis.ONE, test_view_vnis.VNI
FIP, TENANT = test_view_vnis.FIP, test_view_vnis.TENANT
DRIVERS = ['provider_port', 'veth_leak']


class MachinesTest(subjects.Subjects, clouds.CloudTestCase):

    options = {'drivers': DRIVERS}

    def setUp(self):
        super().setUp()
        self.cloud.add_switch()

    def add(self, port='vm-1', chassis=HERE, address=VM, kind='', **row):
        self.cloud.add_machine(port, chassis, kind, **{
            'mac': [f'{MAC} {address}'], 'network': self.cloud.network,
            'external_ids': ovsdb.ovsdb_dict({
                'neutron:cidrs': f'{address}/{64 if ":" in address else 24}'}),
            **row})

    def left_out(self, address=VM, **options):
        """Why an address is not announced."""
        found = self.subject(address, **options)
        self.assertFalse(found.here)
        return found.binding.left_out[0]

    def test_here(self):
        self.add()
        self.add('vm-2', address=SIX)
        for address in VM, SIX:
            found = self.subject(address)
            self.assertEqual(
                (Kind.MACHINE, True, cloud.HOSTNAME, 'public', MAC, 3, ''),
                (found.kind, found.here, found.owner, found.binding.network,
                 found.mac, found.segment.patch_port, found.withheld))
            self.assertEqual(found.prefix, found.announcement.prefix)
        self.assertEqual({4}, {each.family for each in self.subject(
            VM).wanted_of(resources.Flow)})

    def test_the_view_of_the_agent_has_the_same(self):
        self.add()
        self.cloud.add_router('one', chassis=HERE)
        seen = self.eyes(drivers=['provider_port']).look()
        machines, = seen.machines.values()
        self.assertEqual(machines[VM], self.subject(VM).found)

    def test_elsewhere_and_on_its_way(self):
        self.add(chassis=AWAY, additional_chassis=self.cloud._chassis(HERE))
        found = self.subject(VM)
        self.assertEqual(
            (False, cloud.OTHER_HOSTNAME, (cloud.HOSTNAME,), None),
            (found.here, found.owner, found.binding.further,
             found.binding.left_out))
        self.cloud.move_machine('vm-1', HERE, up=False)
        found = self.subject(VM)
        self.assertEqual((False, True, False), (
            found.here, found.binding.here, found.binding.up))
        self.cloud.move_machine('vm-1', None)
        self.assertEqual('', self.subject(VM).owner)

    def test_kinds_of_ports_that_are_left_out(self):
        for number, (why, values) in enumerate((
                ('SR-IOV', {'kind': 'external'}),
                ('metadata', {'kind': 'localport'}),
                ('no localnet port', {'network': self.cloud.add_network()}))):
            address = f'198.51.100.{number + 31}'
            self.add(f'vm-{number}', address=address, **values)
            self.assertIn(why, self.left_out(address))

    def test_a_virtual_port(self):
        self.add(address='198.51.100.31')
        self.add('vip', kind='virtual', mac=[f'fa:16:3e:00:00:bb {VM}'],
                 virtual_parent='vm-1')
        found = self.subject(VM)
        self.assertEqual((True, 'vm-1', MAC), (
            found.here, found.binding.parent, found.mac))
        self.cloud.move_machine('vip', None,
                                virtual_parent=ovsdb.ovsdb_set(()))
        found = self.subject(VM)
        self.assertEqual((False, '', ''), (found.here, found.owner, found.mac))

    def test_networks_that_are_chosen(self):
        self.add()
        self.assertTrue(self.subject(
            VM, provider_port__networks=['public']).here)
        self.assertIn('[provider_port] networks', self.left_out(
            provider_port__networks=['other']))

    def test_an_allowed_address_pair(self):
        self.add(address='198.51.100.31', port_security=ovsdb.ovsdb_set([
            f'{MAC} 198.51.100.31 {VM}']))
        self.assertIn('allowed_address_pairs', self.left_out())
        self.assertTrue(self.subject(
            VM, provider_port__allowed_address_pairs=True).here)

    def test_several_ports(self):
        """The one that is announced here, and what has the address, too."""
        self.add('vm-0', AWAY)
        self.add('vm-1', HERE)
        self.add('vm-2', HERE, network=self.cloud.add_network())
        found = self.subject(VM)
        self.assertEqual(('vm-1', ['vm-0']), (
            found.binding.name, [each.name for each in found.also]))

    def test_a_router_comes_first(self):
        self.add()
        self.cloud.add_router('one', chassis=HERE)
        self.cloud.add_nat('one', VM)
        self.assertIs(Kind.FIP, self.kind(VM))

    def test_without_the_driver(self):
        self.add()
        self.assertIs(Kind.NOBODY, self.kind(VM, drivers=['fip_route']))

    def test_what_the_driver_says(self):
        self.add(external_ids=ovsdb.ovsdb_dict({}))
        conf = self.configuration()
        found = self.subject(VM)
        self.assertIn('in no subnet', ovn.wanted(facts.Facts(
            gathering.setup(conf, '192.0.2.1'), found)).evidence)


class VnisTest(test_view_vnis.TwoNetworks, subjects.Subjects,
               clouds.CloudTestCase):

    options = {'drivers': ['evpn'], 'evpn__local_ip': '10.0.100.11'}

    def setUp(self):
        super().setUp()
        self.say('red', **{VNI: '1001'})

    def found(self, **options):
        """{VNI: (kind, port)} of the address."""
        return {each.vni: (each.kind, each.binding and each.binding.name)
                for each in self.subjects(ONE, **options)}

    def test_each_has_its_own(self):
        self.say('blue', **{VNI: '1002'})
        self.assertEqual({0: (Kind.NOBODY, None),
                          1001: (Kind.MACHINE, 'vm-red'),
                          1002: (Kind.MACHINE, 'vm-blue')}, self.found())
        _outside, red, blue = self.subjects(ONE)
        self.assertEqual((True, (), True, ()), (red.here, red.also,
                                                blue.here, blue.also))
        self.assertEqual(1001, red.end.vni)
        self.assertIs(resources.VniRoute, type(red.announcement))
        self.assertEqual({4}, {flow.family for flow in red.wanted_of(
            resources.Flow)})
        self.assertEqual({'192.168.50.1/32'}, {
            each.address for each in red.wanted_of(resources.Address)})
        # Its localnet port has no patch port.
        self.assertIsNone(blue.end)

    def test_what_is_outside_comes_first(self):
        self.assertEqual(
            {0: (Kind.MACHINE, 'vm-blue'), 1001: (Kind.MACHINE, 'vm-red')},
            self.found(drivers=['provider_port', 'evpn']))
        self.cloud.add_router('one', chassis=HERE,
                              network=self.datapaths['blue'])
        self.cloud.add_nat('one', ONE)
        self.assertEqual(
            {0: (Kind.FIP, None), 1001: (Kind.MACHINE, 'vm-red')},
            self.found(drivers=['fip_route', 'evpn']))

    def test_elsewhere(self):
        self.cloud.move_machine('vm-red', cloud.OTHER)
        red = self.subjects(ONE)[1]
        self.assertEqual((1001, False), (red.vni, red.here))

    def test_a_network_without_a_vni(self):
        outside = self.subjects(ONE)[0]
        self.assertIn('has no VNI', outside.binding.left_out[0])

    def test_networks_that_do_not_agree(self):
        for name, target in (('red', '1:1'), ('blue', '1:2')):
            self.say(name, **{VNI: '1001', test_view_vnis.TARGETS: target})
        self.cloud.move_machine('vm-blue', cloud.OTHER)
        first, last = sorted(self.switches, key=self.switches.get)
        found, = [each for each in self.subjects(ONE) if each.vni]
        problem = {**{each.name: each.of.vni.problem for each in found.also},
                   found.binding.name: found.binding.of.vni.problem}
        self.assertEqual('', problem[f'vm-{first}'])
        self.assertIn('has the VNI 1001', problem[f'vm-{last}'])

    def test_the_gateway_of_the_subnet(self):
        self.nb.transact(ovsdb.insert(
            'DHCP_Options', 'options', cidr='192.168.50.0/24',
            options=ovsdb.ovsdb_dict(
                {'router': '192.168.50.254'})))
        self.assertEqual(('192.168.50.254',),
                         self.subjects(ONE)[1].network.gateways)

    def test_without_the_driver(self):
        found, = self.subjects(ONE, drivers=['provider_port'])
        ports = {each.name: each.unused
                 for each in (found.binding, *found.also)}
        self.assertEqual({'vm-red': 1001, 'vm-blue': 0}, ports)
        self.assertEqual(0, self.subjects(ONE)[1].binding.unused)


class RoutersTest(test_view_vnis.TwoRouters, subjects.Subjects,
               clouds.CloudTestCase):
    """The same addresses behind two routers, in two VNIs."""

    options = {'drivers': ['evpn', 'fip_route', 'tenant_network'],
               'evpn__local_ip': '10.0.100.11'}

    def setUp(self):
        super().setUp()
        for name, number in (('red', '1001'), ('blue', '1002')):
            self.say(name, **{VNI: number})

    def found(self, asked, **options):
        """{VNI: (kind, router, what announces it)} of an address."""
        return {each.vni: (each.kind, each.router and each.router.called, (
            each.announcement and each.announcement.subject))
                for each in self.subjects(asked, **options)}

    def test_each_has_its_own(self):
        for asked, kind, prefix in (
                (FIP, Kind.FIP, f'{FIP}/32'),
                ('10.0.0.7', Kind.TENANT, TENANT),
                (TENANT, Kind.TENANT, TENANT)):
            self.assertEqual({
                0: (Kind.NOBODY, None, None),
                # The localnet port of blue has no patch port.
                1001: (kind, 'red', f'VNI 1001 {prefix}'),
                1002: (kind, 'blue', None)}, self.found(asked))
        red = self.subjects(FIP)[1]
        self.assertEqual((1001, True, ()), (red.end.vni, red.here, red.also))
        self.assertEqual(1, len(red.claims))
        self.assertIn(
            resources.Neighbour(red.end.name, FIP, '', red.port.mac), [
                each for each in red.wanted_of(resources.Neighbour)
                if each.dst == red.nexthop])

    def test_a_virtual_ip_behind_snat(self):
        """It is announced without the network that it is in."""
        for name in 'red', 'blue':
            self.cloud.add_nat(name, FIP, '10.0.0.0/24', type='snat')
            self.cloud.add_balancer(name, '10.0.0.9:80', floating=False)
        self.assertEqual({
            0: (Kind.NOBODY, None, None),
            1001: (Kind.TENANT, 'red', 'VNI 1001 10.0.0.9/32'),
            1002: (Kind.TENANT, 'blue', None)},
            self.found('10.0.0.9', load_balancer__vips_behind_snat=True,
                       drivers=['evpn', 'fip_route', 'tenant_network',
                                'load_balancer']))

    def test_a_distributed_floating_ip(self):
        """It is where the machine of its own router is."""
        for name, chassis in ('red', HERE), ('blue', AWAY):
            self.cloud.add_nat(name, '192.168.50.9', logical_port=f'of-{name}',
                               external_mac='fa:16:3e:00:00:77')
            self.cloud.add_machine(f'of-{name}', chassis)
            self.cloud.move(f'lrp-{name}', AWAY)
        _nobody, red, blue = self.subjects('192.168.50.9')
        self.assertEqual((Kind.DISTRIBUTED, True, 'of-red', cloud.HOSTNAME), (
            red.kind, red.here, red.machine.port, red.owner))
        self.assertEqual('VNI 1001 192.168.50.9/32', red.announcement.subject)
        self.assertEqual(
            (Kind.DISTRIBUTED, False, 'of-blue', cloud.OTHER_HOSTNAME), (
                blue.kind, blue.here, blue.machine.port, blue.owner))

    def test_one_outside(self):
        self.say('blue', **{VNI: None})
        for address, kind in (FIP, Kind.FIP), ('10.0.0.7', Kind.TENANT):
            found = self.found(address)
            self.assertEqual((kind, 'blue'), found[0][:2])
            self.assertEqual((kind, 'red'), found[1001][:2])
