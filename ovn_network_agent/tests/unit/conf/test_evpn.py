# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Options of drivers that do not go together."""

from ovn_network_agent.conf import validate
from ovn_network_agent.tests.unit.conf import base


class EvpnTest(base.ConfTestCase):

    def problems(self, text):
        return validate.problems(self.load(text))

    def test_exactly_one_source_of_tunnels(self):
        evpn = '[DEFAULT]\ndrivers = evpn\n[evpn]\n'
        one, other = 'local_ip = 192.0.2.1\n', 'local_device = lo\n'
        for text in (evpn + one, evpn + other):
            self.assertEqual([], self.problems(text))
        self.check_one(self.problems(evpn),
                       'or in [evpn] local_device the device')
        self.check_one(self.problems(evpn + one + other),
                       'local_ip = 192.0.2.1: ',
                       'not both; remove local_device = lo')

    def test_no_tunnels_over_ipv6(self):
        found = self.problems('[DEFAULT]\ndrivers = evpn\n[evpn]\n'
                              'local_ip = 2001:db8::1\n')
        self.assertIn("'2001:db8::1' is an IPv6 address", found[0])
        self.assertIn('use an IPv4 address', found[0])

    def test_no_rule_comes_before_those_of_vnis(self):
        evpn = ('[DEFAULT]\ndrivers = evpn\n[evpn]\nlocal_ip = 192.0.2.1\n'
                '[frr]\nvrf_name =')
        rules = '\n[fip_route]\nroute_table_id = 100\nroute_rule_priority = '
        leak = (' vrf-provider\n[veth_leak]\nveth_leak_rule_priority = ')
        for text, priority in ((rules, 1101), (leak, 1104)):
            self.check_one(self.problems(f'{evpn}{text}{priority - 1}\n'),
                           f'_rule_priority = {priority - 1}: ',
                           f'choose {priority} or more')
            self.assertEqual([], self.problems(f'{evpn}{text}{priority}\n'))
        # What is not used does no harm.
        self.assertEqual([], self.problems(f'{evpn}\n[fip_route]\n'
                                           'route_rule_priority = 5\n'))


class NetworkPeerTest(base.ConfTestCase):

    def test_priorities_have_an_order(self):
        text = '[DEFAULT]\ndrivers = {}\n[network_peer]\nallow_priority = {}'
        for priority in (499, 500):
            self.check_one(
                validate.problems(self.load(text.format(
                    'network_peer', priority))),
                '[network_peer] allow_priority', 'drop_priority (500)')
        for drivers, priority in (('network_peer', 501), ('fip_route', 1)):
            self.assertEqual([], validate.problems(self.load(text.format(
                drivers, priority))))

    def test_egress_addresses_come_behind_what_drops(self):
        text = ('[DEFAULT]\ndrivers = {}\n[egress_ip]\npolicy_priority = {}'
                '\n[network_peer]\ndrop_priority = 200\n')
        both = 'network_peer,egress_ip'
        for priority in (200, 600):
            self.check_one(
                validate.problems(self.load(text.format(both, priority))),
                f'[egress_ip] policy_priority = {priority}',
                'drop_priority is 200', 'choose a number below it')
        for drivers, priority in ((both, 199), ('network_peer', 600),
                                  ('egress_ip', 600)):
            self.assertEqual([], validate.problems(self.load(text.format(
                drivers, priority))))


class PortForwardTest(base.ConfTestCase):

    def test_defaults(self):
        """CFG-30 to CFG-34."""
        values = self.load().port_forward
        self.assertEqual(
            ('', 'loopback1', 201, 64000, False, 'jhash', 'always'),
            (values.rules_file, values.port_forward_dev,
             values.port_forward_table_id, values.port_forward_ct_zone,
             values.port_forward_l3mdev_accept, values.balance,
             values.vip_announce))

    def test_what_they_do_not_take(self):
        """CFG-31, CFG-32: the ranges."""
        for option, values in (
                ('port_forward_table_id', ('0', '253', '-1', 'main')),
                ('port_forward_ct_zone', ('0', '65536', 'x')),
                ('port_forward_dev', ('a device', 'a/b', 'x' * 16)),
                ('port_forward_l3mdev_accept', ('maybe',)),
                ('rules_file', ('rules.yaml', './rules.yaml')),
                ('balance', ('random',)), ('vip_announce', ('never',))):
            for value in values:
                self.check_one(validate.problems(self.load(
                    f'[port_forward]\n{option} = {value}\n')),
                    f'[port_forward] {option}', value)

    def test_the_ends_of_the_ranges(self):
        """CFG-31, CFG-32."""
        for table, zone in ('1', '1'), ('252', '65535'):
            self.assertEqual([], validate.problems(self.load(
                f'[port_forward]\nport_forward_table_id = {table}\n'
                f'port_forward_ct_zone = {zone}\n')))
