# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The options of port forwarding."""

from ovn_network_agent.conf import validate
from ovn_network_agent.tests.unit.conf import base


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

    def bad(self, option, value):
        found, = validate.problems(self.load(
            f'[port_forward]\n{option} = {value}\n'))
        self.assertIn(f'[port_forward] {option}', found)
        self.assertIn(value, found)

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
                self.bad(option, value)

    def test_the_ends_of_the_ranges(self):
        """CFG-31, CFG-32."""
        for option, values in (('port_forward_table_id', ('1', '252')),
                               ('port_forward_ct_zone', ('1', '65535'))):
            for value in values:
                conf = self.load(f'[port_forward]\n{option} = {value}\n')
                self.assertEqual([], validate.problems(conf))
