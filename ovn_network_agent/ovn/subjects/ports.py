# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The addresses of machines on provider networks of this chassis.  Pure."""

import collections
from collections.abc import Iterable
import operator
import typing

from ovn_network_agent import model
from ovn_network_agent.common import bucketed_mapping
from ovn_network_agent.common import ip_text
from ovn_network_agent.model import selection
from ovn_network_agent.ovn import inputs
from ovn_network_agent.ovn import queries
from ovn_network_agent.ovn import rows
from ovn_network_agent.ovn.subjects import policies
from ovn_network_agent.ovn.subjects import provider_networks
from ovn_network_agent.ovn.subjects import segments
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb.columns import Uuid

_BINDING = 'Port_Binding'
# Seconds in which the target of a live migration takes a port over.
BETWEEN = 1.0
# Rows of routers that have an address before a machine; for people.
_CLAIMS = {'NAT': 'a NAT row of a router', 'Logical_Router_Port':
           'a router port'}


class _Machine(typing.NamedTuple):
    """What the row of a port gives."""

    name: str
    addresses: tuple[model.PortAddress, ...] = ()
    problems: tuple[str, ...] = ()


class Ports:
    """Keeps the addresses of machines up to date."""

    def __init__(self, found: queries.Queries, known: inputs.Inputs,
                 located: segments.Segments,
                 places: provider_networks.ProviderNetworks) -> None:
        self._rows = found
        self._inputs = known
        self._segments = located
        self._places = places
        self._needs = segments.OwnNeeds(found, known)
        found.read_by_many(self._places.network)
        found.read_by_many(self._holders)
        # By row of Port_Binding, and those with problems.
        self._present: dict[Uuid, _Machine] = {}
        self._faulty: dict[Uuid, _Machine] = {}
        # Until when those stay that no chassis has, monotonic seconds.
        self._between: dict[Uuid, float] = {}
        self._forgotten = True
        #: these two as in model.Snapshot
        self.networks: dict[str, model.ProviderNetwork] = {}
        self.machines: dict[
            str, bucketed_mapping.Buckets[model.PortAddress]] = {}

    @property
    def problems(self) -> tuple[str, ...]:
        """What is malformed in the rows of ports."""
        return tuple(sorted(problem for each in self._faulty.values()
                            for problem in each.problems))

    def forget(self) -> None:
        """Have all rows looked at by the next update."""
        self._forgotten = True

    def due_in(self, now: float) -> float | None:
        """Seconds until a port may go by time alone, or None."""
        return (max(0.0, min(self._between.values()) - now)
                if self._between else None)

    def update(self, changed: Iterable[Uuid], now: float = 0.0) -> None:
        """Look at rows of Port_Binding that may differ; monotonic seconds."""
        chassis = self._inputs.wiring.chassis
        on = self._rows.index('sb', _BINDING, 'machine on')
        outdated = {*changed, *(
            uuid for (uuid,) in self._rows.outdated(self._machine))}
        outdated.update(self._between)
        if self._forgotten:
            outdated |= {*self._present, *on.find(chassis)}
            self._forgotten = False
        before = {uuid: self._present[uuid] for uuid in outdated
                  if uuid in self._present}
        for uuid in outdated:
            if chassis in on.keys_of(uuid):
                self._present[uuid] = _arrived(
                    self._present.get(uuid),
                    self._rows.ask(self._machine, uuid))
                self._between.pop(uuid, None)
            elif uuid in before and not self._stays(uuid, now):
                self._rows.drop(self._machine, uuid)
                del self._present[uuid]
                self._between.pop(uuid, None)
        after = {uuid: self._present[uuid] for uuid in outdated
                 if uuid in self._present}
        self._faulty = {uuid: each for uuid, each in {
            **self._faulty, **before, **after}.items()
            if each.problems and uuid in self._present}
        self._replace(
            [each for uuid, known in before.items()
             if known is not after.get(uuid) for each in known.addresses],
            [each for uuid, known in after.items()
             if known is not before.get(uuid) for each in known.addresses])

    def _stays(self, uuid: Uuid, now: float) -> bool:
        """Whether a port stays here although its row does not say so.

        SB lost this chassis' row, or a live migration ends.
        """
        if self._present[uuid].name in self._inputs.wiring.held:
            return True
        row = self._rows.present('sb', _BINDING, uuid)
        return row is not None and rows.is_between(
            row, self._inputs.wiring.chassis) and (
                now < self._between.setdefault(uuid, now + BETWEEN))

    def _replace(self, previous: Iterable[model.PortAddress],
                 present: Iterable[model.PortAddress]) -> None:
        removed: dict[str, list[str]] = collections.defaultdict(list)
        added: dict[str, dict[str, model.PortAddress]] = (
            collections.defaultdict(dict))
        for each in previous:
            removed[each.network.uuid].append(_key(each))
        for each in present:
            added[each.network.uuid][_key(each)] = each
        if not removed and not added:
            return
        machines = {**self.machines, **{
            uuid: self.machines.get(uuid, bucketed_mapping.EMPTY).changed(
                removed[uuid], added[uuid]) for uuid in {*removed, *added}}}
        self.machines = {uuid: each for uuid, each in machines.items() if each}
        found = {**self.networks,
                 **{each.network.uuid: each.network for each in present}}
        found = {uuid: found[uuid] for uuid in self.machines}
        if found != self.networks:
            self.networks = found

    def network_of(self, binding: columns.Row) -> model.ProviderNetwork | None:
        """The provider network of a port, which may be on another chassis."""
        known = self._of(binding)
        return known.network if known else None

    # -- functions of rows ------------------------------------------------

    def _machine(self, uuid: Uuid) -> _Machine:
        row = self._rows.row('sb', _BINDING, uuid)
        if row is None:
            return _Machine('')
        name, known = str(columns.atom(row, 'logical_port')), self._of(row)
        if known is None:
            return _Machine(name)
        found, bad = self._found(row)
        # Of the row that is read.
        policy = policies.of(self._rows.index('sb', _BINDING, 'policy'), uuid)
        return _Machine(name, tuple(
            each for address, mac in found.items() if (
                each := self._address(row, name, address, mac, known, policy))
        ), (*bad, *rows.subnets(row)[1], *policy.problems))

    def _found(self, row: columns.Row
               ) -> tuple[dict[str, str], tuple[str, ...]]:
        """See :func:`rows.machine`; a virtual IP's port knows its machine."""
        chosen = self._inputs.chosen.machines
        if chosen is None or (self._inputs.wiring.chassis not in
                              rows.machine_chassis(row)):
            return {}, ()
        own, bad = rows.machine(row, False)
        if not chosen.pairs:
            return own, bad
        found, bad = rows.machine(row, True)
        virtual = self._rows.find('sb', _BINDING, 'virtual')
        return {address: mac for address, mac in found.items()
                if address in own or not virtual.find(address)}, bad

    def _address(self, of: columns.Row, name: str, address: str, mac: str,
                 known: provider_networks.Network,
                 own: policies.Policy) -> model.PortAddress | None:
        claim = self._claim(of, address, known.network)
        if claim is None:
            return None
        chosen, row = self._inputs.chosen.selected, known.row
        tag = chosen.tag(own.tags, row.statement.tags, frozenset(), row.names)
        here = self._inputs.wiring.chassis
        return model.PortAddress(
            known.network, name, address, mac, tag.number or None,
            chosen.objection(selection.Subject(
                address, own.own, (), row.statement.own, own.native,
                network_names=row.names)) or (
                    '' if known.network.vni else
                    self._needs.objection(ip_text.network(address))),
            claim, rows.chassis_name(of) == here, rows.runs_on(of, here))

    def _claim(self, of: columns.Row, address: str,
               network: model.ProviderNetwork) -> str | None:
        """What else has an address and comes first (ADR 41), '' for nothing.

        None for another machine with the pair: one of them has the address.
        """
        (datapath,) = columns.referenced(of, 'datapath')
        for table, called in _CLAIMS.items():
            if self._segments.has(datapath, table, address):
                return called
        others = self._rows.find('sb', _BINDING, 'ip').find(address)
        if {*others} <= {of.uuid}:
            return ''
        first, name, is_pair = self._rows.ask(self._holders, address).get(
            network.domain, (of.uuid, '', False))
        if first == of.uuid:
            return ''
        return None if is_pair else f'port {name}'

    def _holders(self, address: str) -> dict[int, tuple[Uuid, str, bool]]:
        """The first port of each domain with an address; whether as a pair.

        Tenants may all have the same addresses: no port looks at each other.
        """
        found: dict[int, tuple[Uuid, str, bool]] = {}
        uuids = sorted(self._rows.find('sb', _BINDING, 'ip').find(address))
        for is_pair, row in sorted(
                ((address not in rows.machine(row, False)[0], row)
                 for row in self._rows.rows('sb', _BINDING, uuids)),
                key=operator.itemgetter(0)):
            place = self._of(row) if address in self._found(row)[0] else None
            if place is not None:
                found.setdefault(place.network.domain, (
                    row.uuid, str(columns.atom(row, 'logical_port')), is_pair))
        return found

    def _of(self, row: columns.Row) -> provider_networks.Network | None:
        """The provider network of a port, None without any."""
        (datapath,) = columns.referenced(row, 'datapath') or (None,)
        return datapath and self._rows.ask(self._places.network, datapath)


def _arrived(before: _Machine | None, now: _Machine) -> _Machine:
    """A port, announced at once by the target of a live migration.

    OVN has its flows there; it waits for no "up" when no other has the port.
    """
    if before is None or all(each.bound for each in before.addresses):
        return now
    return now._replace(addresses=tuple(
        each._replace(announced=each.announced or each.bound)
        for each in now.addresses))


def _key(found: model.PortAddress) -> str:
    """Several machines may have the same address."""
    return (f'{found.address} ({found.port})' if found.claimed
            else found.address)
