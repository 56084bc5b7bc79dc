# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Routers and nodes as egress addresses see them, and their health.  Pure."""

from collections.abc import Mapping
import dataclasses
import typing

from ovn_network_agent import ownership
from ovn_network_agent.common import ip_text
from ovn_network_agent.common import networks
from ovn_network_agent.common import wording
from ovn_network_agent.drivers import source
from ovn_network_agent.ovn import rows
from ovn_network_agent.ovn.chassis import groups
from ovn_network_agent.ovn.peering import peer_routers
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb.columns import Row

TABLE = ('file', 'egress_unreachable')
_FORGIVEN = 1  # failures in a row that do not count, after an answer


class Unreachable(typing.NamedTuple):
    """A chassis whose agent does not answer, a row of :data:`TABLE`."""

    uuid: str  # the key of the row: the name of the chassis
    why: str


@dataclasses.dataclass(frozen=True, slots=True)
class Health:
    """What the probes of all rounds have found, by chassis."""

    # Failures in a row; a chassis that has never answered begins at the limit.
    failures: Mapping[str, int] = dataclasses.field(default_factory=dict)
    # The rows of the table; the same mapping while nothing changes.
    unreachable: Mapping[str, Unreachable] = dataclasses.field(
        default_factory=dict)

    def after(self, found: Mapping[str, str]) -> 'Health':
        """After a round: why a chassis gave no good answer, '' for one."""
        failures = {chassis: self.failures.get(chassis, _FORGIVEN) + 1
                    if why else 0 for chassis, why in found.items()}
        rows = {chassis: Unreachable(chassis, found[chassis])
                for chassis, number in failures.items() if number > _FORGIVEN}
        return Health(failures, self.unreachable if rows == self.unreachable
                      else rows)


def targets(nb: columns.Tables, sb: columns.Tables
            ) -> dict[str, tuple[str, ...]]:
    """The addresses of tunnels, by chassis that can have egress addresses."""
    prefix = ownership.EXT_ID_EGRESS_NETWORKS
    found: dict[str, set[str]] = {
        key.removeprefix(prefix): set() for row in nb['NB_Global'].values()
        for key in row.external_ids if key.startswith(prefix)}
    for row in sb['Encap'].values():
        if row.chassis_name in found and groups.is_address(row.ip):
            found[row.chassis_name].add(row.ip)
    return {chassis: tuple(sorted(addresses))
            for chassis, addresses in sorted(found.items())}


ROUTER = peer_routers.ROUTER
PORT = peer_routers.PORT
ROUTE = peer_routers.ROUTE
NAT = ('nb', 'NAT')
BALANCER = ('nb', 'Load_Balancer')
GLOBAL = ('nb', 'NB_Global')
BINDING = ('sb', 'Port_Binding')
CHASSIS = ('sb', 'Chassis')


class Gateway(typing.NamedTuple):
    """A port of a router to a provider network."""

    name: str
    networks: tuple[str, ...]  # 'address/len'


class Router(typing.NamedTuple):
    """A router that may have egress addresses."""

    uuid: str
    called: str
    # Names of internal ports, and their networks.
    inner: tuple[tuple[str, tuple[ip_text.Network, ...]], ...] = ()
    gateways: tuple[Gateway, ...] = ()  # sorted by name
    # (port or '', next hop) of default routes, sorted.
    defaults: tuple[tuple[str, str], ...] = ()
    # What it reaches without a default route, sorted.
    inner_networks: tuple[str, ...] = ()

    def nexthop(self, gateway: Gateway, family: int) -> str:
        """Where packets go by a gateway port; the virtual gateway is as good.

        fip_route writes the default route only where the port is.
        """
        nets = networks.of_version(family, gateway.networks)
        for port, nexthop in self.defaults:
            if networks.family(nexthop) == family and (
                    port == gateway.name or
                    not port and networks.inside(nexthop, nets)):
                return nexthop
        return networks.virtual_gateway(gateway.networks, family) or ''


def read(find: source.Find, uuid: str) -> Router | None:
    """The router with a UUID, None without it."""
    for row in find(*ROUTER, 'uuid', uuid):
        ports = sorted((port for each in columns.referenced(row, 'ports')
                        for port in find(*PORT, 'uuid', each)),
                       key=lambda port: str(columns.atom(port, 'name')))
        routes = [route for each in columns.referenced(row, 'static_routes')
                  for route in find(*ROUTE, 'uuid', each)]
        gateways = [port for port in ports if peer_routers.is_uplink(port)]
        return Router(
            uuid, peer_routers.called(row),
            tuple((str(columns.atom(port, 'name')), tuple(
                each.network for each in peer_routers.interfaces([port])))
                for port in ports if port not in gateways),
            tuple(Gateway(columns.atom(port, 'name'), rows.networks(port)[0])
                  for port in gateways),
            tuple(sorted((columns.atom(route, 'output_port'),
                          columns.atom(route, 'nexthop'))
                         for route in routes if _is_default(route))),
            _inner_networks(ports, routes))
    return None


def of_port(find: source.Find, port: str) -> Router | None:
    """The router that has a port, by the name of the port."""
    for row in find(*PORT, 'name', port):
        for router in find(*ROUTER, 'port', row.uuid):
            return find.ask(read, str(router.uuid))
    return None


def _is_default(route: Row) -> bool:
    found = networks.parse_interface(columns.atom(route, 'ip_prefix'))
    return bool(found and not found.network.prefixlen and
                groups.is_address(columns.atom(route, 'nexthop')) and
                not columns.atom(route, 'route_table') and
                columns.atom(route, 'policy') != 'src-ip')


def _inner_networks(ports: list[Row], routes: list[Row]) -> tuple[str, ...]:
    found = {each.network for each in peer_routers.interfaces(ports)}
    found.update(each.network for each in (
        networks.parse_interface(columns.atom(route, 'ip_prefix'))
        for route in routes) if each and each.network.prefixlen)
    return tuple(str(each) for each in sorted(
        found, key=lambda net: (net.version, net)))


def chassis(find: source.Find, port: str) -> str:
    """The chassis that has a gateway port, or ''."""
    for row in find(*BINDING, 'redirect', port):
        for uuid in columns.referenced(row, 'chassis'):
            for each in find(*CHASSIS, 'uuid', uuid):
                return str(columns.atom(each, 'name'))
    return ''


def is_host(text: str) -> bool:
    """Whether an address or prefix is one address."""
    found = networks.parse_interface(text)
    return found is not None and (
        found.network.prefixlen == found.max_prefixlen)


def hostname(find: source.Find, name: str) -> str:
    """The host name of a chassis, or ''."""
    for row in find(*CHASSIS, 'name', name):
        return str(columns.atom(row, 'hostname'))
    return ''


def published(find: source.Find, name: str) -> tuple[str, ...]:
    """The addresses of links, 'address/len', that a node has published."""
    for row in find(*GLOBAL, 'egress', name):
        text = columns.entry(row, 'external_ids',
                             ownership.EXT_ID_EGRESS_NETWORKS + name) or ''
        return tuple(each for each in text.split()
                     if networks.parse_interface(each))
    return ()


def failed(find: source.Find, name: str) -> str:
    """Why a node gets no further addresses, or ''."""
    for row in find(*TABLE, 'chassis', name):
        return wording.one_line(f'its agent is in doubt: {row.why}')
    return ''


def translated(find: source.Find, router: str, address: str,
               egress: tuple[str, ...]) -> str:
    """Which other row of a router translates a machine, or ''.

    Not one to its object's egress address or itself: it may have lost its
    mark.
    """
    for row in find(*NAT, 'translated', address):
        external = columns.atom(row, 'external_ip')
        if all(str(each.uuid) != router
               for each in find(*ROUTER, 'nat', row.uuid)):
            continue
        if columns.atom(row, 'type') == 'dnat_and_snat':
            return f'it has the floating IP {external}, which comes first'
        if external not in (*egress, address):
            return (f'NAT row {row.uuid}, which is no row of an egress '
                    f'address, translates it to {external}; remove the row, '
                    'or take the machine out of the selection')
    return ''


def uplink(row: Row) -> list[bool]:
    """Key of the ports to provider networks."""
    return [True] if peer_routers.is_uplink(row) else []


def outside(find: source.Find, address: str) -> str:
    """Why no node leads an address to a machine, or ''."""
    if networks.inside(address, find.ask(_provider_networks)) or any(
            columns.atom(row, 'logical_ip') != address
            for row in find(*NAT, 'external', address)):
        return ('the address is one of a provider network, so its node would '
                'take it away from there; give the machine another one, or '
                'take mode router')
    return ''


def _provider_networks(find: source.Find) -> frozenset[ip_text.Network]:
    return frozenset(each.network for each in peer_routers.interfaces(
        find(*PORT, 'uplink', True)))


def holder(find: source.Find, address: str, router: str) -> str:
    """Who else has an address, as the end of a sentence, or ''.

    Not a row of one machine of the same router: it may have lost its mark.
    """
    for port in find(*PORT, 'address', address):
        return f'it is the address of port {columns.atom(port, "name")}'
    for row in find(*NAT, 'external', address):
        kind, inner = (columns.atom(row, column)
                       for column in ('type', 'logical_ip'))
        if kind == 'snat' and is_host(inner) and any(
                str(each.uuid) == router
                for each in find(*ROUTER, 'nat', row.uuid)):
            continue
        return (f'it is the address of a NAT row ({row.uuid}, {kind} {inner}) '
                'that is no row of an egress address')
    own = find.ask(read, router)
    if own and any(nexthop == address for _port, nexthop in own.defaults):
        return 'it is the next hop of a default route of the router'
    for row in find(*BALANCER, 'vip', address):
        return ('it is a virtual IP of load balancer '
                f'{columns.atom(row, "name") or row.uuid}')
    return ''
