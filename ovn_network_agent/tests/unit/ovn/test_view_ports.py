# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Machines on provider networks in the view, and their addresses."""

import random
import time
import types

import fixtures

from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.unit.ovn import clouds

HERE, AWAY = clouds.HERE, clouds.AWAY
MAC = 'fa:16:3e:00:00:aa'
ONE, TWO, SIX = '198.51.100.10', '198.51.100.11', '2001:db8::10'
ANNOUNCE = 'ovn-network-agent:announce'
PAIRS = {'provider_port__allowed_address_pairs': True}


def cidrs(*texts, **more):
    return {'neutron:cidrs': ' '.join(texts), **more}


class PortsTestCase(clouds.CloudTestCase):
    """A flat provider network with its row in NB."""

    def setUp(self):
        super().setUp()
        self.switch = self.cloud.add_switch()

    def eyes(self, **options):
        return super().eyes(drivers=['provider_port'], **options)

    def add(self, port='vm-1', chassis=HERE, addresses=(ONE,), kind='',
            **row):
        row.setdefault('external_ids', ovsdb.ovsdb_dict(cidrs(*(
            f'{each}/{64 if ":" in each else 24}' for each in addresses))))
        row.setdefault('mac', [' '.join((MAC.upper(), *addresses))])
        row.setdefault('network', self.cloud.network)
        self.cloud.add_machine(port, chassis, kind, **row)

    def change(self, port, **row):
        self.sb.update('Port_Binding', {'logical_port': port}, **row)

    @staticmethod
    def found(eyes):
        return clouds.flat(eyes.look().machines)

    def become(self, eyes, *wanted):
        """Compare the addresses, and the view with a new one."""
        found = self.found(eyes)
        self.assertEqual(set(wanted), found.keys())
        self.as_new(eyes)
        return found

    def stands(self, eyes, name=ONE):
        found = self.found(eyes)[name]
        return found.bound, found.announced


class PortsTest(PortsTestCase):

    def test_a_machine_comes_moves_and_goes(self):
        eyes = self.eyes()
        self.become(eyes)
        self.add(addresses=(ONE, SIX))
        found = self.become(eyes, ONE, SIX)[ONE]
        self.assertEqual(
            ('vm-1', MAC, 'public', ('198.51.100.0/24', '2001:db8::/64'),
             3, '', ''),
            (found.port, found.mac, found.network.called,
             found.network.networks, found.network.segment.patch_port,
             found.withheld, found.claimed))
        self.assertEqual({self.switch}, set(eyes.look().networks))
        self.cloud.move_machine('vm-1', AWAY)
        self.become(eyes)
        self.assertEqual({}, eyes.look().networks)
        self.cloud.move_machine('vm-1', HERE)
        self.become(eyes, ONE, SIX)
        # What it sends is forwarded.
        self.cloud.move_machine('vm-1', HERE, up=False)
        self.assertEqual((True, False), self.stands(eyes))

    def add_target(self):
        """A machine that is on its way to this chassis."""
        self.add(chassis=AWAY, additional_chassis=self.cloud._chassis(HERE))

    def test_a_migration_under_way(self):
        """The target announces the machine from the moment it runs there."""
        self.add_target()
        self.add('vm-2', additional_chassis=self.cloud._chassis(AWAY),
                 addresses=(TWO,))
        eyes = self.eyes()
        self.become(eyes, ONE, TWO)
        self.assertEqual((True, True), self.stands(eyes, TWO))
        activated = 'additional-chassis-activated'
        for values, announced in (
                ({}, False), ({'options': {activated: HERE}}, True),
                ({'options': {activated: AWAY}}, False),
                # The source has given the port back.
                ({'chassis': []}, True)):
            self.change('vm-1', **values)
            self.assertEqual((False, announced), self.stands(eyes))
        self.cloud.move_machine('vm-1', HERE)
        self.assertTrue(self.stands(eyes)[0])

    def test_a_migration_without_a_word_of_the_machine(self):
        """The target announces with the port, although it is not yet up."""
        self.add_target()
        eyes = self.eyes()
        self.assertEqual((False, False), self.stands(eyes))
        self.cloud.move_machine('vm-1', HERE, up=False)
        self.assertEqual((True, True), self.stands(eyes))

    def test_a_virtual_ip_is_no_address_pair(self):
        """Its own port says where it is, also on another chassis."""
        self.add(port_security=ovsdb.ovsdb_set([f'{MAC} {ONE} {TWO}']))
        self.add('vip', chassis=AWAY, kind='virtual', addresses=(TWO,),
                 virtual_parent='vm-9')
        eyes = self.eyes(**PAIRS)
        self.become(eyes, ONE)
        self.cloud.move_machine('vip', HERE)
        found = self.become(eyes, ONE, TWO)[TWO]
        self.assertEqual(('vip', ''), (found.port, found.claimed))
        self.cloud.move_machine('vip', None)
        self.become(eyes, ONE)

    def test_addresses_of_dhcp(self):
        """Neutron has a row for each subnet with DHCP."""
        self.add(addresses=(SIX,))
        eyes = self.eyes()
        for row, wanted in (
                ({}, (False, False)),
                ({'cidr': '198.51.100.0/24'}, (False, False)),
                ({'cidr': '2001:db8::/64',
                  'options': {'dhcpv6_stateless': 'true'}}, (False, True)),
                ({'cidr': '2001:db8::/64', 'options': {'server_id': MAC}},
                 (True, True))):
            if row:
                self.nb.insert('DHCP_Options', **row)
            network = self.become(eyes, SIX)[SIX].network
            self.assertEqual(wanted, (network.managed, network.other))

    def test_the_end_of_a_migration(self):
        """For a moment, no chassis has the port."""
        self.add()
        self.add('vm-2', addresses=(TWO,))
        eyes = self.eyes()
        self.become(eyes, ONE, TWO)
        for port, chassis in (('vm-1', HERE), ('vm-2', None)):
            self.cloud.move_machine(
                port, None, up=False,
                requested_chassis=self.cloud._chassis(chassis))
        self.assertEqual({ONE}, self.found(eyes).keys())
        self.assertEqual((True, True), self.stands(eyes))
        self.cloud.move_machine('vm-1', HERE, up=True)
        self.become(eyes, ONE)
        self.assertIsNone(eyes.view.due_in())
        # A machine that is off has such a row, too.
        self.cloud.move_machine('vm-1', None)
        self.assertEqual({ONE}, self.found(eyes).keys())
        later = time.monotonic() + eyes.view.due_in() + 1
        self.useFixture(fixtures.MonkeyPatch(
            'ovn_network_agent.ovn.view.time',
            types.SimpleNamespace(monotonic=lambda: later)))
        self.become(eyes)

    def test_kinds_of_ports(self):
        for number, kind in enumerate(('virtual', 'external', 'localport',
                                       'vtep', 'l2gateway'), 20):
            self.add(f'vm-{kind}', kind=kind, virtual_parent='vm-1',
                     addresses=(f'198.51.100.{number}',))
        self.add('orphan', kind='virtual', addresses=(TWO,))
        self.add('subport', parent_port='vm-1', tag=5)
        found = self.become(self.eyes(), '198.51.100.20', ONE)
        self.assertEqual('vm-virtual', found['198.51.100.20'].port)

    def test_a_network_without_a_localnet_port(self):
        self.add(network=self.cloud.add_network())
        self.become(self.eyes())

    def test_a_random_history(self):
        """The view is always the one that somebody new would have."""
        chance = random.Random(7)
        eyes = self.eyes()
        for number in range(8):
            self.add(f'vm-{number}', chance.choice((HERE, AWAY)),
                     (f'198.51.100.{10 + number // 2}',))
        self.cloud.add_router('r1')
        for _step in range(30):
            port = f'vm-{chance.randrange(8)}'
            address = f'198.51.100.{chance.randrange(10, 14)}'
            chance.choice((
                lambda: self.cloud.move_machine(port, chance.choice(
                    (HERE, AWAY, None)), up=chance.random() < .8),
                lambda: self.change(port, mac=f'{MAC} {address}'),
                lambda: self.cloud.add_nat('r1', address)))()
            self.as_new(eyes)


class AddressesTest(PortsTestCase):

    def test_addresses_that_are_none(self):
        self.add(mac=['unknown'])
        self.add('vm-2', mac=[f'{MAC} 198.51.100.999 {TWO} 224.0.0.5',
                              'unknown'],
                 external_ids=ovsdb.ovsdb_dict(cidrs(
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
        tunnel, free = addresses = '192.0.2.2', '192.0.2.3'
        self.add(addresses=addresses)
        found = self.become(self.eyes(), *addresses)
        self.assertEqual(
            (f'{tunnel} is of a tunnel or server of OVN, which this node '
             'could not reach any more', ''),
            (found[tunnel].withheld, found[free].withheld))

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
        self.change('vm-1', external_ids=cidrs(f'{ONE}/24', **{
            ANNOUNCE: 'true', 'ovn-network-agent:tag': '4400001'}))
        found = self.found(eyes)[ONE]
        self.assertEqual(('', 4400001), (found.withheld, found.tag))
        self.nb.update('Logical_Switch', {}, external_ids={ANNOUNCE: 'false'})
        self.change('vm-1', external_ids=cidrs(f'{ONE}/24'))
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
        self.add(external_ids=ovsdb.ovsdb_dict(cidrs()))
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
        self.cloud.add_nats('r1', ['2001:db8::b', '198.51.100.30'])
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
