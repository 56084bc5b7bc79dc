# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Options that do not go together with the driver evpn."""

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
        neither, = self.problems(evpn)
        self.assertIn('or in [evpn] local_device the device', neither)
        both, = self.problems(evpn + one + other)
        self.assertIn('local_ip = 192.0.2.1: ', both)
        self.assertIn('not both; remove local_device = lo', both)

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
            found, = self.problems(f'{evpn}{text}{priority - 1}\n')
            self.assertIn(f'_rule_priority = {priority - 1}: ', found)
            self.assertIn(f'choose {priority} or more', found)
            self.assertEqual([], self.problems(f'{evpn}{text}{priority}\n'))
        # What is not used does no harm.
        self.assertEqual([], self.problems(f'{evpn}\n[fip_route]\n'
                                           'route_rule_priority = 5\n'))
