# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Options of the driver egress_ip."""

from oslo_config import cfg

from ovn_network_agent import ownership
from ovn_network_agent.conf import types

GROUP = 'egress_ip'
# ovn-nb(5), Logical_Router_Policy; OVN has one of priority 0.
_PRIORITIES = (2, 32767)


def probes(conf: cfg.ConfigOpts) -> bool:
    """Whether agents ask each other."""
    return GROUP in conf.drivers and bool(conf.egress_ip.probe_port)


OPTS = [
    cfg.Opt(
        'file', type=types.FilePath(), default='', mutable=True,
        help='YAML file with egress addresses and the machines that leave '
             'with them. The agent reads the file again when it changes. As '
             'long as the file cannot be used, the egress addresses in force '
             'stay. All agents with the driver need the same file. Empty '
             '(the default) means none.'),
    cfg.Opt(
        'policy_priority', type=types.Integer(*_PRIORITIES),
        default=ownership.EGRESS_POLICY_PRIORITY,
        help='Priority of the policies of mode "ecmp" that let packets to '
             'networks of the router pass. The policies that lead machines to '
             'several gateway ports have the next lower priority. Policies '
             'that drop or allow need a higher one, and no other driver may '
             'write policies of these two priorities. All agents with the '
             'driver need the same value.'),
    cfg.Opt(
        'probe_port', type=types.Integer(0, 65535), default=6643,
        help='TCP port on the address of the OVN tunnel at which agents ask '
             'each other, every 5 seconds, whether they work. The same on '
             'all nodes; 0 switches the questions off. With the files of '
             '[ovn] for TLS, agents ask with TLS.'),
    cfg.BoolOpt(
        'cleanup_on_stop', default=False, mutable=True,
        help='Whether the stop of the agent that writes the rows removes '
             'them from OVN. With false (the default), the rows stay and '
             'work. With true, machines leave with the address of their '
             'router until another agent with the driver writes the rows '
             'again. What this node itself translates (mode "host") ends '
             'with the stop in any case.'),
]
