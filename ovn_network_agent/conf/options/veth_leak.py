# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""[veth_leak]: the driver that connects the default VRF and FRR's VRF."""

import ipaddress
import typing

from oslo_config import cfg

from ovn_network_agent import ownership
from ovn_network_agent.conf import types

GROUP = 'veth_leak'
# Of its addresses, for the OTHER_OPTIONS of drivers.
ENDS = ('veth_leak.veth_nexthop', 'veth_leak.veth_provider_ip')

OPTS = [
    cfg.BoolOpt(
        'veth_leak_enabled', default=True,
        help='Whether the agent makes the veth pair between the default VRF '
             'and [frr] vrf_name, with its addresses, routes and rules. '
             'Without a vrf_name there is nothing to connect, and the option '
             'has no effect.'),
    cfg.Opt(
        'veth_nexthop', type=types.IPv4Address(), default='169.254.0.1',
        help='Address of the end in the default VRF, "veth-default": the '
             'next hop of everything that FRR announces. This address and '
             'veth_provider_ip are the two hosts of one /30.'),
    cfg.Opt(
        'veth_provider_ip', type=types.IPv4Address(empty=True), default='',
        help='Address of the end in the VRF, "veth-provider". Empty (the '
             'default) means the address after veth_nexthop.'),
    cfg.Opt(
        'veth_leak_table_id', type=types.Integer(1, 252),
        default=ownership.LEAK_TABLE,
        help='Routing table with the default route towards the VRF. The '
             'table must differ from [fip_route] route_table_id. Without a '
             'VRF and a route_table_id, the last packets of addresses that '
             'have just left this node have their routes there, and rules '
             'of veth_leak_rule_priority.'),
    cfg.Opt(
        'veth_leak_rule_priority', type=types.Integer(4, 32764),
        default=ownership.LEAK_RULE_PRIORITY,
        help='Priority of the policy rules that send packets from a provider '
             'network to veth_leak_table_id. The agent also uses the three '
             'priorities below: one rule keeps packets from the pair from '
             'going back into the pair, and two rules drop packets to '
             'addresses of a provider network that are not on this node. The '
             'agent also uses the priority above, to drop packets that OVN '
             'failed to translate, and packets that would leave by the main '
             'table if veth_leak_table_id lost its route. All these rules '
             'have to come after the kernel\'s rule for VRFs, which is at '
             '1000. The original program uses only one priority below, and '
             'so accepts 2 and 3 as well.'),
]


def enabled(conf: cfg.ConfigOpts) -> bool:
    """Whether there is a veth pair: for a VRF, and unless switched off."""
    return bool(conf.veth_leak.veth_leak_enabled and conf.frr.vrf_name and
                'veth_leak' in conf.drivers)


def provider_ip(conf: typing.Any) -> str:
    """Address of veth-provider; '' if it cannot be computed."""
    configured: str = conf.veth_leak.veth_provider_ip
    if configured:
        return configured
    try:
        return str(ipaddress.IPv4Address(conf.veth_leak.veth_nexthop) + 1)
    except ipaddress.AddressValueError:
        return ''
