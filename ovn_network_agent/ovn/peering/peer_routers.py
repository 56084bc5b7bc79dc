# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Routers as peers see them: names, ports, prefixes.  Pure."""

from collections.abc import Iterable
import typing

from ovn_network_agent import ownership
from ovn_network_agent.common import ip_text
from ovn_network_agent.common import networks
from ovn_network_agent.common import wording
from ovn_network_agent.drivers import source
from ovn_network_agent.model import selection
from ovn_network_agent.ovn import rows
from ovn_network_agent.ovn.chassis import directory
from ovn_network_agent.ovn.peering import peer_intents as intents
from ovn_network_agent.ovn.peering import peering_rows
from ovn_network_agent.ovn.subjects import prefixes
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb.columns import Row

ROUTER = ('nb', 'Logical_Router')
PORT = ('nb', 'Logical_Router_Port')
ROUTE = ('nb', 'Logical_Router_Static_Route')
SET = ('nb', peering_rows.SET)
# Of Neutron, also while the gateway has no chassis.
_GATEWAY = ('neutron:is_ext_gw', 'True')


class Router(typing.NamedTuple):
    """A router without its intents."""

    called: str = ''
    mac: str = ''  # of its first internal port
    # By family, 4 first, the lowest internal address.
    addresses: tuple[tuple[int, str], ...] = ()
    # Networks of internal ports, and extra routes behind them, sorted.
    prefixes: tuple[ip_text.Network, ...] = ()
    # Prefixes of other ports and of all routes but default routes, of any
    # table or match: nothing of a peer may be there.
    others: tuple[ip_text.Network, ...] = ()
    uplinks: tuple[str, ...] = ()
    objection: str = ''  # why it cannot have peers, or ''


def resolve(find: source.Find, text: str) -> frozenset[str]:
    """The UUIDs of the routers that a text names."""
    return frozenset(str(row.uuid) for row in find(*ROUTER, 'called', text))


def target(find: source.Find, uuid: str, name: str,
           intent: intents.Intent) -> str:
    """The router that an intent of a router names, or ''.

    Tenants may take a name later: then the one that the rows lead to.
    """
    found = resolve(find, intent.target)
    if len(found) > 1:
        found = frozenset(other for other in found
                          if _leads(find, uuid, name, other))
    return next(iter(found)) if len(found) == 1 else ''


def at(find: source.Find, end: intents.End) -> str:
    """The router that an end in the file is at, likewise."""
    found = resolve(find, end.router)
    if len(found) > 1:
        targets = resolve(find, end.intent.target)
        found = frozenset(uuid for uuid in found
                          if any(_leads(find, uuid, end.name, other)
                                 for other in targets))
    return next(iter(found)) if len(found) == 1 else ''


def _leads(find: source.Find, uuid: str, name: str, other: str) -> bool:
    """Whether a peering of a router has rows, and leads to another one."""
    return any(peering_rows.pair_of(row) == ownership.peer_pair(uuid, other)
               for family in networks.VERSIONS
               for row in find(*SET, 'name', set_name(uuid, name, family)))


def set_name(uuid: str, name: str, family: int) -> str:
    """The address set with the prefixes of a peering of a router."""
    return 'ona_peer_{}_{}_ip{}'.format(
        uuid.replace('-', '_'), name.replace('-', '_'), family)


def names(row: Row) -> frozenset[str]:
    """All names of a router, for an index."""
    return selection.names(
        directory.NEUTRON_PREFIX, str(row.uuid), columns.atom(row, 'name'),
        _label(row))


def read(find: source.Find, uuid: str) -> Router:
    """The router with a UUID, an empty one without it."""
    for row in find(*ROUTER, 'uuid', uuid):
        ports = sorted(
            (port for each in columns.referenced(row, 'ports')
             for port in find(*PORT, 'uuid', each)
             if not peering_rows.pair_at(uuid, PORT[1], port)),
            key=lambda port: str(columns.atom(port, 'name')))
        inner = [port for port in ports if _is_internal(port)]
        here = interfaces(inner)
        nets = [each.network for each in here]
        routes = [route for route in _routes(find, row)
                  if not _is_of_agents(uuid, route)]
        behind = [extra[0] for route in routes
                  if (extra := rows.extra_route(route)) and
                  networks.inside(extra[1], nets)]
        return Router(
            called(row), columns.atom(inner[0], 'mac') if inner else '',
            _lowest(here), _sorted([*nets, *behind]),
            _sorted([*(each.network for each in interfaces(
                port for port in ports if port not in inner)),
                *_prefixes(routes)]),
            tuple(columns.atom(port, 'name') for port in ports
                  if is_uplink(port)), _objection(row, here))
    return Router()


def held(find: source.Find, uuid: str) -> frozenset[tuple[str, str]]:
    """(Port, prefix) of the routes of a router to its peers."""
    return frozenset(
        (columns.atom(route, 'output_port'), columns.atom(route, 'ip_prefix'))
        for row in find(*ROUTER, 'uuid', uuid) for route in _routes(find, row)
        if peering_rows.pair_at(uuid, ROUTE[1], route))


def _routes(find: source.Find, router: Row) -> list[Row]:
    return [route for each in columns.referenced(router, 'static_routes')
            for route in find(*ROUTE, 'uuid', each)]


def _is_of_agents(router: str, route: Row) -> bool:
    return bool(columns.entry(route, 'external_ids', ownership.EXT_ID_MANAGED)
                or peering_rows.pair_at(router, ROUTE[1], route))


def _prefixes(routes: Iterable[Row]) -> list[ip_text.Network]:
    """Without default routes, for which all else is more specific."""
    found = (networks.parse_interface(columns.atom(route, 'ip_prefix'))
             for route in routes)
    return [each.network for each in found if each and each.network.prefixlen]


def _objection(router: Row, here: list[ip_text.Interface]) -> str:
    """See :attr:`Router.objection`."""
    chassis = columns.entry(router, 'options', 'chassis')
    if chassis:
        return wording.one_line(
            f'this router is bound to a chassis (options:chassis={chassis}), '
            'as Neutron does for a tunnelled external network, and OVN passes '
            'no packets between it and a peer; give it another external '
            'network, or remove the peering')
    return '' if here else (
        'this router has no network of machines; connect a subnet to it')


def _label(row: Row) -> str:
    return columns.entry(row, 'external_ids', directory.NEUTRON_NAME) or ''


def called(row: Row) -> str:
    """The name of a router for messages."""
    label, name = _label(row), columns.atom(row, 'name')
    return wording.one_line(f'{label} ({name})' if label else name)


def is_uplink(port: Row) -> bool:
    """Whether a port leads to a provider network."""
    key, value = _GATEWAY
    return bool(columns.referenced(port, 'gateway_chassis') or
                columns.referenced(port, 'ha_chassis_group') or
                columns.entry(port, 'external_ids', key) == value)


def _is_internal(port: Row) -> bool:
    return not is_uplink(port) and not columns.atom(port, 'peer')


def interfaces(ports: Iterable[Row]) -> list[ip_text.Interface]:
    """The addresses of ports with their networks, but link-local ones."""
    found = (networks.parse_interface(text) for port in ports
             for text in rows.networks(port)[0])
    return [each for each in found if each and not (
        each.version == 6 and each.is_link_local)]


def _lowest(here: list[ip_text.Interface]) -> tuple[tuple[int, str], ...]:
    return tuple(
        (family, str(min(same))) for family in networks.VERSIONS
        if (same := [each.ip for each in here if each.version == family]))


def _sorted(nets: Iterable[ip_text.Network]) -> tuple[ip_text.Network, ...]:
    return tuple(sorted(set(nets), key=prefixes.key))
