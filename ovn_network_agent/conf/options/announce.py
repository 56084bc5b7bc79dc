# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""[announce]: which addresses are announced, and with which tags.

Exceptions in rows of OVN: external_ids:ovn-network-agent:announce and
ovn-network-agent:tag, of a router also in its options.
"""

from oslo_config import cfg

from ovn_network_agent import ownership
from ovn_network_agent.conf import types

GROUP = 'announce'

_EXCLUSION = ('An exclusion wins over an inclusion. The key '
              '"ovn-network-agent:announce" in external_ids of a row of OVN '
              'wins over this option.')
_NAMED = 'by UUID, name in Neutron, or name of the row in OVN'
_NAMES = ('by their UUIDs, their names in Neutron, or the names of their rows '
          'in OVN, comma-separated')

_TENANTS = ('A tenant chooses the name of a router in Neutron, and may choose '
            'that of another router, so only the UUID says which router is '
            'meant; the agent warns of a name that two routers have.')

_TAGS = (f'A tag is a number from {ownership.TAGS.start} to '
         f'{ownership.TAGS.stop - 1}. A route map of FRR can match it, for '
         'example to set communities: as "match tag" in "redistribute '
         'static", and with the announce method "kernel", whose routes have '
         'it as their metric, as "match metric" in "redistribute kernel". '
         'Empty (the default) means that the option gives no tag. The key '
         '"ovn-network-agent:tag" in external_ids of the row of a router or '
         'network in OVN wins over this option.')

OPTS = [
    cfg.Opt(
        'include_cidrs', type=types.CommaList(types.IPNetwork()),
        default=[], mutable=True,
        help='Networks, comma-separated, like "198.51.100.0/24". Only '
             'addresses in these networks are announced. Empty (the default) '
             f'means that the address does not matter. {_EXCLUSION}'),
    cfg.Opt(
        'exclude_cidrs', type=types.CommaList(types.IPNetwork()),
        default=[], mutable=True,
        help='Networks, comma-separated, like "198.51.100.0/28". Addresses '
             f'in these networks are not announced. {_EXCLUSION}'),
    cfg.Opt(
        'include_routers', type=types.CommaList(types.ObjectName()),
        default=[], mutable=True,
        help=f'Routers, {_NAMES}. Only addresses of these routers are '
             'announced. Empty (the default) means that the router does not '
             f'matter. {_TENANTS} {_EXCLUSION}'),
    cfg.Opt(
        'exclude_routers', type=types.CommaList(types.ObjectName()),
        default=[], mutable=True,
        help=f'Routers, {_NAMES}. Addresses of these routers are not '
             f'announced. {_TENANTS} {_EXCLUSION}'),
    cfg.Opt(
        'include_networks', type=types.CommaList(types.ObjectName()),
        default=[], mutable=True,
        help=f'Provider networks, {_NAMES}. Only addresses of these networks '
             'are announced. Empty (the default) means that the network does '
             f'not matter. {_EXCLUSION}'),
    cfg.Opt(
        'exclude_networks', type=types.CommaList(types.ObjectName()),
        default=[], mutable=True,
        help=f'Provider networks, {_NAMES}. Addresses of these networks are '
             f'not announced. {_EXCLUSION}'),
    cfg.BoolOpt(
        'advertised_routes', default=False,
        help='Whether the agent announces the routers that OVN routes itself '
             '("dynamic-routing=true" in the options of the router), and of '
             'their addresses those that ovn-northd names in the table '
             'Advertised_Route of the Southbound database. So OVN decides '
             'what is announced ("dynamic-routing-redistribute"), and the '
             'agent announces in its VRF and forwards. By default, such '
             'routers are left to OVN. This needs OVN 25.03 or later. '
             'Without that table, the option changes nothing, and the '
             'agent is degraded while it has such a router.'),
    cfg.Opt(
        'router_tags', type=types.CommaList(types.NamedTag()),
        default=[], mutable=True,
        help='Tags of the announced routes of routers, comma-separated, like '
             f'"edge:{ownership.TAGS.start + 1}". The routers are named '
             f'{_NAMED}. {_TENANTS} {_TAGS} A router wins over its '
             'network.'),
    cfg.Opt(
        'network_tags', type=types.CommaList(types.NamedTag()),
        default=[], mutable=True,
        help='Tags of the announced routes of provider networks, '
             'comma-separated, like '
             f'"public:{ownership.TAGS.start + 1}". The networks are named '
             f'{_NAMED}. {_TAGS}'),
]
