# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Which addresses of machines are withheld or claimed."""

from ovn_network_agent.tests.functional.ovn import base
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovn import test_view_ports
from ovn_network_agent.tests.functional.ovn import views
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

HERE, AWAY = views.HERE, cloud.OTHER
MAC = 'fa:16:3e:00:00:aa'
ONE, TWO, SIX = '198.51.100.10', '198.51.100.11', '2001:db8::10'
ANNOUNCE = 'ovn-network-agent:announce'


class AddressesTest(test_view_ports.PortsTestCase):

    def test_addresses_that_are_none(self):
        self.add(mac=['unknown'])
        self.add('vm-2', mac=[f'{MAC} 198.51.100.999 {TWO} 224.0.0.5',
                              'unknown'],
                 external_ids=test_view_ports.cidrs(
                     '0.0.0.0/0', f'{TWO}/24', 'x/24', '224.0.0.0/8',
                     '128.0.0.0/1'))
        eyes = self.eyes()
        network = self.become(eyes, TWO)[TWO].network
        self.assertEqual(('198.51.100.0/24',), network.networks)
        self.assertEqual([
            "port vm-2: address '198.51.100.999' is malformed",
            'port vm-2: address 224.0.0.5 is of no machine',
            "port vm-2: network '0.0.0.0/0' is everything and left out; give "
            'it the prefix of its subnet',
            "port vm-2: network '128.0.0.0/1' is too wide and left out; give "
            'it the prefix of its subnet',
            "port vm-2: network '224.0.0.0/8' is of no hosts and left out; "
            'give it the prefix of its subnet',
            "port vm-2: network 'x/24' is malformed"],
            sorted(eyes.look().problems))

    def test_allowed_address_pairs(self):
        self.add(port_security=ovsdb.ovsdb_set([
            f'{MAC} {ONE} {TWO} 198.51.100.0/25']))
        self.become(self.eyes(), ONE)
        self.become(self.eyes(provider_port__allowed_address_pairs=True),
                    ONE, TWO)

    def test_the_address_of_a_tunnel(self):
        """A tenant with a VLAN may choose any subnet."""
        self.add(addresses=('192.0.2.2', '192.0.2.3'))
        found = self.become(self.eyes(), '192.0.2.2', '192.0.2.3')
        self.assertEqual(
            ['192.0.2.2 is of a tunnel or server of OVN, which this node '
             'could not reach any more', ''],
            [found[name].withheld for name in sorted(found)])

    def test_two_machines_with_one_pair(self):
        """One of them has it, and nothing is wrong."""
        for port, own in ('vm-1', ONE), ('vm-2', SIX):
            self.add(port, addresses=(own,), port_security=ovsdb.ovsdb_set([
                f'{MAC} {own} {TWO}']))
        eyes = self.eyes(provider_port__allowed_address_pairs=True)
        first = self.become(eyes, ONE, TWO, SIX)[TWO]
        other, = {'vm-1', 'vm-2'} - {first.port}
        self.cloud.move_machine(first.port, AWAY)
        self.eventually(lambda: self.found(eyes).get(TWO, first).port == other,
                        'the other one is announced')

    def test_a_pair_with_the_address_of_a_machine(self):
        """It takes nothing away, whichever row comes first."""
        for number in range(8):
            self.add(f'vm-{number:d}',
                     addresses=(f'198.51.100.{number + 99:d}',),
                     port_security=ovsdb.ovsdb_set([f'{MAC} {ONE}']))
        self.add('victim')
        eyes = self.eyes(provider_port__allowed_address_pairs=True)
        self.eventually(lambda: len(self.found(eyes)) == 17, 'all are there')
        found = self.found(eyes)
        self.assertEqual(('victim', ''), (found[ONE].port, found[ONE].claimed))
        self.assertEqual({'', 'port victim'}, {
            each.claimed for each in found.values()})

    def test_chosen_networks(self):
        self.add()
        for name in ('public', 'neutron-public', self.switch, 'physnet1'):
            found = self.become(self.eyes(provider_port__networks=[name]),
                                ONE)
            self.assertTrue(found[ONE].network.named)
        self.become(self.eyes(provider_port__networks=['other']))
        self.assertFalse(self.become(self.eyes(), ONE)[ONE].network.named)

    def test_words_of_rows_and_options(self):
        self.add()
        eyes = self.eyes(announce__exclude_networks=['public'])
        found = self.become(eyes, ONE)
        self.assertEqual('[announce] exclude_networks has public',
                         found[ONE].withheld)
        self.sb.transact(ovsdb.update(
            'Port_Binding', {'logical_port': 'vm-1'},
            external_ids=test_view_ports.cidrs(f'{ONE}/24', **{
                ANNOUNCE: 'true', 'ovn-network-agent:tag': '4400001'})))
        self.eventually(lambda: not self.found(eyes)[ONE].withheld,
                        'the port wins over the option')
        self.assertEqual(4400001, self.found(eyes)[ONE].tag)
        self.nb.transact(ovsdb.update(
            'Logical_Switch', {'name': 'neutron-public'},
            external_ids=ovsdb.ovsdb_dict({ANNOUNCE: 'false'})))
        self.sb.transact(ovsdb.update(
            'Port_Binding', {'logical_port': 'vm-1'},
            external_ids=test_view_ports.cidrs(f'{ONE}/24')))
        self.eventually(
            lambda: ANNOUNCE in self.found(eyes)[ONE].withheld,
            'the network says no')
        self.become(eyes, ONE)

    def test_an_address_of_a_nat_row(self):
        self.add()
        self.cloud.add_router('r1')
        eyes = self.eyes()
        self.become(eyes, ONE)
        self.cloud.add_nat('r1', ONE)
        self.become(eyes, f'{ONE} (vm-1)')
        self.assertEqual('a NAT row of a router',
                         self.claim(eyes, f'{ONE} (vm-1)'))
        self.cloud.remove_nat('r1', ONE)
        self.become(eyes, ONE)

    def test_a_tenant_takes_nothing_away(self):
        """A NAT row of a router that is not on the network says nothing."""
        self.add()
        self.cloud.add_router('r1', network=self.cloud.add_network())
        self.cloud.add_nat('r1', ONE)
        self.become(self.eyes(), ONE)

    def test_two_machines_with_one_address(self):
        self.add()
        self.add('vm-2')
        eyes = self.eyes()
        self.eventually(lambda: len(self.found(eyes)) == 2, 'both are there')
        loser, = (each for each in self.found(eyes).values() if each.claimed)
        winner, = {'vm-1', 'vm-2'} - {loser.port}
        self.assertEqual(f'port {winner}', loser.claimed)
        self.cloud.move_machine(winner, AWAY)
        self.become(eyes, ONE)

    def test_the_subnets_of_routers(self):
        """Without Neutron, router ports alone say which subnet this is."""
        self.add(external_ids=test_view_ports.cidrs())
        self.cloud.add_router('r1')
        eyes = self.eyes()
        network = self.become(eyes, ONE)[ONE].network
        self.assertEqual(
            (('198.51.100.0/24',), ('198.51.100.1',), False),
            (network.networks, network.routers, network.advertised))
        self.nb.transact(ovsdb.update(
            'Logical_Router_Port', {'name': 'lrp-r1'},
            ipv6_ra_configs=ovsdb.ovsdb_map(address_mode='slaac')))
        self.eventually(lambda: self.found(eyes)[ONE].network.advertised,
                        'the router advertises')

    def test_routers_of_ipv6_elsewhere(self):
        """Nobody in OVN here answers machines that ask for them."""
        self.add(addresses=(SIX,))
        self.cloud.add_router('r1', ['198.51.100.1/24', '2001:db8::a/64'],
                              AWAY)
        self.cloud.add_nat('r1', '2001:db8::b')
        self.cloud.add_nat('r1', '198.51.100.30')
        eyes = self.eyes()

        def elsewhere():
            return self.found(eyes)[SIX].network.elsewhere
        self.assertEqual(('2001:db8::a', '2001:db8::b'), elsewhere())
        self.cloud.move('lrp-r1', HERE)
        self.eventually(lambda: elsewhere() == (), elsewhere)
        self.cloud.move('lrp-r1', AWAY)
        self.cloud.remove_nat('r1', '2001:db8::b')
        self.eventually(lambda: elsewhere() == ('2001:db8::a',), elsewhere)

    def test_off_costs_no_row(self):
        self.add()
        eyes = base.OvsdbTestCase.eyes(self)
        eyes.look()
        with eyes.databases['sb'].rows() as sb:
            self.assertNotIn('', {row.type
                                  for row in sb['Port_Binding'].values()})
            self.assertNotIn('mac', next(iter(
                sb['Port_Binding'].values()))._data)

    def test_this_chassis_has_no_row_for_a_moment(self):
        self.add()
        eyes = self.eyes()
        self.become(eyes, ONE)
        self.sb.transact(ovsdb.delete('Chassis', {'name': HERE}))
        self.eventually(lambda: eyes.look().problems, 'the row is gone')
        self.assertEqual({ONE}, self.found(eyes).keys())

    def test_this_chassis_gets_another_name(self):
        """The rows of its ports stay the same."""
        self.add()
        eyes = self.eyes()
        self.become(eyes, ONE)
        self.sb.transact(ovsdb.update('Chassis', {'name': HERE}, name='new'))
        self.ovs.transact(ovsdb.update('Open_vSwitch', {}, external_ids=(
            ovsdb.ovsdb_dict({'system-id': 'new',
                              'ovn-bridge-mappings': 'physnet1:lo'}))))
        self.synchronise(eyes)
        self.become(eyes, ONE)
        self.assertEqual('new', eyes.view.chassis)
