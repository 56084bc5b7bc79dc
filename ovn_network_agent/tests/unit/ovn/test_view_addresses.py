# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Which addresses of machines are withheld or claimed."""

from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.unit.ovn import clouds
from ovn_network_agent.tests.unit.ovn import test_view_ports as ports

HERE, AWAY, MAC = clouds.HERE, clouds.AWAY, ports.MAC
ONE, TWO, SIX = ports.ONE, ports.TWO, ports.SIX
ANNOUNCE = 'ovn-network-agent:announce'
PAIRS = {'provider_port__allowed_address_pairs': True}


class AddressesTest(ports.PortsTestCase):

    def test_addresses_that_are_none(self):
        self.add(mac=['unknown'])
        self.add('vm-2', mac=[f'{MAC} 198.51.100.999 {TWO} 224.0.0.5',
                              'unknown'],
                 external_ids=ovsdb.ovsdb_dict(ports.cidrs(
                     '0.0.0.0/0', f'{TWO}/24', 'x/24', '224.0.0.0/8',
                     '128.0.0.0/1')))
        eyes = self.eyes()
        network = self.become(eyes, TWO)[TWO].network
        self.assertEqual(('198.51.100.0/24',), network.networks)
        remedy = 'and left out; give it the prefix of its subnet'
        self.assertEqual([f'port vm-2: {text}' for text in (
            "address '198.51.100.999' is malformed",
            'address 224.0.0.5 is of no machine',
            f"network '0.0.0.0/0' is everything {remedy}",
            f"network '128.0.0.0/1' is too wide {remedy}",
            f"network '224.0.0.0/8' is of no hosts {remedy}",
            "network 'x/24' is malformed")], sorted(eyes.look().problems))

    def test_allowed_address_pairs(self):
        self.add(port_security=ovsdb.ovsdb_set([
            f'{MAC} {ONE} {TWO} 198.51.100.0/25']))
        self.become(self.eyes(), ONE)
        self.become(self.eyes(**PAIRS), ONE, TWO)

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
        eyes = self.eyes(**PAIRS)
        first = self.become(eyes, ONE, TWO, SIX)[TWO]
        other, = {'vm-1', 'vm-2'} - {first.port}
        self.cloud.move_machine(first.port, AWAY)
        self.assertEqual(other, self.found(eyes)[TWO].port)

    def test_a_pair_with_the_address_of_a_machine(self):
        """It takes nothing away, whichever row comes first."""
        for number in range(8):
            self.add(f'vm-{number:d}',
                     addresses=(f'198.51.100.{number + 99:d}',),
                     port_security=ovsdb.ovsdb_set([f'{MAC} {ONE}']))
        self.add('victim')
        found = self.found(self.eyes(**PAIRS))
        self.assertEqual((17, 'victim', '', {'', 'port victim'}), (
            len(found), found[ONE].port, found[ONE].claimed,
            {each.claimed for each in found.values()}))

    def test_chosen_networks(self):
        self.add()
        for names, named in ((['public'], True), (['neutron-public'], True),
                             ([self.switch], True), (['physnet1'], True),
                             ([], False)):
            found = self.become(self.eyes(provider_port__networks=names), ONE)
            self.assertIs(named, found[ONE].network.named)
        self.become(self.eyes(provider_port__networks=['other']))

    def test_words_of_rows_and_options(self):
        self.add()
        eyes = self.eyes(announce__exclude_networks=['public'])
        self.assertEqual('[announce] exclude_networks has public',
                         self.become(eyes, ONE)[ONE].withheld)
        # The port wins over the option.
        self.change('vm-1', external_ids=ports.cidrs(f'{ONE}/24', **{
            ANNOUNCE: 'true', 'ovn-network-agent:tag': '4400001'}))
        found = self.found(eyes)[ONE]
        self.assertEqual(('', 4400001), (found.withheld, found.tag))
        self.nb.update('Logical_Switch', {}, external_ids={ANNOUNCE: 'false'})
        self.change('vm-1', external_ids=ports.cidrs(f'{ONE}/24'))
        self.assertIn(ANNOUNCE, self.become(eyes, ONE)[ONE].withheld)

    def test_an_address_of_a_nat_row(self):
        self.add()
        self.cloud.add_router('r1')
        eyes = self.eyes()
        self.become(eyes, ONE)
        self.cloud.add_nat('r1', ONE)
        found, = self.become(eyes, f'{ONE} (vm-1)').values()
        self.assertEqual('a NAT row of a router', found.claimed)
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
        self.assertEqual(2, len(self.found(eyes)))
        loser, = (each for each in self.found(eyes).values() if each.claimed)
        winner, = {'vm-1', 'vm-2'} - {loser.port}
        self.assertEqual(f'port {winner}', loser.claimed)
        self.cloud.move_machine(winner, AWAY)
        self.become(eyes, ONE)

    def test_the_subnets_of_routers(self):
        """Without Neutron, router ports alone say which subnet this is."""
        self.add(external_ids=ovsdb.ovsdb_dict(ports.cidrs()))
        self.cloud.add_router('r1')
        eyes = self.eyes()
        for configs, advertised in (({}, False),
                                    ({'address_mode': 'slaac'}, True)):
            self.nb.update('Logical_Router_Port', {}, ipv6_ra_configs=configs)
            network = self.become(eyes, ONE)[ONE].network
            self.assertEqual(
                (('198.51.100.0/24',), ('198.51.100.1',), advertised),
                (network.networks, network.routers, network.advertised))

    def test_routers_of_ipv6_elsewhere(self):
        """Nobody in OVN here answers machines that ask for them."""
        self.add(addresses=(SIX,))
        self.cloud.add_router('r1', ['198.51.100.1/24', '2001:db8::a/64'],
                              AWAY)
        self.cloud.add_nat('r1', '2001:db8::b')
        self.cloud.add_nat('r1', '198.51.100.30')
        eyes = self.eyes()
        for chassis, wanted in ((AWAY, ('2001:db8::a', '2001:db8::b')),
                                (HERE, ()), (AWAY, ('2001:db8::a',))):
            self.cloud.move('lrp-r1', chassis)
            self.assertEqual(wanted, self.found(eyes)[SIX].network.elsewhere)
            if chassis == HERE:
                self.cloud.remove_nat('r1', '2001:db8::b')

    def test_off_costs_no_row(self):
        self.add()
        eyes = clouds.CloudTestCase.eyes(self)
        eyes.look()
        rows = eyes.rows('sb', 'Port_Binding')
        self.assertNotIn('', {row.type for row in rows})
        self.assertNotIn('mac', rows[0]._data)

    def test_this_chassis_has_no_row_for_a_moment(self):
        self.add()
        eyes = self.eyes()
        self.become(eyes, ONE)
        self.sb.delete('Chassis', name=HERE)
        self.assertTrue(eyes.look().problems)
        self.assertEqual({ONE}, self.found(eyes).keys())

    def test_this_chassis_gets_another_name(self):
        """The rows of its ports stay the same."""
        self.add()
        eyes = self.eyes()
        self.become(eyes, ONE)
        self.sb.update('Chassis', {'name': HERE}, name='new')
        self.tell(system_id='new', ovn_bridge_mappings='physnet1:lo')
        self.become(eyes, ONE)
        self.assertEqual('new', eyes.view.chassis)
