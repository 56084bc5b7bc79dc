# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""From the selections of egress addresses to machines, in tables."""

from oslotest import base

from ovn_network_agent.tests.unit.ovn import egress

A = {'name': 'a', 'addresses': ['198.51.100.50', '2001:db8::50']}
B = {'name': 'b', 'addresses': ['198.51.100.60']}
SUBNET = '0d1b6a2e-7c44-4c1f-9a52-5f0c9b1f6a11'
GROUP = 'pg_' + SUBNET.replace('-', '_')


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
        # A router loses its gateway ports.
        for number in (0, 1):
            self.cloud.put('Logical_Router_Port', f'lrp-r1-up{number}')
        self.assertEqual((), self.cloud.look()['a'].machines)

    def test_rows_that_name_an_object(self):
        self.cloud.file({**A, 'addresses': ['198.51.100.50', '198.51.100.51']})
        self.assertEqual([], self.cloud.machines())
        word = {egress.SELECT: 'a'}
        for columns in ({'options': word}, {'options': {},
                                            'external_ids': word}):
            self.cloud.put('Logical_Router', 'r2', **columns)
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
