# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Each mistake that a configuration can have, and what its message says."""

from ovn_network_agent.runtime import reloads
from ovn_network_agent.tests.unit.conf import base

_DRAIN = ('[DEFAULT]\ndrivers = fip_route,veth_leak,gateway_drain\n'
          '[gateway_drain]\n')
# Text of the file, what its one message says.
MISTAKES = {
    'interval_zero': ('[DEFAULT]\nreconcile_interval = 0\n', (
        '[DEFAULT] reconcile_interval: ', '0 is not between 1 and 86400')),
    'interval_negative': ('[DEFAULT]\nreconcile_interval = -60\n', (
        '[DEFAULT] reconcile_interval: ', '-60 is not between 1 and')),
    'duration_with_a_unit': ('[DEFAULT]\nshutdown_timeout = 60s\n', (
        "[DEFAULT] shutdown_timeout: '60s'", 'without a unit')),
    'bad_boolean': ('[DEFAULT]\ncleanup_on_shutdown = maybe\n', (
        "[DEFAULT] cleanup_on_shutdown: Unexpected boolean value 'maybe'",
        'use true or false')),
    'bad_boolean_of_an_argument': ('[DEFAULT]\ndry_run = maybe\n', (
        "[DEFAULT] dry_run: Unexpected boolean value 'maybe'", 'test.conf')),
    'bad_level': ('[DEFAULT]\nlog_level = loud\n', (
        '[DEFAULT] log_level: ', "'loud'", 'debug, info, warn, error')),
    'long_device': ('[DEFAULT]\nbridge_dev = br-provider-external\n', (
        "[DEFAULT] bridge_dev: 'br-provider-external' has 20 bytes",
        'at most 15')),
    'vrf_no_name': ('[frr]\nvrf_name = vrf; exit\n', (
        "[frr] vrf_name: 'vrf; exit' is not a name", 'use letters')),
    'list_no_name': ('[frr]\nfrr_prefix_list = A B\n', (
        "[frr] frr_prefix_list: 'A B' is not a name", 'use letters')),
    'port_no_name': ('[DEFAULT]\ngateway_port = cr-lrp 1\n', (
        "[DEFAULT] gateway_port: 'cr-lrp 1' is not", 'without blanks')),
    'network': ('[DEFAULT]\nnetwork_cidr = 192.0.2.0/24, 198.51.100/24\n', (
        "[DEFAULT] network_cidr: '198.51.100/24' is not an IP network",
        'write it like')),
    'everything': ('[DEFAULT]\nnetwork_cidr = 0.0.0.0/0\n', (
        '[DEFAULT] network_cidr = 0.0.0.0/0: ', 'name the provider net')),
    'bridge_ip': ('[DEFAULT]\nbridge_ip = 169.254.169.254/32\n', (
        "[DEFAULT] bridge_ip: '169.254.169.254/32'", 'without a prefix')),
    'table': ('[fip_route]\nroute_table_id = 254\n', (
        '[fip_route] route_table_id: 254 is not between 0 and 252',)),
    'tables_collide': ('[fip_route]\nroute_table_id = 200\n', (
        '[veth_leak] veth_leak_table_id = 200: is [fip_route] '
        'route_table_id too', 'choose another')),
    'priorities_collide': (
        '[fip_route]\nroute_table_id = 100\nroute_rule_priority = 2000\n', (
            '[fip_route] route_rule_priority = 2000: ',
            'choose a lower number')),
    'priority_too_low': ('[veth_leak]\nveth_leak_rule_priority = 1\n', (
        '[veth_leak] veth_leak_rule_priority: 1 is not between 4',)),
    'pair_not_of_one_network': ('[veth_leak]\nveth_nexthop = 169.254.0.2\n', (
        '[veth_leak] veth_nexthop = 169.254.0.2, veth_provider_ip = '
        '169.254.0.3 (computed)', 'in this one they are 169.254.0.1 and '
        '169.254.0.2')),
    'devices_collide': ('[frr]\nvrf_name = br-ex\n', (
        '[frr] vrf_name = br-ex: is [DEFAULT] bridge_dev too',)),
    'name_of_the_pair': ('[DEFAULT]\nbridge_dev = veth-default\n', (
        '[DEFAULT] bridge_dev = veth-default: ', 'name the device that')),
    'no_time_to_drain': (_DRAIN + 'drain_timeout = 0\n', (
        '[gateway_drain] drain_timeout = 0: ', 'drain_on_shutdown to false')),
    'drain_timeout': (_DRAIN + 'drain_timeout = -1\n', (
        '[gateway_drain] drain_timeout: -1.0 is not between 0 and',)),
    'settle_delay': (_DRAIN + 'drain_settle_delay = -0.5\n', (
        '[gateway_drain] drain_settle_delay: -0.5 is not between 0 and',)),
    'handover': (_DRAIN + 'handover_timeout = 30s\n', (
        "[gateway_drain] handover_timeout: '30s'", 'without a unit')),
    'restore': (_DRAIN + 'restore = before\n', (
        '[gateway_drain] restore: ', "'before'", 'standby, ordered')),
    'relay': (_DRAIN + 'relay = geneve\n', (
        '[gateway_drain] relay: ', "'geneve'", 'use true or false')),
    'method': ('[fip_route]\nannounce_method = bgp\n', (
        '[fip_route] announce_method: ', "'bgp'", 'static, kernel')),
}


class MistakesTest(base.ConfTestCase):

    def test_each_is_one_message_with_its_remedy(self):
        for name, (text, words) in MISTAKES.items():
            with self.subTest(name):
                said, = reloads.problems(self.load(text))
                for word in words:
                    self.assertIn(word, said)
