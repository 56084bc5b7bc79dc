# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""[ovs]: Open vSwitch on this node."""

from oslo_config import cfg

from ovn_network_agent.conf import types

GROUP = 'ovs'

OPTS = [
    cfg.Opt(
        'ovsdb_connection', type=types.OvsdbRemote(),
        default='unix:/run/openvswitch/db.sock',
        help='Database of the local Open vSwitch. The agent reads the '
             'chassis name, the bridge mappings and the patch ports there, '
             'and writes the relays to other gateway nodes. Kolla listens on '
             'tcp:127.0.0.1:6640.'),
    cfg.StrOpt(
        'ovs_ssl_ca', default='',
        help='Like [ovn] ovn_ssl_ca, for an "ssl:" remote in '
             'ovsdb_connection. When ovs_ssl_ca, ovs_ssl_cert and '
             'ovs_ssl_key are all empty, the agent uses the files of [ovn].'),
    cfg.StrOpt(
        'ovs_ssl_cert', default='',
        help='Like [ovn] ovn_ssl_cert, for the local database.'),
    cfg.StrOpt(
        'ovs_ssl_key', default='',
        help='Like [ovn] ovn_ssl_key, for the local database.'),
    cfg.BoolOpt(
        'ovs_ssl_check_name', default=True,
        help='Like [ovn] ovn_ssl_check_name, for the local database.'),
    cfg.StrOpt(
        'ovs_rundir', default='/run/openvswitch',
        help='Directory with the management sockets of the bridges '
             '("<bridge>.mgmt") through which flows are read and written.'),
    cfg.StrOpt(
        'ovn_rundir', default='/run/ovn',
        help='Directory with the control socket of ovn-controller '
             '("ovn-controller.<pid>.ctl"), which [gateway_drain] overlap '
             'needs.'),
    cfg.StrOpt(
        'ovs_wrapper', default='',
        help='Command that is put before ovs-ofctl, split at blanks, like '
             '"docker exec -i openvswitch_vswitchd", for nodes whose '
             'management sockets cannot be reached directly. The command has '
             'to pass standard input on, and runs with privileges. Empty '
             '(the default) means no command.'),
]
