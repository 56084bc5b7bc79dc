# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Provider networks with a VNI in the view."""

from ovn_network_agent import model
from ovn_network_agent.tests.functional.ovn import base
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovn import test_view_tenants
from ovn_network_agent.tests.functional.ovn import views
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

MAC = 'fa:16:3e:00:00:aa'
ONE = '192.168.50.10'
HERE, AWAY = views.HERE, cloud.OTHER
FIP, TENANT = '192.168.50.77', '10.0.0.0/24'
VNI, TARGETS = 'ovn-network-agent:evpn-vni', 'ovn-network-agent:evpn-rt'


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
                external_ids=ovsdb.ovsdb_dict(
                    {'neutron:cidrs': f'{ONE}/24'}))

    def say(self, name, **words):
        self.cloud.say('Logical_Switch', {'name': f'neutron-{name}'},
                       external_ids=words)


class VnisTest(TwoNetworks, base.OvsdbTestCase):

    def found(self, eyes):
        return {network.called: network
                for network in eyes.look().networks.values()}

    def become(self, eyes, wanted):
        self.eventually(lambda: {
            name: network.vni and network.vni.number
            for name, network in self.found(eyes).items()} == wanted,
            lambda: f'{self.found(eyes)} is {wanted}')
        self.assertEqual(views.timeless(views.fresh(eyes)),
                         views.timeless(eyes.look()))
        return self.found(eyes)

    def test_a_vni_comes_changes_and_goes(self):
        eyes = self.eyes(drivers=['evpn'])
        self.become(eyes, {})
        self.say('red', **{VNI: '1001', TARGETS: '64999:1001'})
        red = self.become(eyes, {'red': 1001})['red']
        self.assertEqual(('64999:1001',), red.vni.imports)
        self.assertEqual(('192.168.50.1',), red.gateways)
        self.say('blue', **{VNI: '1002'})
        self.become(eyes, {'red': 1001, 'blue': 1002})
        addresses = [each for known in eyes.look().machines.values()
                     for each in known.values()]
        self.assertEqual([(ONE, '')] * 2, [
            (each.address, each.claimed) for each in addresses])
        self.say('red', **{VNI: '1003'})
        self.become(eyes, {'red': 1003, 'blue': 1002})
        self.say('red', **{VNI: None})
        self.become(eyes, {'blue': 1002})

    def test_the_same_address_twice_in_a_vni(self):
        eyes = self.eyes(drivers=['evpn'])
        self.say('red', **{VNI: '1001'})

        def claims():
            return sorted(each.claimed for known
                          in eyes.look().machines.values()
                          for each in known.values())
        for number, first in (('1002', ''), ('1001', 'port vm-'),
                              ('1002', '')):
            self.say('blue', **{VNI: number})
            self.eventually(
                lambda first=first: len(claims()) == 2 and (
                    claims()[1].startswith(first) and
                    bool(claims()[1]) is bool(first)), claims)
            self.assertEqual(views.timeless(views.fresh(eyes)),
                             views.timeless(eyes.look()))

    def test_without_the_driver(self):
        self.say('red', **{VNI: '1001'})
        eyes = self.eyes(drivers=['provider_port'])
        self.become(eyes, {'red': None, 'blue': None})

    def test_of_an_option(self):
        self.say('red', **{TARGETS: '1:1'})
        eyes = self.eyes(drivers=['evpn'], evpn__vnis=['red:1001'])
        found = self.become(eyes, {'red': 1001})
        self.assertEqual(('1:1',), found['red'].vni.imports)
        self.say('red', **{TARGETS: '1:2'})
        self.eventually(lambda: self.found(eyes)['red'].vni.imports ==
                        ('1:2',), 'other targets')

    def test_two_networks_that_do_not_agree(self):
        for name, target in (('red', '1:1'), ('blue', '1:2')):
            self.say(name, **{VNI: '1001', TARGETS: target})
        eyes = self.eyes(drivers=['evpn'])
        found = self.become(eyes, {'red': 1001, 'blue': 1001})
        first, last = sorted(self.switches, key=self.switches.get)
        self.assertEqual('', found[first].vni.problem)
        self.assertIn(f'network {first} has the VNI 1001',
                      found[last].vni.problem)
        self.say(last, **{TARGETS: found[first].vni.imports[0]})
        self.eventually(lambda: not self.found(eyes)[last].vni.problem,
                        'they agree')

    def decider(self, eyes):
        """Have the networks disagree; the first one, and the other one."""
        for name, target in (('red', '1:1'), ('blue', '1:2')):
            self.say(name, **{VNI: '1001', TARGETS: target})
        first, last = sorted(self.switches, key=self.switches.get)
        self.assertTrue(self.become(eyes, {'red': 1001, 'blue': 1001})[
            last].vni.problem)
        return first, last

    def test_a_network_with_another_vni_by_option_does_not_decide(self):
        first, last = sorted(self.switches, key=self.switches.get)
        self.decider(self.eyes(drivers=['evpn']))
        eyes = self.eyes(drivers=['evpn'], evpn__vnis=[f'{first}:1002'])
        found = self.become(eyes, {first: 1002, last: 1001})
        self.assertEqual(['', ''], [each.vni.problem
                                    for each in found.values()])
        self.assertEqual((), found[first].vni.imports)

    def test_a_network_of_an_option_has_to_agree(self):
        first, last = sorted(self.switches, key=self.switches.get)
        self.say(last, **{VNI: '1001', TARGETS: '1:2'})
        eyes = self.eyes(drivers=['evpn'], evpn__vnis=[f'{first}:1001'])
        found = self.become(eyes, {first: 1001, last: 1001})
        self.assertIn(f'network {first} has the VNI 1001',
                      found[last].vni.problem)

    def test_a_switch_without_a_localnet_port_does_not_decide(self):
        eyes = self.eyes(drivers=['evpn'])
        first, last = self.decider(eyes)
        port = {'red': 'provnet-1', 'blue': 'provnet-2'}[first]
        self.sb.transact(ovsdb.delete('Port_Binding', {'logical_port': port}))
        found = self.become(eyes, {last: 1001})
        self.assertEqual('', found[last].vni.problem)

    def test_gateways(self):
        self.say('red', **{VNI: '1001'})
        self.nb.transact(*(ovsdb.insert(
            'DHCP_Options', f'options{number}', cidr='192.168.50.0/24',
            options=ovsdb.ovsdb_dict({'router': router}))
            for number, router in enumerate(('192.168.50.254', ONE))))
        eyes = self.eyes(drivers=['evpn'])
        # The other one is the address of a machine there.
        found = self.become(eyes, {'red': 1001})['red']
        self.assertEqual(('192.168.50.254',), found.gateways)
        self.nb.transact(ovsdb.update(
            'DHCP_Options', {'cidr': '192.168.50.0/24'},
            options=ovsdb.ovsdb_dict({'router': '192.168.50.5'})))
        self.eventually(lambda: self.found(eyes)['red'].gateways ==
                        ('192.168.50.5',), 'another gateway')

    def test_a_router_is_the_gateway(self):
        """The node must not answer for the address, too."""
        self.say('red', **{VNI: '1001'})
        self.cloud.add_router('one', ('192.168.50.1/24',))
        eyes = self.eyes(drivers=['evpn'])
        found = self.become(eyes, {'red': 1001})['red']
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


class RoutersTest(TwoRouters, base.OvsdbTestCase):

    def eyes(self):
        return super().eyes(drivers=['evpn', 'fip_route', 'tenant_network'])

    @staticmethod
    def ports(eyes):
        """(VNI, whether it is wrong) of the gateway ports, by router."""
        return {router.called: port.vni and (port.vni.number,
                                             bool(port.vni.problem))
                for router in eyes.look().routers for port in router.ports}

    def become(self, eyes, **wanted):
        self.synchronise(eyes)
        self.eventually(lambda: self.ports(eyes) == wanted,
                        lambda: f'{self.ports(eyes)} is {wanted}')
        self.assertEqual(*map(test_view_tenants.unclaimed,
                              (views.fresh(eyes), eyes.look())))

    @staticmethod
    def subjects(eyes):
        view = eyes.look()
        return sorted(
            [each.subject for known in view.addresses.values()
             for each in known.values()] +
            [each.subject for known in view.tenants.values()
             for each in known.values()])

    @staticmethod
    def claims(eyes):
        return {each.called.partition(' ')[0]: each.claim
                for known in eyes.look().tenants.values()
                for each in known.values()}

    def test_equal_addresses(self):
        """Routers are rivals within one VNI alone."""
        eyes = self.eyes()
        Claim = model.Claim
        self.become(eyes, red=None, blue=None)
        self.assertEqual({'red': Claim.UNKNOWN, 'blue': Claim.UNKNOWN},
                         self.claims(eyes))
        self.say('red', **{VNI: '1001'})
        self.become(eyes, red=(1001, False), blue=None)
        self.assertEqual({'red': Claim.SOLE, 'blue': Claim.SOLE},
                         self.claims(eyes))
        self.assertEqual(sorted(
            prefix + each for prefix in ('', 'VNI 1001 ')
            for each in ('192.168.50.1/32', f'{FIP}/32', TENANT)),
            self.subjects(eyes))
        # The one that comes later was not the first in this VNI.
        self.say('blue', **{VNI: '1001'})
        self.become(eyes, red=(1001, False), blue=(1001, False))
        self.assertEqual({'red': Claim.FIRST, 'blue': Claim.REFUSED},
                         self.claims(eyes))
        self.say('blue', **{VNI: '1002'})
        self.become(eyes, red=(1001, False), blue=(1002, False))
        self.assertEqual({'red': Claim.SOLE, 'blue': Claim.SOLE},
                         self.claims(eyes))

    def test_the_network_is_there_before_the_port(self):
        self.say('red', **{VNI: '1001'})
        self.sb.transact(ovsdb.delete('Port_Binding',
                                      {'logical_port': 'vm-red'}))
        self.cloud.move('lrp-red', AWAY)
        eyes = self.eyes()
        self.synchronise(eyes)

        def groups():
            return sorted(port.vni.number if port.vni else 0 for group
                          in eyes.look().groups for port in group.ports)
        self.eventually(lambda: [0, 1001] == groups(), groups)
        network, = eyes.look().networks.values()
        self.assertEqual(('red', 1001), (network.called, network.domain))
        before = eyes.look().networks
        self.cloud.move('lrp-blue', AWAY)
        self.eventually(lambda: not any(
            router.local_ports for router in eyes.look().routers),
            'no port is here')
        self.assertIs(before, eyes.look().networks)

    def test_a_port_that_leaves(self):
        """The withdrawal guard does not hold what another node has."""
        for name, number in (('red', '1001'), ('blue', '1002')):
            self.say(name, **{VNI: number})
        eyes = self.eyes()
        self.become(eyes, red=(1001, False), blue=(1002, False))
        self.cloud.move('lrp-red', AWAY)
        self.eventually(lambda: not any(
            port.local for router in eyes.look().routers
            for port in router.ports if port.domain == 1001),
            'the port has left')
        for subject, away in ((f'VNI 1001 {FIP}/32', True),
                              (f'VNI 1001 {TENANT}', True),
                              (f'VNI 1002 {FIP}/32', False),
                              (f'VNI 1002 {TENANT}', False),
                              (f'{FIP}/32', False)):
            self.assertEqual(
                away, eyes.view.cross_check.elsewhere(subject), subject)

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
                (None, None, None, None)):
            self.say('red', **{VNI: network})
            self.cloud.say('Logical_Router', {'name': 'neutron-red'},
                           external_ids={VNI: router, TARGETS: rows})
            self.become(eyes, red=seen, blue=None)
        self.say('red', **{VNI: '1001'})
        self.cloud.say('Logical_Router', {'name': 'neutron-red'},
                       external_ids={VNI: '1002'})
        self.become(eyes, red=(0, True), blue=None)
        # Nobody announces it, so it is nobody's rival.
        self.assertEqual(model.Claim.SOLE, self.claims(eyes)['blue'])

    def test_without_the_driver(self):
        self.say('red', **{VNI: '1001'})
        self.cloud.say('Logical_Router', {'name': 'neutron-blue'},
                       external_ids={VNI: '1001'})
        eyes = super().eyes(drivers=['provider_port', 'fip_route'])
        self.become(eyes, red=None, blue=None)
