# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""[tenant_network]: the driver that announces networks of tenants."""

from oslo_config import cfg

from ovn_network_agent.conf import types

GROUP = 'tenant_network'

OPTS = [
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
