# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Provider networks with a VNI in the view."""

from ovn_network_agent import model
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.unit.ovn import clouds
from ovn_network_agent.tests.unit.ovn import test_view_tenants

MAC = 'fa:16:3e:00:00:aa'
ONE = '192.168.50.10'
HERE, AWAY = clouds.HERE, clouds.AWAY
FIP, TENANT = '192.168.50.77', '10.0.0.0/24'
VNI, TARGETS = 'ovn-network-agent:evpn-vni', 'ovn-network-agent:evpn-rt'
Claim = model.Claim


class TwoNetworks:
    """Two networks, each with a machine of the same address here."""

    def setUp(self):
        super().setUp()
        self.switches, self.datapaths = {}, {}
        for name in ('blue', 'red'):
            datapath = self.cloud.network
            if name == 'blue':
                datapath = self.cloud.add_network()
                self.cloud._add_binding(
                    datapath, 'provnet-2', 'localnet', tag=202,
                    options=ovsdb.ovsdb_dict({'network_name': 'physnet1'}))
            self.datapaths[name] = datapath
            self.switches[name] = self.cloud.add_switch(name, datapath)
            self.cloud.add_machine(
                f'vm-{name}', HERE, network=datapath, mac=[f'{MAC} {ONE}'],
                external_ids=ovsdb.ovsdb_dict({'neutron:cidrs': f'{ONE}/24'}))

    def say(self, name, **words):
        self.cloud.say('Logical_Switch', {'name': f'neutron-{name}'},
                       external_ids=words)


class VnisTest(TwoNetworks, clouds.CloudTestCase):

    def setUp(self):
        super().setUp()
        # The one whose word counts where they disagree, and the other one.
        self.first, self.last = sorted(self.switches, key=self.switches.get)

    def eyes(self, *vnis):
        return super().eyes(drivers=['evpn'], evpn__vnis=[*vnis])

    def become(self, eyes, **wanted):
        """The networks by name, which have these VNIs."""
        found = {network.called: network
                 for network in eyes.look().networks.values()}
        self.assertEqual(wanted, {
            name: network.vni and network.vni.number
            for name, network in found.items()})
        self.as_new(eyes)
        return found

    def machines(self, eyes):
        return sorted((each.address, each.claimed)
                      for known in eyes.look().machines.values()
                      for each in known.values())

    def test_a_vni_comes_changes_and_goes(self):
        eyes = self.eyes()
        self.become(eyes)
        self.say('red', **{VNI: '1001', TARGETS: '64999:1001'})
        red = self.become(eyes, red=1001)['red']
        self.assertEqual((('64999:1001',), ('192.168.50.1',)),
                         (red.vni.imports, red.gateways))
        self.say('blue', **{VNI: '1002'})
        self.become(eyes, red=1001, blue=1002)
        self.assertEqual([(ONE, '')] * 2, self.machines(eyes))
        self.say('red', **{VNI: '1003'})
        self.become(eyes, red=1003, blue=1002)
        self.say('red', **{VNI: None})
        self.become(eyes, blue=1002)

    def test_the_same_address_twice_in_a_vni(self):
        eyes = self.eyes()
        self.say('red', **{VNI: '1001'})
        for number, claimed in ((1002, False), (1001, True), (1002, False)):
            self.say('blue', **{VNI: str(number)})
            self.become(eyes, red=1001, blue=number)
            (_one, none), (_other, claim) = self.machines(eyes)
            self.assertEqual(('', claimed, claimed), (
                none, claim.startswith('port vm-'), bool(claim)))

    def test_of_an_option(self):
        eyes = self.eyes('red:1001')
        for target in ('1:1', '1:2'):
            self.say('red', **{TARGETS: target})
            self.assertEqual((target,),
                             self.become(eyes, red=1001)['red'].vni.imports)

    def disagree(self):
        for name, target in (('red', '1:1'), ('blue', '1:2')):
            self.say(name, **{VNI: '1001', TARGETS: target})

    def test_two_networks_that_do_not_agree(self):
        self.disagree()
        eyes = self.eyes()
        found = self.become(eyes, red=1001, blue=1001)
        self.assertEqual('', found[self.first].vni.problem)
        self.assertIn(f'network {self.first} has the VNI 1001',
                      found[self.last].vni.problem)
        self.say(self.last, **{TARGETS: found[self.first].vni.imports[0]})
        found = self.become(eyes, red=1001, blue=1001)
        self.assertEqual('', found[self.last].vni.problem)

    def test_a_network_with_another_vni_by_option_does_not_decide(self):
        self.disagree()
        found = self.become(self.eyes(f'{self.first}:1002'),
                            **{self.first: 1002, self.last: 1001})
        self.assertEqual({''}, {each.vni.problem for each in found.values()})
        self.assertEqual((), found[self.first].vni.imports)

    def test_a_network_of_an_option_has_to_agree(self):
        self.say(self.last, **{VNI: '1001', TARGETS: '1:2'})
        found = self.become(self.eyes(f'{self.first}:1001'),
                            red=1001, blue=1001)
        self.assertIn(f'network {self.first} has the VNI 1001',
                      found[self.last].vni.problem)

    def test_a_switch_without_a_localnet_port_does_not_decide(self):
        self.disagree()
        eyes = self.eyes()
        self.become(eyes, red=1001, blue=1001)
        self.sb.delete('Port_Binding', logical_port={
            'red': 'provnet-1', 'blue': 'provnet-2'}[self.first])
        found = self.become(eyes, **{self.last: 1001})
        self.assertEqual('', found[self.last].vni.problem)

    def test_gateways(self):
        self.say('red', **{VNI: '1001'})
        first, last = '192.168.50.254', '192.168.50.5'
        # The second one is the address of a machine there.
        for router in (first, ONE):
            self.nb.insert('DHCP_Options', cidr='192.168.50.0/24',
                           options={'router': router})
        eyes = self.eyes()
        for gateway in first, last:
            self.assertEqual((gateway,),
                             self.become(eyes, red=1001)['red'].gateways)
            self.nb.update('DHCP_Options', {}, options={'router': last})

    def test_a_router_is_the_gateway(self):
        """The node must not answer for the address, too."""
        self.say('red', **{VNI: '1001'})
        self.cloud.add_router('one', ('192.168.50.1/24',))
        found = self.become(self.eyes(), red=1001)['red']
        self.assertEqual((('192.168.50.1',), ()),
                         (found.routers, found.gateways))


class TwoRouters(TwoNetworks):
    """Each network has a router with the same addresses as the other one."""

    def setUp(self):
        super().setUp()
        for name, network in self.datapaths.items():
            self.cloud.add_router(name, ('192.168.50.1/24',), HERE,
                                  network=network)
            self.cloud.add_nat(name, FIP)
            self.cloud.add_tenant(name, f'net-{name}', '10.0.0.1/24')


class RoutersTest(TwoRouters, clouds.CloudTestCase):

    def eyes(self, *drivers):
        return super().eyes(drivers=[*drivers] or [
            'evpn', 'fip_route', 'tenant_network'])

    def become(self, eyes, **wanted):
        """Compare (VNI, whether it is wrong) of the ports by router."""
        self.assertEqual(wanted, {
            router.called: port.vni and (port.vni.number,
                                         bool(port.vni.problem))
            for router in eyes.look().routers for port in router.ports})
        self.as_new(eyes, test_view_tenants.unclaimed)

    @staticmethod
    def claims(eyes):
        """The claims of the networks of red and blue."""
        found = test_view_tenants.claims(eyes)
        return found['red'], found['blue']

    def test_equal_addresses(self):
        """Routers are rivals within one VNI alone."""
        eyes = self.eyes()
        self.become(eyes, red=None, blue=None)
        self.assertEqual((Claim.UNKNOWN, Claim.UNKNOWN), self.claims(eyes))
        self.say('red', **{VNI: '1001'})
        self.become(eyes, red=(1001, False), blue=None)
        self.assertEqual((Claim.UNCONTESTED, Claim.UNCONTESTED),
                         self.claims(eyes))
        view = eyes.look()
        self.assertEqual(sorted(
            prefix + each for prefix in ('', 'VNI 1001 ')
            for each in ('192.168.50.1/32', f'{FIP}/32', TENANT)),
            sorted(each.subject for place in (view.addresses, view.tenants)
                   for known in place.values() for each in known.values()))
        # The one that comes later was not the first in this VNI.
        for number, claims in ((1001, (Claim.FIRST, Claim.REFUSED)),
                               (1002, (Claim.UNCONTESTED, Claim.UNCONTESTED))):
            self.say('blue', **{VNI: str(number)})
            self.become(eyes, red=(1001, False), blue=(number, False))
            self.assertEqual(claims, self.claims(eyes))

    def test_the_network_is_there_before_the_port(self):
        self.say('red', **{VNI: '1001'})
        self.sb.delete('Port_Binding', logical_port='vm-red')
        self.cloud.move('lrp-red', AWAY)
        eyes = self.eyes()
        self.assertEqual([0, 1001], sorted(
            port.vni.number if port.vni else 0
            for group in eyes.look().groups for port in group.ports))
        network, = eyes.look().networks.values()
        self.assertEqual(('red', 1001), (network.called, network.domain))
        before = eyes.look().networks
        self.cloud.move('lrp-blue', AWAY)
        self.assertFalse(any(router.local_ports
                             for router in eyes.look().routers))
        self.assertIs(before, eyes.look().networks)

    def test_a_port_that_leaves(self):
        """The withdrawal guard does not hold what another node has."""
        for name, number in (('red', '1001'), ('blue', '1002')):
            self.say(name, **{VNI: number})
        eyes = self.eyes()
        self.become(eyes, red=(1001, False), blue=(1002, False))
        self.cloud.move('lrp-red', AWAY)
        eyes.look()
        self.assertEqual(
            {f'VNI 1001 {FIP}/32', f'VNI 1001 {TENANT}'},
            {subject for vni in ('', 'VNI 1001 ', 'VNI 1002 ')
             for subject in (f'{vni}{FIP}/32', vni + TENANT)
             if eyes.view.cross_check.elsewhere(subject)})

    def test_what_a_router_says(self):
        """It has to be what its network has; a wrong row costs one router."""
        eyes = self.eyes()
        for network, router, rows, seen in (
                (None, '1001', None, (0, True)),
                ('1001', '1001', None, (1001, False)),
                ('1001', '1002', None, (0, True)),
                ('1001', 'x', None, (0, True)),
                ('1001', '1001', '1:1', (0, True)),
                ('1001', None, None, (1001, False)),
                (None, None, None, None),
                ('1001', '1002', None, (0, True))):
            self.say('red', **{VNI: network})
            self.cloud.say('Logical_Router', {'name': 'neutron-red'},
                           external_ids={VNI: router, TARGETS: rows})
            self.become(eyes, red=seen, blue=None)
        # Nobody announces it, so it is nobody's rival.
        self.assertEqual(Claim.UNCONTESTED, self.claims(eyes)[1])

    def test_without_the_driver(self):
        self.say('red', **{VNI: '1001'})
        self.cloud.say('Logical_Router', {'name': 'neutron-blue'},
                       external_ids={VNI: '1001'})
        eyes = self.eyes('provider_port', 'fip_route')
        self.become(eyes, red=None, blue=None)
        self.assertEqual([None, None], [
            network.vni for network in eyes.look().networks.values()])
