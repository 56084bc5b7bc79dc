# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The rows of NB by which two routers peer: wanted, and there."""

import collections
from collections.abc import Iterable
from collections.abc import Iterator
import dataclasses
import functools
import re
from typing import Any

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.ovn.writes import marked_rows
from ovn_network_agent.ovn.writes.marked_rows import Found
from ovn_network_agent.ovn.writes.marked_rows import Values
from ovn_network_agent.ovn.writes.marked_rows import only
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb.columns import Row
from ovn_network_agent.ovsdb.columns import Tables

PORT, ROUTE, POLICY, SET = COLUMNS = resources.PEERING_COLUMNS
#: the columns of a router that refer to its rows
REFERENCES = {PORT: 'ports', ROUTE: 'static_routes', POLICY: 'policies'}
# The columns with the name of a port, which names both routers.
_NAMED = {PORT: 'name', ROUTE: 'output_port'}
_UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'
_PORT_NAME = re.compile(f'ona-peer-({_UUID})-({_UUID})')


def wanted(peering: resources.Peering) -> list[Values]:
    """The values of all rows of a peering."""
    one, other = peering.sides
    return [*_of_side(one, other), *_of_side(other, one)]


def found(nb: Tables) -> dict[marked_rows.Key, list[Found]]:
    """All rows of peerings, by (pair,); see :func:`pair_at`."""
    there: dict[marked_rows.Key, list[Found]] = collections.defaultdict(
        list)
    for router in nb['Logical_Router'].values():
        for table, column in REFERENCES.items():
            for row in columns.rows(router, column):
                pair = pair_at(str(router.uuid), table, row)
                if pair:
                    there[pair,].append(Found(LAYOUT, table, row, router))
    for row in nb.get(SET, {}).values():
        pair = pair_of(row)
        if pair:
            there[pair,].append(Found(LAYOUT, SET, row))
    return dict(there)


def port_name(router: str, other: str) -> str:
    """The name of the port of a router to another one, by their UUIDs."""
    return f'ona-peer-{router}-{other}'


def ends(port: str) -> tuple[str, str] | None:
    """The two routers in the name of a port by :func:`port_name`, if any."""
    found = _PORT_NAME.fullmatch(port)
    return (found[1], found[2]) if found else None


def pair_at(router: str, table: str, row: Row) -> str:
    """The peering that a row of a router belongs to, or ''.

    Somebody may clear a mark; the port's name tells for port and routes.
    """
    pair = pair_of(row)
    named = (ends(columns.atom(row, _NAMED[table]))
             if table in _NAMED and not pair else None)
    return (ownership.peer_pair(*named) if named and named[0] == router
            else pair)


def pair_of(row: Row) -> str:
    """The peering whose mark a row has, or ''."""
    return ownership.peer_of(columns.entries(row, 'external_ids'))


def read(nb: Tables) -> Iterator[resources.Peering]:
    """The peerings of which there is at least one row."""
    for (pair,), rows in found(nb).items():
        yield _read(str(pair), [each.values for each in rows])


def _read(pair: str, there: list[Values]) -> resources.Peering:
    one, _tilde, other = pair.partition('~')
    peering = resources.Peering(pair, (_side(one, there),
                                       _side(other, there)))
    if collections.Counter(wanted(peering)) == collections.Counter(there):
        return peering
    # Missing, doubled or foreign: no port is without a MAC.
    left, right = (dataclasses.replace(side, mac='')
                   for side in peering.sides)
    return dataclasses.replace(peering, sides=(left, right))


def _of_side(side: resources.PeerSide,
             other: resources.PeerSide) -> Iterator[Values]:
    def row(table: str, *values: Iterable[Any]) -> Values:
        return Values(table, side.router,
                      tuple(map(marked_rows.atoms_of, values)))
    if side.port:
        yield row(PORT, [side.port], [side.mac], side.networks,
                  [other.port], [])
    for prefix, nexthop in side.routes:
        yield row(ROUTE, [prefix], [nexthop], [side.port], [], [])
    for policy in side.policies:
        yield row(POLICY, [policy.match], [policy.priority], [policy.action])
    for name, addresses in side.address_sets:
        yield row(SET, [name], addresses)


def _side(router: str, there: list[Values]) -> resources.PeerSide:
    of = collections.defaultdict(list)
    for each in there:
        if each.router == router:
            of[each.table].append(each.atoms)
    name, mac, networks, *_rest = min(of[PORT], default=((), (), ()))
    return resources.PeerSide(
        router, only(name), only(mac), networks,
        tuple(sorted((only(prefix), only(nexthop))
                     for prefix, nexthop, *_rest in of[ROUTE])),
        tuple(sorted(resources.PeerPolicy(
            only(priority, 0), only(match), only(action))
            for match, priority, action in of[POLICY])),
        tuple(sorted((only(name), addresses)
                     for name, addresses in of[SET])))


LAYOUT = marked_rows.Layout(
    'peering', COLUMNS, REFERENCES, ownership.EXT_ID_PEER,
    ownership.EXT_ID_PEER_SIDE, named=(PORT, SET),
    owner=lambda peering: peering.pair,
    routers=lambda peering: [side.router for side in peering.sides],
    wanted=wanted, found=found)
set_rows = functools.partial(marked_rows.SetRows[resources.Peering], LAYOUT)
remove_rows = functools.partial(
    marked_rows.RemoveRows[resources.Peering], LAYOUT)
