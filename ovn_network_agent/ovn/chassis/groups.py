# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The gateway groups that this chassis is a candidate of.  Pure."""

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator

from ovn_network_agent import model
from ovn_network_agent.common import ip_text
from ovn_network_agent.ovn import inputs
from ovn_network_agent.ovn import queries
from ovn_network_agent.ovn import rows
from ovn_network_agent.ovn.subjects import addresses
from ovn_network_agent.ovn.subjects import provider_networks
from ovn_network_agent.ovn.subjects import segments
from ovn_network_agent.ovn.subjects import tenant_hosts
from ovn_network_agent.ovn.subjects import tenant_networks
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb.columns import Row
from ovn_network_agent.ovsdb.columns import Uuid

# Types of tunnels between chassis, the preferred type first.
_ENCAPS = ('geneve', 'vxlan')
_DRAINED = frozenset({model.Fact.ZERO_SINCE_START})
_ROUTER = 'Logical_Router'
_PORT = 'Logical_Router_Port'
_Tunnel = tuple[str, str]  # address and type


class Groups:
    """The gateway groups, by functions of rows (:mod:`ovn.queries`)."""

    def __init__(self, found: queries.Queries, known: inputs.Inputs,
                 located: segments.Segments,
                 behind: tenant_networks.TenantNetworks,
                 vips: tenant_hosts.TenantVips,
                 places: provider_networks.ProviderNetworks) -> None:
        self._rows = found
        self._inputs = known
        self._segments = located
        self._networks = behind
        self._vips = vips
        self._places = places
        self._drained: set[str] = set()

    def known(self, every: Collection[model.GatewayGroup],
              first: bool) -> Iterator[model.GatewayGroup]:
        """The groups to follow, with what was known at the start."""
        for group in every:
            own = group.candidate(self._inputs.wiring.chassis)
            if own is not None and own.priority > 0:
                self._drained.discard(group.key)
            elif first:
                self._drained.add(group.key)
            if any(self._inputs.follows(port.redirect)
                   for port in group.ports):
                yield (group._replace(facts=_DRAINED)
                       if group.key in self._drained else group)

    def all(self) -> tuple[model.GatewayGroup, ...]:
        """The groups that this chassis is a candidate of."""
        return tuple(self._rows.ask(self._group, *key)
                     for key in sorted(set(self._keys())))

    def _keys(self) -> Iterator[tuple[str, Uuid]]:
        """Table and UUID of the rows with the members."""
        chassis = self._inputs.wiring.chassis
        ports = self._rows.find('nb', _PORT, 'member')
        for uuid in self._rows.find('nb', 'Gateway_Chassis',
                                    'chassis').find(chassis):
            for port in self._rows.rows('nb', _PORT, ports.find(uuid)):
                if rows.members(port, self._rows.referred)[1] is port:
                    yield 'Gateway_Chassis', port.uuid
        shared = self._rows.find('nb', 'HA_Chassis_Group', 'member')
        for uuid in self._rows.find('nb', 'HA_Chassis',
                                    'chassis').find(chassis):
            for group in shared.find(uuid):
                yield 'HA_Chassis_Group', group

    def _group(self, table: str, uuid: Uuid) -> model.GatewayGroup:
        if table == 'HA_Chassis_Group':
            owner = self._rows.row('nb', table, uuid)
            members = self._rows.referred(owner, 'ha_chassis')
            ports = self._rows.rows('nb', _PORT, self._rows.find(
                'nb', _PORT, 'group').find(uuid))
        else:
            owner = self._rows.row('nb', _PORT, uuid)
            members = self._rows.referred(owner, 'gateway_chassis')
            ports = [owner]
        by_port = self._rows.find('nb', _ROUTER, 'port')
        redirects = [(port, redirect) for port in ports
                     if (redirect := self._segments.redirect(
                         columns.atom(port, 'name'))) is not None]
        applied = self._applied(redirect for _port, redirect in redirects)
        return model.GatewayGroup(
            table, str(uuid), columns.atom(owner, 'name'),
            tuple(sorted((self._candidate(member, applied)
                          for member in members), key=lambda c: c.chassis)),
            tuple(sorted((self._port(*each) for each in redirects),
                         key=lambda port: port.redirect)),
            tuple(sorted({str(router) for port in ports
                          for router in by_port.find(port.uuid)})))

    def _applied(self, redirects: Iterable[Row]) -> dict[str, int]:
        """The order in SB: priority by name of the chassis, the highest.

        Ports may differ until ovn-northd has copied the order of all.
        """
        applied: dict[str, int] = {}
        for redirect in redirects:
            for name, priority in rows.order(
                    redirect, self._rows.referred).items():
                applied[name] = max(priority, applied.get(name, 0))
        return applied

    def _candidate(self, member: Row,
                   applied: dict[str, int]) -> model.Candidate:
        name = columns.atom(member, 'chassis_name')
        known = self._rows.find('sb', 'Chassis', 'name').first(name)
        # A thousand groups have the same few chassis.
        tunnels = self._rows.ask(self._tunnels, name)
        address, encap = tunnels[0] if tunnels else ('', '')
        return model.Candidate(
            name, columns.atom(member, 'priority'), known is not None,
            address, encap, *rows.lowered(member),
            applied=applied.get(name),
            further=tuple(each for each, _encap in tunnels[1:]))

    def _tunnels(self, chassis: str) -> list[_Tunnel]:
        """The tunnels of a chassis, the preferred one first."""
        found = self._rows.rows('sb', 'Encap', self._rows.find(
            'sb', 'Encap', 'name').find(chassis))
        return sorted(((row.ip, row.type) for row in found
                       if row.type in _ENCAPS and is_address(row.ip)),
                      key=_preference)

    def _port(self, row: Row, redirect: Row) -> model.GroupPort:
        name = columns.atom(row, 'name')
        routers = sorted(self._rows.find('nb', _ROUTER,
                                         'port').find(row.uuid))
        return model.GroupPort(
            columns.atom(redirect, 'logical_port'),
            rows.chassis_name(redirect, self._rows.referred), name,
            rows.networks(row)[0],
            self._rows.ask(self._segments.segment, name),
            tuple(sorted({tenant for router in routers
                          for tenant in self._rows.ask(
                              addresses.tenants, self._rows, router)})),
            self._inputs.leaves and any(
                self._rows.find('nb', _ROUTER, 'routed').keys_of(router)
                for router in routers),
            tuple(sorted({prefix for router in routers for prefix
                          in self._networks.routed(router)})),
            tuple(sorted({prefix for router in routers for prefix
                          in self._vips.balanced(router)})),
            self._rows.ask(self._places.vni, self._rows.ask(
                self._segments.datapath, name))[0])


def is_address(text: str) -> bool:
    """Whether a text is an address that a packet could be sent to."""
    try:
        ip_text.address(text)
    except ValueError:
        return False
    return True


def _preference(tunnel: _Tunnel) -> tuple[int, int, int]:
    """Sort key of a tunnel: type, IP version, then address as a number."""
    address, encap = tunnel
    ip = ip_text.address(address)
    return (_ENCAPS.index(encap), ip.version, int(ip))
