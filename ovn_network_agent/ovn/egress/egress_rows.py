# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The rows of NB of egress addresses: wanted, and there.

An entry in external_ids of NB_Global has the addresses of a node's links, and
says that the node is ready to be chosen.
"""

import collections
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
import dataclasses
import functools
from typing import Any

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.common import networks
from ovn_network_agent.ovn.writes import commands
from ovn_network_agent.ovn.writes import marked_rows
from ovn_network_agent.ovn.writes.marked_rows import Found
from ovn_network_agent.ovn.writes.marked_rows import Values
from ovn_network_agent.ovn.writes.marked_rows import atoms_of
from ovn_network_agent.ovn.writes.marked_rows import only
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb.columns import Row
from ovn_network_agent.ovsdb.columns import Tables

NAT, POLICY, SET = COLUMNS = resources.EGRESS_COLUMNS
_REFERENCES = {NAT: 'nat', POLICY: 'policies'}


def wanted(rows: resources.EgressRows) -> list[Values]:
    """The values of all rows; a row comes behind those that it refers to."""
    def values(table: str, *atoms: object) -> Values:
        return Values(table, rows.router, tuple(map(atoms_of, atoms)))
    return [
        *(values(SET, name, addresses)
          for name, addresses in rows.address_sets),
        *(values(NAT, nat.machine, 'snat', nat.external, nat.port,
                 nat.destinations, nat.address, nat.chassis)
          for nat in rows.nats),
        *(values(POLICY, policy.match, policy.priority,
                 'reroute' if policy.nexthops else 'allow', policy.nexthops)
          for policy in rows.policies)]


def found(nb: Tables) -> dict[marked_rows.Key, list[Found]]:
    """All rows of egress addresses, by (name, UUID of the router)."""
    there: dict[marked_rows.Key, list[Found]] = collections.defaultdict(
        list)
    for table, column in _REFERENCES.items():
        marked = {uuid: row for uuid, row in nb.get(table, {}).items()
                  if LAYOUT.owner_of(row)}
        for router in nb['Logical_Router'].values() if marked else ():
            for uuid in marked.keys() & columns.referenced(router, column):
                there[LAYOUT.owner_of(marked[uuid]), str(router.uuid)].append(
                    Found(LAYOUT, table, marked[uuid], router))
    for row in nb.get(SET, {}).values():
        name = LAYOUT.owner_of(row)
        if name:
            side = columns.entry(row, 'external_ids', LAYOUT.side) or ''
            there[name, side].append(Found(LAYOUT, SET, row))
    return dict(there)


def read(nb: Tables) -> Iterator[resources.EgressRows]:
    """What is there of all egress addresses."""
    for (name, router), rows in found(nb).items():
        yield _read(str(name), str(router), [each.values for each in rows])


def moves(before: Iterable[resources.EgressRows],
          after: Iterable[resources.EgressRows]) -> int:
    """The number of addresses that come to another router, port or node."""
    previous, present = map(_places, (before, after))
    return sum(previous[key].isdisjoint(present[key])
               for key in previous.keys() & present.keys())


def _places(all_rows: Iterable[resources.EgressRows]
            ) -> dict[tuple[str, str], set[tuple[str, str]]]:
    """By object and address, the routers with their port or node."""
    found = collections.defaultdict(set)
    for rows in all_rows:
        for nat in rows.nats:
            found[rows.name, nat.address or nat.external].add(
                (rows.router, nat.chassis or nat.port))
    return found


def _read(name: str, router: str,
          there: list[Values]) -> resources.EgressRows:
    of = collections.defaultdict(list)
    for each in there:
        of[each.table].append(each.atoms)
    rows = resources.EgressRows(
        name, router,
        tuple(sorted(resources.EgressNat(
            only(machine), only(external), only(port), only(destinations),
            only(address), only(chassis))
            for machine, _type, external, port, destinations, address, chassis
            in of[NAT])),
        tuple(sorted(resources.EgressPolicy(
            only(priority, 0), only(match), nexthops)
            for match, priority, _action, nexthops in of[POLICY])),
        tuple(sorted((only(called), addresses)
                     for called, addresses in of[SET])))
    if collections.Counter(wanted(rows)) == collections.Counter(there):
        return rows
    # A row has what no value has: no machine is without an address.
    return dataclasses.replace(
        rows, nats=(resources.EgressNat('', ''), *rows.nats))


LAYOUT = marked_rows.Layout(
    'egress address', COLUMNS, _REFERENCES, ownership.EXT_ID_EGRESS,
    ownership.EXT_ID_EGRESS_ROUTER, named=(SET,),
    owner=lambda rows: rows.name, routers=lambda rows: [rows.router],
    wanted=wanted, found=found,
    refers={(NAT, 'gateway_port'): 'Logical_Router_Port',
            (NAT, 'allowed_ext_ips'): SET},
    keys=(ownership.EXT_ID_EGRESS_ADDRESS, ownership.EXT_ID_EGRESS_CHASSIS))
set_rows = functools.partial(marked_rows.SetRows[resources.EgressRows], LAYOUT)
remove_rows = functools.partial(
    marked_rows.RemoveRows[resources.EgressRows], LAYOUT)

_PREFIX = ownership.EXT_ID_EGRESS_NETWORKS


def read_networks(row: Row) -> dict[str, tuple[str, ...]]:
    """By chassis 'address/length' of its links, sorted; others left out."""
    return {key.removeprefix(_PREFIX): tuple(sorted(filter(
        networks.parse_interface, text.split())))
        for key, text in row.external_ids.items() if key.startswith(_PREFIX)}


class SetNetworks(commands.NorthboundCommand):
    """Give this chassis the wanted entry, or remove it (None).

    :param deleted: names of chassis whose entries are removed as well
    """

    def __init__(self, api: Any, chassis: str,
                 addresses: Collection[str] | None,
                 deleted: Collection[str] = ()) -> None:
        super().__init__(api)
        self._chassis = chassis
        self._addresses = addresses
        self._deleted = deleted

    def run_idl(self, txn: Any) -> None:
        """Change the only row of NB_Global; without it, refuse an entry."""
        self.refused = ''
        for row in self.rows('NB_Global').values():
            # Each key alone, so that agents starting at once do not conflict.
            for chassis in self._deleted:
                row.delkey('external_ids', _PREFIX + chassis)
            if self._addresses:
                row.setkey('external_ids', _PREFIX + self._chassis,
                           ' '.join(self._addresses))
            else:
                row.delkey('external_ids', _PREFIX + self._chassis)
            return
        if self._addresses:
            self.refused = 'the Northbound database has no row NB_Global'
