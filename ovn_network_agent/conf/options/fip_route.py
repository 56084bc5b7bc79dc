# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""[fip_route]: the driver that makes floating IPs reachable."""

import typing

from oslo_config import cfg

from ovn_network_agent import ownership
from ovn_network_agent.conf import types

GROUP = 'fip_route'

OPTS = [
    cfg.StrOpt(
        'announce_method', default='static', mutable=True,
        choices=[
            ('static', 'FRR static routes; needs "redistribute static" in '
                       'the BGP instance'),
            ('kernel', 'kernel routes in the table of the VRF; needs '
                       '"redistribute kernel" in the BGP instance')],
        help='How an address gets into BGP. "static" writes static routes '
             'through vtysh, which suits up to some hundred addresses: the '
             'time that FRR takes for each change grows with the number of '
             'routes present. "kernel" stays fast with many thousands, and '
             'its routes survive a restart of FRR. To change the method on a '
             'node that is in use, first have both "redistribute static" and '
             '"redistribute kernel" in the BGP instance: each address is '
             'announced with the new method before the announcement with the '
             'old method ends.'),
    cfg.Opt(
        'route_table_id', type=types.Integer(0, 252), default=0,
        help='Routing table for the host routes to bridge_dev. 0 (the '
             'default) is the main table. 1 to 252 is a separate table, with '
             'one policy rule for each address at route_rule_priority.'),
    cfg.Opt(
        'route_rule_priority', type=types.Integer(1, 32765),
        default=ownership.ROUTE_RULE_PRIORITY,
        help='Priority of the policy rules that a route_table_id other than '
             '0 needs. The default is also the priority of the kernel\'s rule '
             'for VRFs ("l3mdev"). Of two rules with the same priority the '
             'older rule comes first, so traffic that arrives in the VRF '
             'still takes the veth pair as long as the VRF was created '
             'before the agent started. Use 1001 or more to be independent '
             'of that order. The priority must be below '
             'veth_leak_rule_priority - 1.'),
    cfg.BoolOpt(
        'standby_prepare', default=True, mutable=True,
        help='Whether a standby prepares the way out of OVN: the flows of '
             'the patch port, the policy rules of the provider network and '
             'of the networks of tenants, and its entries in the prefix list '
             'of FRR, those of managed VIPs included. Then packets of virtual '
             'machines are neither lost nor sent '
             'into the management network between the move of a gateway port '
             'and the reaction of the agent. Without the entry every takeover '
             'would wait for vtysh. The flows, rules and entries attract no '
             'packets by themselves. But if FRR redistributes a host route '
             'in that network that somebody else made, a standby announces '
             'that route, too.'),
]


def own_table(conf: typing.Any) -> tuple[int, int]:
    """Table and rule priority beside the main table for host routes, or 0.

    Without a VRF there is no veth leak, so its numbers are free: the last
    packets of addresses that have left use them.
    """
    table: int = conf.fip_route.route_table_id
    priority: int = conf.fip_route.route_rule_priority
    if not (table or conf.frr.vrf_name):
        table = conf.veth_leak.veth_leak_table_id
        priority = conf.veth_leak.veth_leak_rule_priority
    return table, priority
