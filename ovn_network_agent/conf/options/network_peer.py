# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""[network_peer]: the driver that has routers of tenants peer in OVN."""

from oslo_config import cfg

from ovn_network_agent import ownership
from ovn_network_agent.conf import types

GROUP = 'network_peer'
_PRIORITIES = (1, 32767)  # ovn-nb(5), table Logical_Router_Policy

OPTS = [
    cfg.Opt(
        'peers_file', type=types.FilePath(), default='', mutable=True,
        help='YAML file with peerings, beside those in the rows of '
             'routers. An entry names both routers. The agent reads the file '
             'again when it changes. As long as the file cannot be used, the '
             'peerings in force stay. All agents with the driver need the '
             'same file. Empty (the default) means none.'),
    cfg.Opt(
        'allow_priority', type=types.Integer(*_PRIORITIES),
        default=ownership.PEER_ALLOW_PRIORITY,
        help='Priority of the policies that let packets from the prefixes of '
             'a peer into a router. It has to be higher than drop_priority, '
             'and no other driver may write policies of this priority. All '
             'agents with the driver need the same one.'),
    cfg.Opt(
        'drop_priority', type=types.Integer(*_PRIORITIES),
        default=ownership.PEER_DROP_PRIORITY,
        help='Priority of the policies that drop all other packets from a '
             'peer, and packets from a provider network with a source of a '
             'peer. All agents with the driver need the same one.'),
    cfg.BoolOpt(
        'cleanup_on_stop', default=False, mutable=True,
        help='Whether the stop of the agent that writes the peerings removes '
             'them from OVN. With false (the default), they stay and work, '
             'because no agent is needed for the packets. With true, '
             'tenants are cut off until another agent with the driver writes '
             'the peerings again.'),
]
