# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""From the file and rows of OVN to egress addresses, in tables."""

import re
import time
from unittest import mock

from oslotest import base

from ovn_network_agent import model
from ovn_network_agent.ovn import egress as source
from ovn_network_agent.ovn import sources
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

    def test_machines_that_a_node_cannot_tell_apart(self):
        """The first object has the address; another node can have both."""
        for name in ('r1', 'r2', 'r3'):
            self.cloud.router(name, '10.0.1.1/24')
            self.cloud.machine(f'one-{name}', name, '10.0.1.5')
            self.cloud.machine(f'two-{name}', name, f'10.0.1.{name[1:]}0')
        self.cloud.node('c1', '203.0.113.7/24', gateways=['r1', 'r2'])
        self.cloud.node('c2', '203.0.113.8/24', gateways=['r3'])
        self.cloud.file(*({
            'name': name, 'mode': 'host', 'addresses': addresses,
            'select': {'router': router}} for name, router, addresses in (
                ('a', 'r1', ['203.0.113.50']), ('b', 'r2', ['203.0.113.51']),
                ('c', 'r3', ['203.0.113.52']))))
        both = [('one-{}', '10.0.1.5'), ('two-{}', '10.0.1.{}0')]

        def machines(name, router):
            return [(port.format(router), address.format(router[1:]))
                    for port, address in both]
        self.assertEqual(machines('a', 'r1'), sorted(
            self.cloud.machines('a')))
        self.assertEqual(machines('c', 'r3'), sorted(
            self.cloud.machines('c')))
        self.assertEqual([('two-r2', '10.0.1.20')], self.cloud.machines('b'))
        self.assertEqual(
            ['router r1 has a machine of a with the same address, and its '
             'gateway is on the same node, which cannot tell them apart; '
             'give the gateways different nodes'],
            [re.sub(r'router r1 \(.*?\)', 'router r1', each.why)
             for each in self.cloud.look()['b'].machines if each.why])
        # One with a floating IP is in nobody's way.
        self.cloud.nat('fip', 'r1', type='dnat_and_snat',
                       external_ip='198.51.100.9', logical_ip='10.0.1.5')
        self.assertEqual(machines('b', 'r2'), self.cloud.machines('b'))
        self.cloud.put('NAT', 'fip')
        self.assertEqual(1, len(self.cloud.machines('b')))
        self.cloud.node('c2', '203.0.113.8/24', gateways=['r2'])
        self.assertEqual(machines('b', 'r2'), self.cloud.machines('b'))

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
