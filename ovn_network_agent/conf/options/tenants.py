# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Options of the drivers for tenants' networks, machines and virtual IPs."""

from oslo_config import cfg

from ovn_network_agent.conf import types

PORT_GROUP = 'provider_port'

PORT_OPTS = [
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


NETWORK_GROUP = 'tenant_network'

NETWORK_OPTS = [
    cfg.StrOpt(
        'advertisement_method', default='subnet', choices=[
            ('subnet', 'the prefix of each subnet'),
            ('host', 'the address of each machine there')],
        help='What is announced of a network of a tenant. With "host", OVN '
             'SB sends the agent the ports of these networks, and a machine '
             'with a floating IP is left out, because its answers leave with '
             'the floating IP.'),
    cfg.Opt(
        'address_scopes', type=types.CommaList(types.Uuid()), default=[],
        mutable=True,
        help='UUIDs of address scopes of Neutron, comma-separated, as '
             '"openstack address scope list" shows them. Only subnets in one '
             'of them are announced. An address scope is of one family, so '
             'name one of each family to announce both. A subnet without a '
             'scope is announced only if the list is empty (the default). '
             'Neutron lets no two subnets of a scope overlap, so a scope '
             'keeps tenants from taking addresses of each other; without a '
             'scope, nothing does.'),
    cfg.BoolOpt(
        'require_snat_disabled', default=True, mutable=True,
        help='Whether a subnet is left out as long as a router translates '
             'what comes from there (SNAT). With SNAT, the answers to '
             'connections from outside leave with the address of the router, '
             'and TCP does not accept them.'),
    cfg.BoolOpt(
        'expose_ipv6_gua', default=False, mutable=True,
        help='Whether subnets of IPv6 are announced, too. Only global unicast '
             'addresses (2000::/3) are.'),
    cfg.BoolOpt(
        'extra_routes', default=False,
        help='Whether the extra routes of a router are announced, too, if '
             'their next hop is in a network of a tenant that is announced. '
             'The owner of a router chooses any destination, whatever '
             'address_scopes has, so name what may be announced in '
             '[announce] include_cidrs. OVN NB then sends the agent the '
             'static routes of all routers.'),
]


BALANCER_GROUP = 'load_balancer'

BALANCER_OPTS: list[cfg.Opt] = [
    cfg.BoolOpt(
        'withdraw_without_backends', default=True, mutable=True,
        help='Whether a virtual IP is withdrawn while the health checks of '
             'OVN say that none of its backends is online, and comes back '
             'with the first one. A virtual IP stays announced as long as one '
             'of its ports has no health check, or a backend whose state OVN '
             'does not know. The address of a router stays in any case.'),
    cfg.BoolOpt(
        'vips_behind_snat', default=False, mutable=True,
        help='Whether the driver tenant_network announces virtual IPs in '
             'networks of tenants that are not announced themselves because '
             'a router translates them (SNAT), too. The answers of a virtual '
             'IP leave with its own address in spite of SNAT. Several tenants '
             'may have the same addresses in such networks, so name what is '
             'to be announced in [tenant_network] address_scopes or in '
             '[announce].'),
]
