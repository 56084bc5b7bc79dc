# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""The gateway groups that this chassis is a candidate of.

This part of :mod:`ovn.snapshot` is pure.  Each group is remembered with the
rows that it was built from, and is built again only when such a row changed.
"""

import collections
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
import dataclasses
import functools

from ovn_network_agent import iptext
from ovn_network_agent import model
from ovn_network_agent.model import wiring as wirings
from ovn_network_agent.ovn import indexes
from ovn_network_agent.ovn import marks
from ovn_network_agent.ovn import rows
from ovn_network_agent.ovn import segments as located_segments
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb.columns import Row
from ovn_network_agent.ovsdb.columns import Tables
from ovn_network_agent.ovsdb.columns import Uuid

# Types of tunnels between chassis, the preferred type first.
_ENCAPS = ('geneve', 'vxlan')
# Tables that decide which groups this chassis is a candidate of.
_MEMBERS = ('Logical_Router_Port', 'Gateway_Chassis', 'HA_Chassis_Group',
            'HA_Chassis')
_DRAINED = frozenset({model.Fact.ZERO_SINCE_START})
# Table and UUID of the row with the members.
_Key = tuple[str, Uuid]
# Address and type.
_Tunnel = tuple[str, str]


class Groups:
    """Keeps the gateway groups of this chassis up to date.

    :param follows: whether this agent handles a chassisredirect port
    :param leaves: whether the routers that OVN routes are left to OVN
    """

    def __init__(self, find: indexes.Find, follows: Callable[[str], bool],
                 segments: located_segments.Segments,
                 leaves: Callable[[], bool]) -> None:
        self._find = find
        self._follows = follows
        self._segments = segments
        self._leaves = leaves
        self._wiring = wirings.Wiring()
        self._keys: list[_Key] | None = None
        self._built: dict[_Key, model.GatewayGroup] = {}
        # The last result, None while a group is to be built.
        self._found: tuple[model.GatewayGroup, ...] | None = None
        # From the UUID of a row, or the name of a chassis or router port, to
        # the keys of the groups that were built from it.
        self._depends: dict[Uuid | str, set[_Key]] = (
            collections.defaultdict(set))
        self._router_ports: dict[Uuid, frozenset[tuple[Uuid, bool]]] = {}
        # NAT rows of tenants' networks that no router had yet.
        self._loose: set[Uuid] = set()
        self._first = True
        self._drained: set[_Key] = set()

    def forget(self) -> None:
        """Build everything anew the next time."""
        self._keys = self._found = None
        self._built.clear()
        self._depends.clear()
        self._router_ports.clear()
        self._loose.clear()

    def changed(self, table: str, uuid: Uuid) -> None:
        """Forget the groups that a new, deleted or changed row concerns.

        The caller calls this before and after the update of the indexes.
        """
        if table in _MEMBERS:
            self._keys = self._found = None
        stale = set(self._depends.pop(uuid, ()))
        if table == 'Port_Binding':
            stale |= self._of_binding(uuid)
        elif table == 'Logical_Router_Port':
            stale |= {('HA_Chassis_Group', group) for group in self._find(
                'nb', table, 'group').keys_of(uuid)}
        elif table == 'Logical_Router':
            stale |= self._of_router(uuid)
        elif table == 'NAT':
            stale |= self._of_nat(uuid)
        elif table in ('Chassis', 'Encap'):
            for chassis in self._find('sb', table, 'name').keys_of(uuid):
                stale |= self._depends.get(chassis, set())
        for key in stale:
            self._built.pop(key, None)
            self._found = None

    def _of_binding(self, uuid: Uuid) -> set[_Key]:
        if self._find('sb', 'Port_Binding', 'localnet').keys_of(uuid):
            return set(self._built)
        return {group for name in ('redirect', 'peer')
                for lrp in self._find('sb', 'Port_Binding',
                                      name).keys_of(uuid)
                for group in self._depends.get(lrp, ())}

    def _of_router(self, uuid: Uuid) -> set[_Key]:
        """Groups of ports that a router or OVN has got or lost.

        A router's row changes with every floating IP, its ports do not.
        """
        ports = self._ports_of(uuid)
        before = self._router_ports.get(uuid, frozenset())
        self._router_ports[uuid] = ports
        changed = ports ^ before
        nats = self._find('nb', 'Logical_Router', 'nat')
        found = {nat for nat in self._loose if uuid in nats.find(nat)}
        if found:
            self._loose -= found
            changed = ports | before
        return {group for port, _routed in changed
                for group in self._depends.get(port, ())}

    def _ports_of(self, router: Uuid) -> frozenset[tuple[Uuid, bool]]:
        """The ports of a router, and whether OVN routes each."""
        routed = self._is_left(router)
        return frozenset((port, routed) for port in self._find(
            'nb', 'Logical_Router', 'port').keys_of(router))

    def _is_left(self, router: Uuid) -> bool:
        return bool(self._find('nb', 'Logical_Router', 'routed').keys_of(
            router)) and self._leaves()

    def _of_nat(self, uuid: Uuid) -> set[_Key]:
        """Groups of the router that has got a network of a tenant.

        The row of the router may follow.
        """
        self._loose.discard(uuid)
        if not self._find('nb', 'NAT', 'tenant').keys_of(uuid):
            return set()
        routers = self._find('nb', 'Logical_Router', 'nat').find(uuid)
        if not routers:
            self._loose.add(uuid)
        return {group for router in routers
                for port in self._find('nb', 'Logical_Router',
                                       'port').keys_of(router)
                for group in self._depends.get(port, ())}

    def candidate_groups(self, nb: Tables, sb: Tables,
                         wiring: wirings.Wiring
                         ) -> tuple[model.GatewayGroup, ...]:
        """The groups that this chassis is a candidate of.

        It is the same tuple as the last time while no group has changed.
        """
        if wiring != self._wiring:
            self.forget()
        self._wiring = wiring
        if self._found is None:
            self._found = self._current(nb, sb, wiring)
        return self._found

    def _current(self, nb: Tables, sb: Tables, wiring: wirings.Wiring
                 ) -> tuple[model.GatewayGroup, ...]:
        found = []
        if self._keys is None:
            self._keys = sorted(set(self._find_keys(nb, wiring.chassis)))
        # A thousand groups have the same few chassis.
        tunnels = functools.cache(functools.partial(self._tunnels, sb))
        for key in self._keys:
            if key not in self._built:
                self._built[key] = self._build(nb, sb, key, tunnels)
            group = self._built[key]
            mine = group.candidate(wiring.chassis)
            if mine is not None and mine.priority > 0:
                self._drained.discard(key)
            elif self._first:
                self._drained.add(key)
            if any(self._follows(port.redirect) for port in group.ports):
                found.append(
                    dataclasses.replace(group, facts=_DRAINED)
                    if key in self._drained else group)
        self._first = False
        return tuple(found)

    def _find_keys(self, nb: Tables, chassis: str) -> Iterator[_Key]:
        ports = self._find('nb', 'Logical_Router_Port', 'member')
        for uuid in self._find('nb', 'Gateway_Chassis',
                               'chassis').find(chassis):
            for port in ports.find(uuid):
                row = nb['Logical_Router_Port'].get(port)
                if row is not None and rows.members(row)[1] is row:
                    yield 'Gateway_Chassis', port
        shared = self._find('nb', 'HA_Chassis_Group', 'member')
        for uuid in self._find('nb', 'HA_Chassis', 'chassis').find(chassis):
            for group in shared.find(uuid):
                yield 'HA_Chassis_Group', group

    def _build(self, nb: Tables, sb: Tables, key: _Key,
               tunnels: Callable[[str], list[_Tunnel]]
               ) -> model.GatewayGroup:
        table, uuid = key
        if table == 'HA_Chassis_Group':
            owner = nb[table][uuid]
            members = columns.rows(owner, 'ha_chassis')
            ports: Collection[Uuid] = self._find(
                'nb', 'Logical_Router_Port', 'group').find(uuid)
        else:
            owner = nb['Logical_Router_Port'][uuid]
            members = columns.rows(owner, 'gateway_chassis')
            ports = [uuid]
        names = [columns.atom(member, 'chassis_name') for member in members]
        for used in (uuid, *ports, *(m.uuid for m in members), *names):
            self._depends[used].add(key)
        by_port = self._find('nb', 'Logical_Router', 'port')
        routers = {router for port in ports for router in by_port.find(port)}
        for router in routers:
            self._router_ports[router] = self._ports_of(router)
        applied = self._applied(nb, sb, key, ports)
        return model.GatewayGroup(
            table, str(uuid), columns.atom(owner, 'name'),
            tuple(sorted((
                self._candidate(name, member, applied, tunnels(name))
                for name, member in zip(names, members, strict=True)),
                key=lambda c: c.chassis)),
            tuple(sorted(self._ports(nb, sb, key, ports),
                         key=lambda port: port.redirect)),
            tuple(sorted(str(router) for router in routers)))

    def _applied(self, nb: Tables, sb: Tables, key: _Key,
                 ports: Collection[Uuid]) -> dict[str, int]:
        """The order in SB: priority by name of the chassis.

        Until ovn-northd has copied the order of all ports, the ports may have
        different ones; the highest priority of a chassis counts.
        """
        applied: dict[str, int] = {}
        for uuid in ports:
            redirect = self._find('sb', 'Port_Binding', 'redirect').first(
                columns.atom(nb['Logical_Router_Port'][uuid], 'name'))
            found, used = rows.order(
                sb['Port_Binding'][redirect]) if redirect else ({}, ())
            for each in used:
                self._depends[each].add(key)
            for name, priority in found.items():
                applied[name] = max(priority, applied.get(name, 0))
        return applied

    def _candidate(self, name: str, member: Row, applied: dict[str, int],
                   tunnels: list[_Tunnel]) -> model.Candidate:
        known = self._find('sb', 'Chassis', 'name').first(name)
        address, encap = tunnels[0] if tunnels else ('', '')
        return model.Candidate(
            name, columns.atom(member, 'priority'), known is not None,
            address, encap, *marks.read(member), applied=applied.get(name),
            further=tuple(each for each, _encap in tunnels[1:]))

    def _tunnels(self, sb: Tables, chassis: str) -> list[_Tunnel]:
        """The tunnels of a chassis, the preferred one first."""
        found = [sb['Encap'][uuid] for uuid in self._find(
            'sb', 'Encap', 'name').find(chassis)]
        return sorted(((row.ip, row.type) for row in found
                       if row.type in _ENCAPS and _is_address(row.ip)),
                      key=_preference)

    def _ports(self, nb: Tables, sb: Tables, group: _Key,
               ports: Collection[Uuid]) -> Iterator[model.GroupPort]:
        redirects = self._find('sb', 'Port_Binding', 'redirect')
        for uuid in ports:
            row = nb['Logical_Router_Port'][uuid]
            name = columns.atom(row, 'name')
            self._depends[name].add(group)
            redirect = redirects.first(name)
            if redirect is None:
                continue
            binding = sb['Port_Binding'][redirect]
            located = self._segments.locate(sb['Port_Binding'], self._wiring,
                                            name)
            for used in located.depends:
                self._depends[used].add(group)
            yield model.GroupPort(
                columns.atom(binding, 'logical_port'),
                rows.chassis_name(binding), name,
                rows.networks(row)[0], located.segment,
                self._tenants(group, uuid),
                any(map(self._is_left, self._find(
                    'nb', 'Logical_Router', 'port').find(uuid))))

    def _tenants(self, group: _Key, port: Uuid) -> tuple[str, ...]:
        """Networks of tenants that the router of a port translates."""
        by_port = self._find('nb', 'Logical_Router', 'port')
        nats = self._find('nb', 'Logical_Router', 'nat')
        tenants = self._find('nb', 'NAT', 'tenant')
        found: set[str] = set()
        for router in by_port.find(port):
            for nat in nats.keys_of(router):
                if tenants.keys_of(nat):
                    found.update(tenants.keys_of(nat))
                    self._depends[nat].add(group)
        return tuple(sorted(found))


def _is_address(text: str) -> bool:
    """Whether a text is an address that a relay could lead to."""
    try:
        iptext.address(text)
    except ValueError:
        return False
    return True


def _preference(tunnel: _Tunnel) -> tuple[int, int, int]:
    """Sort key of a tunnel: type, IP version, then address as a number."""
    address, encap = tunnel
    ip = iptext.address(address)
    return (_ENCAPS.index(encap), ip.version, int(ip))
