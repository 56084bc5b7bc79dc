# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""[provider_port]: the driver that announces machines on provider networks."""

from oslo_config import cfg

from ovn_network_agent.conf import types

GROUP = 'provider_port'

OPTS = [
    cfg.Opt(
        'networks', type=types.CommaList(types.ObjectName()),
        default=[], mutable=True,
        help='Provider networks whose machines are announced, by their '
             'UUIDs, their names in Neutron, the names of their rows in OVN, '
             'or the names of physical networks, comma-separated. Empty (the '
             'default) means all networks with a physical network that '
             '"ovn-bridge-mappings" of this node maps to a bridge of the '
             'agent. Networks of tenants with VLANs of the same physical '
             'network are among these, and tenants choose the subnets there; '
             'name the networks where tenants have such VLANs, or limit the '
             'addresses by [announce] include_cidrs.'),
    cfg.BoolOpt(
        'allowed_address_pairs', default=False, mutable=True,
        help='Whether the addresses of "allowed address pairs" are '
             'announced, too, as far as they are single addresses. A machine '
             'may have such an address or not, and OVN does not know, so each '
             'node with a machine that has the pair announces it. The address '
             'of a port of type "virtual" needs no such option, and follows '
             'the machine that has it. OVN before 22.09 does not tell the '
             'agent of pairs.'),
    cfg.Opt(
        'ipv6_gateways', type=types.CommaList(types.IPv6Host()),
        default=[], mutable=True,
        help='Gateways of IPv6 subnets, comma-separated, for which the kernel '
             'answers the machines (neighbour proxy). OVN does not have the '
             'gateways of subnets. A subnet without an address here has its '
             'first address as gateway, as Neutron has by default. A '
             'gateway that is a router port in OVN needs no answer.'),
    cfg.BoolOpt(
        'router_advertisements', default=True, mutable=True,
        help='Whether FRR advertises this node as the default router of '
             'networks with machines of IPv6, so that machines send packets '
             'to it, and ask for no other neighbour. The advertisements '
             'have no address for machines, and say whether DHCPv6 has one '
             '(flags M and O, by the subnets of Neutron). None is sent on a '
             'network where '
             'a router of OVN advertises (ipv6_ra_configs of its port). Set '
             'it to false where another router advertises.'),
]
