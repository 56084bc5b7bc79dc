# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Each mistake that a configuration can have, and what its message says."""

from ovn_network_agent.runtime import reloads
from ovn_network_agent.tests.unit.conf import base

# Section, option with its value, and what its one message says, too.
MISTAKES = (
    ('DEFAULT', 'reconcile_interval = 0', '0 is not between 1 and 86400'),
    ('DEFAULT', 'reconcile_interval = -60', '-60 is not between 1 and'),
    ('DEFAULT', 'reconcile_interval ='),
    ('DEFAULT', 'shutdown_timeout = 60s', "'60s'", 'without a unit'),
    ('DEFAULT', 'event_coalesce = 50ms', '50ms'),
    ('DEFAULT', 'event_coalesce = nan', 'nan'),
    ('DEFAULT', 'cleanup_on_shutdown = maybe',
     "Unexpected boolean value 'maybe'", 'use true or false'),
    # An argument, too.
    ('DEFAULT', 'dry_run = maybe', "Unexpected boolean value 'maybe'",
     'test.conf'),
    ('DEFAULT', 'log_level = loud', "'loud'", 'debug, info, warn, error'),
    ('DEFAULT', 'bridge_dev = br-provider-external',
     "'br-provider-external' has 20 bytes", 'at most 15'),
    ('DEFAULT', 'bridge_dev = veth-default', ' = veth-default: ',
     'name the device that'),
    ('DEFAULT', 'bridge_ip = 169.254.169.254/32', "'169.254.169.254/32'",
     'without a prefix'),
    ('DEFAULT', 'gateway_port = cr-lrp 1', "'cr-lrp 1' is not",
     'without blanks'),
    ('DEFAULT', 'network_cidr = 192.0.2.0/24, 198.51.100/24',
     "'198.51.100/24' is not an IP network", 'write it like'),
    ('DEFAULT', 'network_cidr = 0.0.0.0/0', ' = 0.0.0.0/0: ',
     'name the provider net'),
    ('DEFAULT', 'drivers = fip_route,a b', 'a b'),
    ('DEFAULT', 'drivers =', 'nothing to do'),
    ('DEFAULT', 'drivers = fip_route,veth_leak,fip_route',
     'fip_route more than once'),
    ('DEFAULT', 'further_bridges = br-two, br-two', 'twice'),
    ('DEFAULT', 'further_bridges = br-ex', 'twice'),
    ('DEFAULT', 'further_bridges = veth-default', 'veth pair'),
    ('DEFAULT', 'further_bridges = a-very-long-bridge', '15'),
    ('DEFAULT', 'further_bridges = vrf-x\n[frr]\nvrf_name = vrf-x',
     'vrf_name'),
    ('ovs', 'ovsdb_connection = /run/db.sock', 'db.sock'),
    ('frr', 'vrf_name = vrf; exit', "'vrf; exit' is not a name",
     'use letters'),
    ('frr', 'vrf_name = br-ex', ' = br-ex: is [DEFAULT] bridge_dev too'),
    ('frr', 'frr_prefix_list = A B', "'A B' is not a name", 'use letters'),
    ('frr', 'frr_prefix_list = a"b', 'a"b'),
    ('frr', 'bgp_soft_refresh = often', 'often', 'on-removal'),
    ('fip_route', 'route_table_id = 254', '254 is not between 0 and 252'),
    ('fip_route', 'route_table_id = 253', '253 is not between 0 and 252'),
    ('fip_route', 'announce_method = bgp', "'bgp'", 'static, kernel'),
    ('veth_leak', 'veth_leak_table_id = 0', '0', '252'),
    ('veth_leak', 'veth_leak_rule_priority = 1', '1 is not between 4'),
    ('veth_leak', 'veth_nexthop = fe80::1', 'fe80::1'),
    ('veth_leak', 'veth_nexthop = 169.254.0.2',
     ' = 169.254.0.2, veth_provider_ip = 169.254.0.3 (computed)',
     'in this one they are 169.254.0.1 and 169.254.0.2'),
    ('tenant_network', 'address_scopes = shared-v4',
     "'shared-v4' is not a UUID", 'openstack address scope list'),
    ('gateway_drain', 'stale_chassis_grace_period = -1', '-1'),
    ('gateway_drain', 'silent_chassis_limit = 1h', '1h'),
    ('gateway_drain', 'drain_timeout = 0', ' = 0: ',
     'drain_on_shutdown to false'),
    ('gateway_drain', 'drain_timeout = -1', '-1.0 is not between 0 and'),
    ('gateway_drain', 'drain_settle_delay = -0.5', '-0.5 is not between 0'),
    ('gateway_drain', 'handover_timeout = 30s', "'30s'", 'without a unit'),
    ('gateway_drain', 'restore = before', "'before'", 'standby, ordered'),
    ('gateway_drain', 'relay = geneve', "'geneve'", 'use true or false'))


class MistakesTest(base.ConfTestCase):

    def test_each_is_one_message_with_its_remedy(self):
        for section, text, *words in MISTAKES:
            with self.subTest(text):
                self.check_one(
                    reloads.problems(self.load(f'[{section}]\n{text}\n')),
                    f'[{section}] {text.split()[0]}', *words)
