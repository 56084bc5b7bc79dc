# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Machines of one address in several VNIs, by one-shot questions."""

from ovn_network_agent import resources
from ovn_network_agent.diagnosis.address import subject
from ovn_network_agent.tests.functional.diagnosis import subjects
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.unit.ovn import clouds
from ovn_network_agent.tests.unit.ovn import test_view_vnis

ONE, VNI = test_view_vnis.ONE, test_view_vnis.VNI
Kind = subject.Kind


class VnisTest(test_view_vnis.TwoNetworks, subjects.Subjects,
               clouds.CloudTestCase):

    options = {'drivers': ['evpn'], 'evpn__local_ip': '10.0.100.11'}

    def found(self, **options):
        """{VNI: (kind, port)} of the address."""
        return {each.vni: (each.kind, each.binding and each.binding.name)
                for each in self.subjects(ONE, **options)}

    def test_each_has_its_own(self):
        self.say('red', **{VNI: '1001'})
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
        self.say('red', **{VNI: '1001'})
        self.assertEqual(
            {0: (Kind.MACHINE, 'vm-blue'), 1001: (Kind.MACHINE, 'vm-red')},
            self.found(drivers=['provider_port', 'evpn']))
        self.cloud.add_router('one', chassis=test_view_vnis.HERE,
                              network=self.datapaths['blue'])
        self.cloud.add_nat('one', ONE)
        self.assertEqual(
            {0: (Kind.FIP, None), 1001: (Kind.MACHINE, 'vm-red')},
            self.found(drivers=['fip_route', 'evpn']))

    def test_elsewhere(self):
        self.say('red', **{VNI: '1001'})
        self.cloud.move_machine('vm-red', cloud.OTHER)
        red = self.subjects(ONE)[1]
        self.assertEqual((1001, False), (red.vni, red.here))

    def test_a_network_without_a_vni(self):
        self.say('red', **{VNI: '1001'})
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
        self.say('red', **{VNI: '1001'})
        self.nb.transact(ovsdb.insert(
            'DHCP_Options', 'options', cidr='192.168.50.0/24',
            options=ovsdb.ovsdb_dict(
                {'router': '192.168.50.254'})))
        self.assertEqual(('192.168.50.254',),
                         self.subjects(ONE)[1].network.gateways)

    def test_without_the_driver(self):
        self.say('red', **{VNI: '1001'})
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
                (test_view_vnis.FIP, Kind.FIP, f'{test_view_vnis.FIP}/32'),
                ('10.0.0.7', Kind.TENANT, test_view_vnis.TENANT),
                (test_view_vnis.TENANT, Kind.TENANT, test_view_vnis.TENANT)):
            self.assertEqual({
                0: (Kind.NOBODY, None, None),
                # The localnet port of blue has no patch port.
                1001: (kind, 'red', f'VNI 1001 {prefix}'),
                1002: (kind, 'blue', None)}, self.found(asked))
        red = self.subjects(test_view_vnis.FIP)[1]
        self.assertEqual((1001, True, ()), (red.end.vni, red.here, red.also))
        self.assertEqual(1, len(red.claims))
        self.assertEqual(resources.Neighbour(
            red.end.name, test_view_vnis.FIP, '', red.port.mac), next(
                each for each in red.wanted_of(resources.Neighbour)
                if each.dst == red.nexthop))

    def test_a_virtual_ip_behind_snat(self):
        """It is announced without the network that it is in."""
        for name in 'red', 'blue':
            self.cloud.add_nat(name, test_view_vnis.FIP, '10.0.0.0/24',
                               type='snat')
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
        for name, chassis in (('red', test_view_vnis.HERE),
                              ('blue', cloud.OTHER)):
            self.cloud.add_nat(name, '192.168.50.9', logical_port=f'of-{name}',
                               external_mac='fa:16:3e:00:00:77')
            self.cloud.add_machine(f'of-{name}', chassis)
            self.cloud.move(f'lrp-{name}', cloud.OTHER)
        _nobody, red, blue = self.subjects('192.168.50.9')
        self.assertEqual((Kind.DISTRIBUTED, True, 'of-red', cloud.HOSTNAME), (
            red.kind, red.here, red.machine.port, red.owner))
        self.assertEqual('VNI 1001 192.168.50.9/32', red.announcement.subject)
        self.assertEqual(
            (Kind.DISTRIBUTED, False, 'of-blue', cloud.OTHER_HOSTNAME), (
                blue.kind, blue.here, blue.machine.port, blue.owner))

    def test_one_outside(self):
        self.say('blue', **{VNI: None})
        found = self.found(test_view_vnis.FIP)
        self.assertEqual((Kind.FIP, 'blue'), found[0][:2])
        self.assertEqual((Kind.FIP, 'red'), found[1001][:2])
        found = self.found('10.0.0.7')
        self.assertEqual((Kind.TENANT, 'blue'), found[0][:2])
        self.assertEqual((Kind.TENANT, 'red'), found[1001][:2])
