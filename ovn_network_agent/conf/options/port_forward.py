# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""[port_forward]: the driver that forwards ports of VIPs."""

from oslo_config import cfg

from ovn_network_agent import ownership
from ovn_network_agent.conf import types

GROUP = 'port_forward'

OPTS = [
    cfg.Opt(
        'rules_file', type=types.FilePath(), default='', mutable=True,
        help='YAML file with the port forwards. The agent reads the file '
             'again when the file changes and at SIGHUP. As long as the file '
             'cannot be used, the rules in force stay. Empty (the default) '
             'means that nothing is forwarded. A change from nothing to a '
             'file, or back, needs a restart.'),
    cfg.Opt(
        'port_forward_dev', type=types.InterfaceName(), default='loopback1',
        help='Device on which the agent puts VIPs with "manage_vip: true", '
             'as a /32 (or /128): a dummy device, in [frr] vrf_name if that '
             'VRF is set. The device must exist when the agent starts with '
             'port forwards.'),
    cfg.Opt(
        'port_forward_table_id', type=types.Integer(1, 252),
        default=ownership.REPLY_TABLE,
        help='Routing table with the way back of replies, through the veth '
             'pair. While the table has no route, replies are dropped. The '
             'table must differ from [veth_leak] veth_leak_table_id and '
             '[fip_route] route_table_id.'),
    cfg.Opt(
        'port_forward_ct_zone', type=types.Integer(1, 65535),
        default=ownership.FORWARD_ZONE,
        help='Connection tracking zone of forwarded connections. Nothing '
             'else on the node may use this zone; ovn-controller numbers its '
             'zones from 1 up.'),
    cfg.BoolOpt(
        'port_forward_l3mdev_accept', default=False,
        help='Whether the agent sets tcp_l3mdev_accept and '
             'udp_l3mdev_accept, so that sockets in the default VRF accept '
             'packets that arrive in [frr] vrf_name. Destinations on this '
             'node need these settings. With false the agent leaves both '
             'settings unchanged.'),
    cfg.StrOpt(
        'balance', default='jhash', mutable=True, ignore_case=True,
        choices=[('jhash', 'hash of the client modulo the number of '
                  'destinations; when one destination goes, nearly all '
                  'clients change'),
                 ('consistent', 'the clients of a destination that goes are '
                  'spread over the others, which keep their clients')],
        help='How the clients of a rule are spread over its destinations. '
             'The same client always gets the same destination.'),
    cfg.StrOpt(
        'vip_announce', default='always', mutable=True, ignore_case=True,
        choices=[('always', 'whether or not a router has its gateway port '
                  'here'),
                 ('with-gateway', 'only while a router has its gateway port '
                  'here')],
        help='Under which condition this node announces managed VIPs.'),
]
