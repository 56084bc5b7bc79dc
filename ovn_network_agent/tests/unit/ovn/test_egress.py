# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""From the file and rows of OVN to egress addresses, in tables."""

import random
import time
from unittest import mock

from oslotest import base

from ovn_network_agent import model
from ovn_network_agent.ovn import sources
from ovn_network_agent.ovn.egress import egress as source
from ovn_network_agent.tests.unit.ovn import egress

A = {'name': 'a', 'addresses': ['198.51.100.50', '2001:db8::50']}
B = {'name': 'b', 'addresses': ['198.51.100.60']}
SUBNET = '0d1b6a2e-7c44-4c1f-9a52-5f0c9b1f6a11'
GROUP = 'pg_' + SUBNET.replace('-', '_')
HOST = {'mode': 'host', 'addresses': ['203.0.113.50', '203.0.113.51']}


class SelectionTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.cloud = egress.Cloud()
        self.uuid = self.cloud.router(
            'r1', '10.0.1.1/24', 'fd00:1::1/64',
            uplinks=['198.51.100.1/24', '2001:db8::1/64'])
        self.cloud.router('r2', '10.0.1.1/24')
        self.cloud.router('inside', '10.0.9.1/24', uplinks=[])
        self.one = self.cloud.machine('one', 'r1', '10.0.1.5', 'fd00:1::5')
        self.two = self.cloud.machine(
            'two', 'r1', '10.0.1.6', external_ids={'neutron:port_name': 'db'})
        self.three = self.cloud.machine('three', 'r2', '10.0.1.5')
        self.cloud.machine('four', 'inside', '10.0.9.5')

    def choose(self, **select):
        self.cloud.file({**A, 'select': select, 'addresses': [
            '198.51.100.50', '198.51.100.51', '2001:db8::50']})
        return self.cloud.machines()

    def test_selections(self):
        self.cloud.put('Port_Group', 'pg', name='pg', external_ids={},
                       ports=[self.one, self.three])
        self.cloud.put('Port_Group', 'sg', name=GROUP, external_ids={},
                       ports=[self.two])
        self.cloud.put('DHCP_Options', 'dhcp', cidr='10.0.1.0/24',
                       external_ids={'subnet_id': 'subnet-r1'})
        one, v6 = ('one', '10.0.1.5'), ('one', 'fd00:1::5')
        two, three = ('two', '10.0.1.6'), ('three', '10.0.1.5')
        for select, wanted in (
                ({'router': 'r1'}, [one, v6, two]),
                ({'router': self.uuid}, [one, v6, two]),
                ({'network': 'neutron-n-r2'}, [three]),
                # Only the prefix that DHCP has, or all of the router's port.
                ({'subnet': 'subnet-r1'}, [one, two]),
                ({'subnet': 'subnet-r2'}, [three]),
                ({'ports': ['db', 'three']}, [three, two]),
                ({'port_group': 'pg'}, [one, v6, three]),
                ({'security_group': SUBNET}, [two]),
                # Several keys are an intersection.
                ({'port_group': 'pg', 'router': 'r1'}, [one, v6]),
                ({'port_group': 'pg', 'security_group': SUBNET}, []),
                ({'router': 'r1', 'cidrs': ['10.0.1.6', 'fd00::/16']},
                 [v6, two]),
                ({'network': 'n-r1', 'subnet': '10.0.2.0/24'}, []),
                ({'network': 'neutron-n-r1', 'subnet': '10.0.1.0/24'},
                 [one, two])):
            self.assertEqual(sorted(wanted), self.choose(**select), select)

    def test_what_names_nothing(self):
        self.cloud.router('twin', '10.0.8.1/24',
                          external_ids={'neutron:router_name': 'r1'})
        for select, part in (
                ({'router': 'r1'}, "2 rows are called so: router 'r1'; take "
                                   'the UUID'),
                ({'router': 'none'}, "OVN has no router 'none'"),
                ({'network': 'none'}, "OVN has no network 'none'"),
                ({'ports': ['none']}, "OVN has no port 'none'"),
                ({'port_group': 'none'}, "OVN has no port group 'none'"),
                ({'subnet': 'none'}, 'no router has a port in the subnet')):
            self.assertEqual([], self.choose(**select))
            problem, = self.cloud.look()['a'].problems
            self.assertIn(part, problem)
        # A port that is not there costs no other one.
        self.assertEqual([('two', '10.0.1.6')],
                         self.choose(ports=['none', 'db']))

    def test_ports_that_are_no_machines(self):
        """Routers, a router without a way out, and addresses outside."""
        for name, columns in (
                ('local', {'type': 'localport'}),
                ('unknown', {'addresses': ['unknown']}),
                ('elsewhere', {'addresses': ['fa:16:3e:00:00:02 10.9.9.9']}),
                ('bad', {'addresses': ['fa:16:3e:00:00:02 10.0.1.x']}),
                ('link', {'addresses': ['fa:16:3e:00:00:02 fe80::1']})):
            self.cloud.machine(name, 'r1', **columns)
        self.cloud.machine('dynamic', 'r1', addresses=['dynamic'],
                           dynamic_addresses=['fa:16:3e:00:00:03 10.0.1.7'])
        self.assertEqual(
            [('dynamic', '10.0.1.7'), ('one', '10.0.1.5'),
             ('one', 'fd00:1::5'), ('two', '10.0.1.6')],
            self.choose(router='r1'))
        self.assertEqual([], self.choose(router='inside'))

    def test_rows_that_change_are_followed(self):
        self.choose(network='neutron-n-r1')
        before = self.cloud.look()['a']
        self.cloud.machine('one', 'r1', '10.0.1.9')
        self.assertEqual([('one', '10.0.1.9'), ('two', '10.0.1.6')],
                         self.cloud.machines())
        self.cloud.machine('one', 'r1', '10.0.1.5', 'fd00:1::5')
        self.assertEqual(before, self.cloud.look()['a'])
        # A port of another network changes nothing, not even the object.
        before = self.cloud.look()['a']
        self.cloud.machine('other', 'r2', '10.0.1.44')
        self.assertIs(before, self.cloud.look()['a'])
        self.cloud.put('Logical_Switch_Port', 'two')
        self.assertEqual([('one', '10.0.1.5'), ('one', 'fd00:1::5')],
                         self.cloud.machines())
        # A router loses its gateway port.
        self.cloud.put('Logical_Router_Port', 'lrp-r1-up0')
        self.cloud.put('Logical_Router_Port', 'lrp-r1-up1')
        self.assertEqual([], self.cloud.machines())
        self.assertEqual((), self.cloud.look()['a'].machines)

    def test_rows_that_name_an_object(self):
        self.cloud.file({**A, 'addresses': ['198.51.100.50',
                                            '198.51.100.51']})
        self.assertEqual([], self.cloud.machines())
        word = {egress.SELECT: 'a'}
        self.cloud.put('Logical_Router', 'r2', options=word)
        self.assertEqual([('three', '10.0.1.5')], self.cloud.machines())
        self.cloud.put('Logical_Router', 'r2', options={}, external_ids=word)
        self.assertEqual([('three', '10.0.1.5')], self.cloud.machines())
        self.cloud.put('Port_Group', 'pg', name='pg', ports=[self.two],
                       external_ids=word)
        self.assertEqual([('three', '10.0.1.5'), ('two', '10.0.1.6')],
                         self.cloud.machines())
        self.cloud.put('Logical_Switch', 'n-r1',
                       external_ids={egress.SELECT: 'nobody\n'})
        self.assertIn('the file has no such name',
                      self.cloud.look()['nobody'].why)

    def test_machines_that_do_not_count(self):
        self.cloud.file({**A, 'select': {'router': 'r1'}},
                        {**B, 'select': {'ports': ['one', 'two']}})
        self.cloud.nat('fip', 'r1', type='dnat_and_snat',
                       external_ip='198.51.100.9', logical_ip='10.0.1.6')
        # Of two rows for one machine, OVN would take either.
        self.cloud.nat('own', 'r1', external_ip='198.51.100.7',
                       logical_ip='fd00:1::5')
        # Not these: for a network, what a row without its mark does, and
        # without any address.
        self.cloud.nat('subnet', 'r1', external_ip='198.51.100.1',
                       logical_ip='10.0.1.0/24')
        self.cloud.nat('lost', 'r1', external_ip=A['addresses'][0],
                       logical_ip='10.0.1.5')
        self.cloud.nat('bad', 'r1', external_ip='198.51.100.6',
                       logical_ip='10.0.1.x')
        # The same address behind another router is another machine.
        self.cloud.nat('other', 'r2', type='dnat_and_snat',
                       external_ip='198.51.100.8', logical_ip='10.0.1.5')

        def why(name):
            return {each.address: each.why
                    for each in self.cloud.look()[name].machines}
        self.assertEqual({
            '10.0.1.5': '',
            'fd00:1::5': f'NAT row {egress.uuid_of("own")}, which is no row '
                         'of an egress address, translates it to '
                         '198.51.100.7; remove the row, or take the machine '
                         'out of the selection',
            '10.0.1.6': 'it has the floating IP 198.51.100.9, which comes '
                        'first'}, why('a'))
        self.assertEqual({
            'fd00:1::5': 'no address of IPv6 is in the file',
            **{each: 'egress address a has it, too, and is first by its name'
               for each in ('10.0.1.5', '10.0.1.6')}}, why('b'))
        self.cloud.file({**B, 'select': {'ports': ['one']}})
        self.cloud.put('NAT', 'lost')
        self.assertEqual({
            '10.0.1.5': '', 'fd00:1::5': 'no address of IPv6 is in the file'},
            why('b'))


    def test_an_object_for_each_family(self):
        self.cloud.file({**A, 'addresses': A['addresses'][1:],
                         'select': {'router': 'r1'}},
                        {**B, 'select': {'router': 'r1'}})
        self.assertEqual([('one', 'fd00:1::5')], self.cloud.machines('a'))
        self.assertEqual([('one', '10.0.1.5'), ('two', '10.0.1.6')],
                         self.cloud.machines('b'))


class PlacesTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.cloud = egress.Cloud()

    def routers(self, *names, **columns):
        """Routers with a machine each."""
        for name in names:
            self.cloud.router(name, f'10.0.{name[1:]}.1/24', **columns)
            self.cloud.machine(f'm{name[1:]}', name, f'10.0.{name[1:]}.5')

    def file(self, *addresses, name='a', **keys):
        ports = sorted(row['name'] for (table, _name), row in
                       self.cloud.columns.items()
                       if table == 'Logical_Switch_Port' and not row['type'])
        self.cloud.file({'name': name, 'addresses': list(addresses),
                         'select': {'ports': ports}, **keys})

    def test_an_address_for_each_router(self):
        self.routers('r1', 'r2', 'r3')
        self.file('198.51.100.50', '198.51.100.51')
        # In the order of the UUIDs of the rows.
        order = sorted(['r1', 'r2', 'r3'], key=egress.uuid_of)
        self.assertEqual(dict(zip(order, (
            '198.51.100.50', '198.51.100.51', 'all others are in use at other '
            'places; add an address to the file'), strict=True)),
            dict(self.cloud.places()))
        without, = (each for each in self.cloud.look()['a'].machines
                    if each.why)
        self.assertIn('add an address to the file', without.why)

    def test_what_is_there_stays(self):
        self.routers('r1', 'r2')
        self.cloud.ours('nat', 'r2', 'a', '198.51.100.50')
        self.file('198.51.100.50', '198.51.100.51')
        self.assertEqual([('r1', '198.51.100.51'), ('r2', '198.51.100.50')],
                         self.cloud.places())
        # A row that has lost its mark withdraws nothing.
        self.cloud.ours('nat2', 'r2', 'a', '198.51.100.50', '10.0.2.6')
        self.cloud.put('NAT', 'nat', external_ids={})
        self.assertEqual([('r1', '198.51.100.51'), ('r2', '198.51.100.50')],
                         self.cloud.places())
        # Not what is a row of somebody else.
        self.cloud.put('NAT', 'nat2', external_ids={},
                       logical_ip='10.0.2.0/24')
        places = dict(self.cloud.places())
        self.assertEqual({'198.51.100.51'}, {
            each for each in places.values() if each[0] == '1' and
            ':' not in each})
        self.assertIn('198.51.100.50: it is the address of a NAT row',
                      ' '.join(places.values()))

    def test_addresses_that_no_place_can_have(self):
        self.routers('r1')
        self.routers('r2', uplinks=['198.51.100.2/24'])
        self.cloud.nat('nat', 'r2', external_ip='198.51.100.9')
        self.cloud.put('Load_Balancer', 'lb', name='lb', external_ids={},
                       vips={'198.51.100.8:80': '10.0.1.5:80'})
        self.cloud.put('Logical_Router', 'r1', static_routes=[self.cloud.put(
            'Logical_Router_Static_Route', 'way-out', ip_prefix='0.0.0.0/0',
            nexthop='198.51.100.254', output_port=[], route_table='',
            policy=[])])
        for address, part in (
                ('198.51.100.254', 'it is the next hop of a default route of '
                 'the router'),
                ('198.51.100.1', 'it is the address of port lrp-r1-up0'),
                ('198.51.100.2', 'it is the address of port lrp-r2-up0'),
                ('198.51.100.9', 'it is the address of a NAT row'),
                ('198.51.100.8', 'it is a virtual IP of load balancer lb'),
                ('198.51.100.0', 'no host can have it in 198.51.100.0/24'),
                ('198.51.100.255', 'no host can have it'),
                ('203.0.113.1', 'it is in no network of gateway ports of the '
                 'router (198.51.100.1/24)')):
            self.cloud.file({'name': 'a', 'addresses': [address],
                             'select': {'ports': ['m1']}})
            (_router, why), = self.cloud.places()
            self.assertIn(f'{address}: {part}', why)

    def test_several_gateway_ports(self):
        self.routers('r1', uplinks=['198.51.100.1/24', '203.0.113.1/24'])
        for mode, wanted in (
                ('router', [('lrp-r1-up1', '203.0.113.50')]),
                ('ecmp', [('lrp-r1-up0', '198.51.100.50'),
                          ('lrp-r1-up1', '203.0.113.50')])):
            self.file('203.0.113.50', '198.51.100.50', mode=mode)
            self.assertEqual(wanted, self.cloud.places())
        one, two = self.cloud.look()['a'].places
        self.assertEqual(('198.51.100.254', '203.0.113.254'),
                         (one.nexthop, two.nexthop))
        self.assertEqual(('10.0.1.0/24', '198.51.100.0/24',
                          '203.0.113.0/24'), one.inside)
        for gateways, part in (
                (['lrp-r1-up1'], '1 of those in gateways is there'),
                (['x', 'y'], '0 of those in gateways is there')):
            self.file('203.0.113.50', mode='ecmp', gateways=gateways)
            (_router, why), = self.cloud.places()
            self.assertIn(part, why)

    def test_next_hops_and_prefixes_of_routes(self):
        routes = [self.cloud.put(
            'Logical_Router_Static_Route', f'route{number}',
            ip_prefix=prefix, nexthop=nexthop, output_port=port)
            for number, (prefix, nexthop, port) in enumerate((
                ('0.0.0.0/0', '198.51.100.7', ''),
                ('0.0.0.0/0', '203.0.113.7', 'lrp-r1-up1'),
                ('10.7.0.0/16', '10.0.1.7', ''), ('bad', 'bad', '')))]
        self.routers('r1', uplinks=['198.51.100.1/24', '203.0.113.1/24'],
                     static_routes=routes)
        self.file('203.0.113.50', '198.51.100.50', mode='ecmp')
        one, two = self.cloud.look()['a'].places
        self.assertEqual(('198.51.100.7', '203.0.113.7'),
                         (one.nexthop, two.nexthop))
        self.assertIn('10.7.0.0/16', one.inside)

    def test_ipv6_needs_next_hops_that_differ(self):
        self.cloud.router('r1', 'fd00:1::1/64', uplinks=[
            '2001:db8:1::1/64', '2001:db8:2::1/64'])
        self.cloud.machine('m', 'r1', 'fd00:1::5')
        self.file('2001:db8:1::50', mode='ecmp')
        for _port, why in self.cloud.places():
            self.assertIn('has no next hop of IPv6 that OVN can tell', why)

    def host(self, *names, **keys):
        self.routers(*names)
        self.file(*HOST['addresses'], mode='host', **keys)

    def test_the_node_of_the_gateway(self):
        self.host('r1', 'r2', 'r3')
        self.assertEqual(
            ['no chassis has the gateway port lrp-r1-up0'],
            [why for _port, why in self.cloud.places() if 'r1' in why])
        self.cloud.node('c1', '203.0.113.7/24', gateways=['r1', 'r2'])
        self.cloud.node('c2', gateways=['r3'])
        places = self.cloud.places()
        self.assertEqual([('c1', '203.0.113.50')] * 2, places[:2])
        self.assertIn('c2.host (c2) has the gateway, and offers no networks',
                      places[2][1])
        self.cloud.node('c2', 'bad', '203.0.113.51/24')
        self.assertIn('203.0.113.51: it is an address of links of c2.host '
                      '(c2) itself', self.cloud.places()[2][1])
        # Also one beside another one in that network, with it or without.
        for length in (24, 32):
            self.cloud.node('c2', '203.0.113.2/24', f'203.0.113.51/{length}')
            self.assertIn('203.0.113.51: it is an address of links of c2.host '
                          '(c2) itself', self.cloud.places()[2][1])
        self.cloud.node('c2', '203.0.113.8/24')
        self.assertEqual(('c2', '203.0.113.51'), self.cloud.places()[2])

    def test_a_machine_with_an_address_outside(self):
        """Its node would take what arrives for the address by the link."""
        self.host('r1', 'r2', 'r3')
        self.cloud.node('c1', '203.0.113.7/24', gateways=['r1', 'r2', 'r3'])
        self.cloud.router('r4', '10.0.4.1/24', uplinks=['10.0.2.1/24'])
        # Of a provider network with routes to more addresses; likewise a row
        # for itself, which may have lost its mark.
        self.cloud.nat('fip', 'r4', type='dnat_and_snat',
                       external_ip='10.0.3.5', logical_ip='10.0.4.5')
        self.cloud.nat('lost', 'r1', external_ip='10.0.1.5',
                       logical_ip='10.0.1.5')
        why = {each.address: each.why
               for each in self.cloud.look()['a'].machines}
        self.assertEqual('', why.pop('10.0.1.5'))
        self.assertEqual(
            {address: 'the address is one of a provider network, so its node '
             'would take it away from there; give the machine another one, '
             'or take mode router' for address in ('10.0.2.5', '10.0.3.5')},
            why)
        self.file('198.51.100.50', '198.51.100.51', '198.51.100.52')
        self.assertEqual(3, len(self.cloud.machines()))

    def test_gateways_of_the_file(self):
        self.cloud.node('c1', '203.0.113.7/24', gateways=['r1'])
        for gateways, wanted in (
                (['c1'], '203.0.113.50'), (['c1.host'], '203.0.113.50'),
                (['c2'], 'c1.host (c1) has the gateway, and is not in '
                         'gateways')):
            self.host('r1', gateways=gateways)
            self.assertEqual([('c1', wanted)], self.cloud.places())

    def test_a_router_with_two_gateway_ports(self):
        self.routers('r1', uplinks=['198.51.100.1/24', '203.0.113.1/24'])
        self.file(*HOST['addresses'], mode='host')
        self.assertIn('needs a router with one gateway port, and it has 2',
                      self.cloud.places()[0][1])

    def test_the_address_moves_with_the_gateway(self):
        self.host('r1')
        self.cloud.node('c1', '203.0.113.7/24')
        self.cloud.node('c2', '203.0.113.8/24', gateways=['r1'])
        self.cloud.ours('nat', 'r1', 'a', '203.0.113.51', chassis='c1')
        self.assertEqual([('c2', '203.0.113.51')], self.cloud.places())
        # A gateway without a chassis is one that moves.
        self.cloud.put('Port_Binding', 'cr-r1', chassis=[])
        self.assertEqual([('c1', '203.0.113.51')], self.cloud.places())

    def test_a_node_in_doubt(self):
        self.host('r1', 'r2')
        self.cloud.node('c1', '203.0.113.7/24', failed='no answer\n',
                        gateways=['r1'])
        self.cloud.node('c2', '203.0.113.7/24', gateways=['r2'])
        self.assertEqual([
            ('c1', 'its agent is in doubt: no answer '),
            ('c2', '203.0.113.50')], [
                (where, text.replace('\\n', ' '))
                for where, text in self.cloud.places()])
        self.cloud.ours('nat', 'r1', 'a', '203.0.113.51', chassis='c1')
        self.assertEqual([('c1', '203.0.113.51'), ('c2', '203.0.113.50')],
                         self.cloud.places())

    def test_another_mode(self):
        """The address of the other mode is as good, where it is valid."""
        self.routers('r1')
        self.cloud.ours('nat', 'r1', 'a', '198.51.100.51')
        self.cloud.node('c1', '198.51.100.7/24', gateways=['r1'])
        self.file('198.51.100.50', '198.51.100.51', mode='host')
        self.assertEqual([('c1', '198.51.100.51')], self.cloud.places())


class SameAddressTest(base.BaseTestCase):
    """Machines of several routers with one address on one node."""

    CHASSIS = {'c1': '203.0.113.7/24', 'c2': '203.0.113.8/24'}
    ADDRESSES = {name: f'203.0.113.{number}' for number, name in
                 enumerate('abc', 50)}

    def setUp(self):
        super().setUp()
        self.cloud = egress.Cloud()
        for name in ('r1', 'r2', 'r3'):
            self.cloud.router(name, '10.0.1.1/24')
            self.cloud.machine(f'{name}-same', name, '10.0.1.5')
        for name, link in self.CHASSIS.items():
            self.cloud.node(name, link)
        self.gateway(r1='c1', r2='c1', r3='c2')
        self.objects = {name: {
            'name': name, 'mode': 'host', 'addresses': [address],
            'select': {'router': router}}
            for (name, address), router in zip(
                self.ADDRESSES.items(), ('r1', 'r2', 'r3'), strict=True)}
        self.file()

    def file(self, **changed):
        self.cloud.file(*({**entry, **changed.get(name, {})}
                          for name, entry in self.objects.items()))

    def gateway(self, **chassis):
        for router, name in chassis.items():
            self.cloud.node(name, gateways=[router])

    def row(self, router, name, chassis):
        self.cloud.ours(f'nat-{name}', router, name, self.ADDRESSES[name],
                        '10.0.1.5', chassis)

    def why(self):
        """By object the reasons of its machines with the address."""
        return {name: [each.why for each in found.machines
                       if each.address == '10.0.1.5']
                for name, found in self.cloud.look().items()}

    def left_out(self):
        return {name for name, why in self.why().items() if any(why)}

    def test_the_first_by_name(self):
        called = self.cloud.look()['a'].places[0].called
        self.assertEqual({
            'a': [''], 'c': [''],
            'b': ['egress address a has a machine with the same address '
                  f'behind another router ({called}) on the same node (c1), '
                  'which can translate one of them; give the objects '
                  'different nodes (gateways)']}, self.why())
        # Without a machine that counts, the router needs no address.
        self.assertEqual((), self.cloud.look()['b'].places)
        # Another machine of the same router is in nobody's way.
        self.cloud.machine('other', 'r2', '10.0.1.6')
        self.assertEqual([('other', '10.0.1.6')], self.cloud.machines('b'))
        self.assertEqual([('c1', self.ADDRESSES['b'])],
                         self.cloud.places('b'))

    def test_who_has_none_is_in_nobodys_way(self):
        for change, back in (
                # Gone, moved, translated by OVN, named other nodes.
                (lambda: self.cloud.put('Logical_Switch_Port', 'r1-same'),
                 lambda: self.cloud.machine('r1-same', 'r1', '10.0.1.5')),
                (lambda: self.gateway(r2='c2', r3='c1'),
                 lambda: self.gateway(r2='c1', r3='c2')),
                (lambda: self.file(a={'mode': 'router'}), self.file),
                (lambda: self.file(a={'gateways': ['c2']}), self.file)):
            self.assertEqual({'b'}, self.left_out())
            change()
            self.assertNotIn('b', self.left_out())
            back()
        self.cloud.nat('fip', 'r1', type='dnat_and_snat',
                       external_ip='198.51.100.9', logical_ip='10.0.1.5')
        self.assertEqual({'a': True, 'b': False, 'c': False}, {
            name: any(why) for name, why in self.why().items()})

    def test_what_has_a_row_stays(self):
        self.row('r2', 'b', 'c1')
        self.assertEqual({'a'}, self.left_out())
        # The row of another node counts less, but more than none.
        self.row('r1', 'a', 'c2')
        self.assertEqual({'a'}, self.left_out())
        self.cloud.put('NAT', 'nat-b')
        self.assertEqual({'b'}, self.left_out())
        self.cloud.put('NAT', 'nat-a')
        self.assertEqual({'b'}, self.left_out())

    def test_a_gateway_that_moves_gives_way(self):
        self.row('r1', 'a', 'c1')
        self.row('r3', 'c', 'c2')
        self.gateway(r1='c2')
        self.assertEqual({'a'}, self.left_out())
        # Without a row of this node, any row counts.
        self.cloud.put('NAT', 'nat-a')
        self.row('r2', 'b', 'c1')
        self.gateway(r2='c2', r3='c1')
        self.assertEqual({'a'}, self.left_out())

    def test_two_routers_of_one_object(self):
        self.cloud.file({'name': 'a', 'mode': 'host', 'addresses': [
            *self.ADDRESSES.values()], 'select': {
                'ports': ['r1-same', 'r2-same', 'r3-same']}})
        (one, two) = sorted(['r1', 'r2'], key=egress.uuid_of)
        self.assertEqual(sorted([f'{one}-same', 'r3-same']),
                         [port for port, _address in self.cloud.machines()])
        self.row(two, 'a', 'c1')
        self.assertEqual(sorted([f'{two}-same', 'r3-same']),
                         [port for port, _address in self.cloud.machines()])

    def test_in_any_order(self):
        """One machine of an address and node, and the one that had a row."""
        for seed in range(40):
            chance = random.Random(seed)
            wins = {}
            for _step in range(12):
                self._change(chance)
                found = self.cloud.look()
                self.assertEqual(found, self.cloud.look(whole=True), seed)
                places = [(each.chassis, machine.address)
                          for subject in found.values()
                          for each in subject.places if each.address
                          for machine in subject.machines
                          if machine.router == each.router and
                          not machine.why]
                self.assertEqual(sorted(set(places)), sorted(places), seed)
                # Who is on the node still, and had its row, has won again.
                now = {each.chassis: name for name, subject in found.items()
                       for each in subject.places if each.address}
                for chassis, name in now.items():
                    former = wins.get(chassis, name)
                    self.assertTrue(
                        former == name or self.gateways[former] != chassis or
                        former not in self.there, (seed, former, name))
                wins = now
                self._write(now)

    gateways = there = None

    def _change(self, chance):
        self.gateways = self.gateways or {'a': 'c1', 'b': 'c1', 'c': 'c2'}
        self.there = self.there or {*'abc'}
        name = chance.choice('abc')
        router = self.objects[name]['select']['router']
        if chance.random() < .5:
            self.gateways[name] = chance.choice(['c1', 'c2'])
            self.gateway(**{router: self.gateways[name]})
        elif name in self.there and len(self.there) > 1:
            self.there.remove(name)
            self.cloud.put('Logical_Switch_Port', f'{router}-same')
        else:
            self.there.add(name)
            self.cloud.machine(f'{router}-same', router, '10.0.1.5')

    def _write(self, now):
        for name in 'abc':
            chassis = next((at for at, who in now.items() if who == name), '')
            if chassis:
                self.row(self.objects[name]['select']['router'], name,
                         chassis)
            else:
                self.cloud.put('NAT', f'nat-{name}')


class ManyTest(base.BaseTestCase):
    """The cost follows the change."""

    def test_one_port_more(self):
        cloud, objects = egress.Cloud(), 20
        for number in range(objects):
            cloud.router(f'r{number}', f'10.0.{number}.1/24')
            for machine in range(10):
                cloud.machine(f'm{number}-{machine}', f'r{number}',
                              f'10.0.{number}.{machine + 5}')
        cloud.file(*({'name': f'a{number}',
                      'addresses': [f'198.51.100.{number + 50}'],
                      'select': {'router': f'r{number}'}}
                     for number in range(objects)))
        before = cloud.look()
        self.assertEqual(objects * 10, sum(
            len(each.machines) for each in before.values()))
        cloud.machine('new', 'r1', '10.0.1.99')
        began = time.process_time()
        with mock.patch.object(
                source, '_made', side_effect=source._made) as made:
            after = cloud.look()
        print(f'{self.id()}: {time.process_time() - began:.4f} s')
        self.assertEqual(['a1'], [
            call.args[1].uuid for call in made.call_args_list])
        self.assertEqual(11, len(after['a1'].machines))
        self.assertEqual([], [name for name in before if name != 'a1' and
                              before[name] is not after[name]])
        self.assertEqual(after, cloud.look(whole=True))


    def test_one_row_more_of_an_object_at_many_routers(self):
        cloud, routers, each = egress.Cloud(), range(20), range(10)
        for number in routers:
            cloud.router(f'r{number}', f'10.0.{number}.1/24')
            for machine in each:
                cloud.machine(f'm{number}-{machine}', f'r{number}',
                              f'10.0.{number}.{machine + 5}')
                cloud.ours(f'n{number}-{machine}', f'r{number}', 'a',
                           f'198.51.100.{number + 50}',
                           f'10.0.{number}.{machine + 5}')
        cloud.file({'name': 'a', 'addresses': [
            f'198.51.100.{number + 50}' for number in routers],
            'select': {'ports': [f'm{number}-{machine}' for number in routers
                                 for machine in each]}})
        before = cloud.look()['a']
        cloud.ours('new', 'r1', 'a', '198.51.100.51', '10.0.1.99')
        find = sources._Find.__call__
        with mock.patch.object(sources._Find, '__call__', autospec=True,
                               side_effect=find) as found:
            self.assertIs(before, cloud.look()['a'])
        # Of each row, its router, but not for each router.
        self.assertLess(found.call_count,
                        2 * len(routers) * len(each))


class NoneTest(base.BaseTestCase):

    def test_mode_and_destinations(self):
        cloud = egress.Cloud()
        cloud.file({**A, 'mode': 'ecmp', 'destinations': ['192.0.2.0/24']})
        self.assertEqual(model.EgressIp(
            'a', model.EgressMode.ECMP, tuple(A['addresses']),
            destinations=('192.0.2.0/24',)), cloud.look()['a'])
