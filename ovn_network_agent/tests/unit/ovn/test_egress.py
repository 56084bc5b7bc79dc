# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The places of egress addresses, from the file and rows of OVN, in tables."""

import itertools
from unittest import mock

from oslotest import base

from ovn_network_agent import model
from ovn_network_agent.ovn import sources
from ovn_network_agent.ovn.egress import egress as source
from ovn_network_agent.tests.unit.ovn import egress

HOST = ('203.0.113.50', '203.0.113.51')


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
                          '203.0.113.0/24'), one.inner_networks)
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
        self.assertIn('10.7.0.0/16', one.inner_networks)

    def test_ipv6_needs_next_hops_that_differ(self):
        self.cloud.router('r1', 'fd00:1::1/64', uplinks=[
            '2001:db8:1::1/64', '2001:db8:2::1/64'])
        self.cloud.machine('m', 'r1', 'fd00:1::5')
        self.file('2001:db8:1::50', mode='ecmp')
        for _port, why in self.cloud.places():
            self.assertIn('has no next hop of IPv6 that OVN can tell', why)

    def host(self, *names, **keys):
        self.routers(*names)
        self.file(*HOST, mode='host', **keys)

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
        # Also one beside another one in that network, with it or without.
        for links in (('bad', '203.0.113.51/24'),
                      ('203.0.113.2/24', '203.0.113.51/24'),
                      ('203.0.113.2/24', '203.0.113.51/32')):
            self.cloud.node('c2', *links)
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
        self.file(*HOST, mode='host')
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

    def test_mode_and_destinations(self):
        addresses = ['198.51.100.50', '2001:db8::50']
        self.cloud.file({'name': 'a', 'addresses': addresses, 'mode': 'ecmp',
                         'destinations': ['192.0.2.0/24']})
        self.assertEqual(model.EgressIp(
            'a', model.EgressMode.ECMP, tuple(addresses),
            destinations=('192.0.2.0/24',)), self.cloud.look()['a'])


class ManyTest(base.BaseTestCase):
    """The cost follows the change."""

    def filled(self, routers):
        """Routers with ten machines each."""
        cloud = egress.Cloud()
        for number in range(routers):
            cloud.router(f'r{number}', f'10.0.{number}.1/24')
            for machine in range(10):
                cloud.machine(f'm{number}-{machine}', f'r{number}',
                              f'10.0.{number}.{machine + 5}')
        return cloud

    def test_one_port_more(self):
        cloud, objects = self.filled(20), 20
        cloud.file(*({'name': f'a{number}',
                      'addresses': [f'198.51.100.{number + 50}'],
                      'select': {'router': f'r{number}'}}
                     for number in range(objects)))
        before = cloud.look()
        self.assertEqual(objects * 10, sum(
            len(each.machines) for each in before.values()))
        cloud.machine('new', 'r1', '10.0.1.99')
        with mock.patch.object(
                source, '_made', side_effect=source._made) as made:
            after = cloud.look()
        self.assertEqual(['a1'], [
            call.args[1].uuid for call in made.call_args_list])
        self.assertEqual(11, len(after['a1'].machines))
        self.assertEqual([], [name for name in before if name != 'a1' and
                              before[name] is not after[name]])
        self.assertEqual(after, cloud.look(whole=True))

    def test_one_row_more_of_an_object_at_many_routers(self):
        cloud, routers, each = self.filled(20), range(20), range(10)
        for number, machine in itertools.product(routers, each):
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
        self.assertLess(found.call_count, 2 * len(routers) * len(each))
