# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What a replica and its server have to agree on.  Pure.

A server sends all updates before an answer on the same connection, so the
answer and the replica have to agree exactly at that moment.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import functools
import itertools
import operator
import typing
from typing import Any
import uuid

from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb import query
from ovn_network_agent.ovsdb.columns import Row
from ovn_network_agent.ovsdb.columns import Rows
from ovn_network_agent.ovsdb.columns import Tables
from ovn_network_agent.ovsdb.columns import Uuid

#: Table and UUID of a row.
Place = tuple[str, Uuid]

# By table of NB the columns that decide about announcements.
_COLUMNS = {'Logical_Router': ('nat', 'ports', 'load_balancer',
                               'load_balancer_group', 'external_ids',
                               'options'),
            'Logical_Switch': ('name', 'external_ids'),
            'Load_Balancer': ('vips', 'external_ids', 'options'),
            'Load_Balancer_Group': ('load_balancer',),
            'Logical_Router_Port': ('name', 'networks', 'external_ids',
                                    'options'),
            'NAT': ('type', 'external_ip', 'logical_ip', 'external_mac',
                    'logical_port', 'external_ids', 'options'),
            'Gateway_Chassis': ('chassis_name', 'priority'),
            'HA_Chassis_Group': ('ha_chassis',),
            'HA_Chassis': ('chassis_name', 'priority')}
_ANNOUNCED = ('Logical_Router', 'Logical_Router_Port', 'NAT', 'Load_Balancer',
              'Load_Balancer_Group', 'Logical_Switch')


class Comparison(typing.NamedTuple):
    """Rows of one table that a replica and its server have to agree on."""

    table: str
    # The clauses of each select; a row counts if one select finds it.
    selects: Sequence[Sequence[Sequence[Any]]]
    expected: Callable[[Tables], Rows]  # the rows of the replica
    columns: tuple[str, ...] = ()  # those to compare

    def difference(self, found: Rows, tables: Tables) -> str:
        """The first difference from the server's rows, in JSON, or ''."""
        there = self.expected(tables)
        for key in found.keys() ^ there.keys():
            return (f'{self.table} {key} is '
                    f'{"missing" if key in found else "there no more"}')
        for key, row in found.items():
            for column in self.columns:
                if _atoms(row[column]) != _atoms(
                        columns.in_json(there[key], column)):
                    return f'{self.table} {key}, column {column}'
        return ''


def operations(compared: Iterable[Comparison]
               ) -> list[query.Operation]:
    """What to ask the server."""
    return [query.select(each.table, *clauses,
                         columns=('_uuid', *each.columns))
            for each in compared for clauses in each.selects]


def difference(compared: Iterable[Comparison], answers: query.Answers,
               tables: Tables) -> str:
    """The first difference of the replica from the answers, or ''."""
    left = iter(answers)
    for each in compared:
        found = {uuid.UUID(row['_uuid'][1]): row
                 for answer in itertools.islice(left, len(each.selects))
                 for row in answer}
        wrong = each.difference(found, tables)
        if wrong:
            return wrong
    return ''


def of_chassis(sb: Tables, chassis: str, machines: bool
               ) -> Iterator[Comparison]:
    """The row of a chassis, and the gateways' ports bound to it.

    :param machines: whether those of machines count, too
    """
    def named(tables: Tables) -> Rows:
        return {key: row for key, row in tables['Chassis'].items()
                if row.name == chassis}

    def bound(tables: Tables) -> Rows:
        return {key: row for key, row in tables['Port_Binding'].items()
                if (machines or row.type == 'chassisredirect') and
                not own.isdisjoint(columns.referenced(row, 'chassis'))}

    own = set(named(sb))
    kinds = [] if machines else [['type', '==', 'chassisredirect']]
    yield Comparison('Chassis', [[['name', '==', chassis]]], named)
    yield Comparison(
        'Port_Binding', [[*kinds, ['chassis', '==', ['uuid', str(each)]]]
                         for each in own], bound)
    if machines:
        # Without its localnet port, a network is no provider network.
        yield Comparison('Port_Binding', [[['type', '==', 'localnet']]],
                         lambda tables: {
                             key: row for key, row
                             in tables['Port_Binding'].items()
                             if row.type == 'localnet'})


def of_routers(nb: Tables, routers: Iterable[str],
               others: Iterable[Place]) -> Iterator[Comparison]:
    """The rows of routers, ports, NAT, load balancers, and others."""
    wanted: dict[str, set[Uuid]] = {}
    for table, each in itertools.chain(others, *(
            _of_router(nb, uuid.UUID(router)) for router in routers)):
        wanted.setdefault(table, set()).add(each)
    for table, uuids in wanted.items():
        yield Comparison(
            table, [[['_uuid', '==', ['uuid', str(each)]]] for each in uuids],
            functools.partial(_present, table, uuids),
            _columns(nb, table, _COLUMNS[table]))


def _present(table: str, uuids: Iterable[Uuid], tables: Tables) -> Rows:
    return {each: tables[table][each] for each in uuids
            if each in tables[table]}


def of_announcements(nb: Tables) -> list[Comparison]:
    """All rows that decide about announcements."""
    return [of_table(nb, table, wanted=_COLUMNS[table])
            for table in _ANNOUNCED if table in nb]


def of_table(replica: Tables, table: str,
             clauses: Iterable[Sequence[Any]] = (),
             wanted: Iterable[str] | None = None) -> Comparison:
    """All rows of a table.

    :param clauses: by which the replica was chosen: one of them is true
    :param wanted: None for all columns in the replica
    """
    return Comparison(table, [[each] for each in clauses] or [[]],
                      operator.itemgetter(table),
                      _columns(replica, table, wanted))


def torn(nb: Tables, router: str) -> bool:
    """Whether a router refers to missing rows, a fault of the replica.

    A server has each row that another refers to.
    """
    return any(each not in nb[table]
               for table, each in _of_router(nb, uuid.UUID(router)))


def torn_groups(nb: Tables) -> list[Place]:
    """Rows that gateway groups refer to and that the replica lacks.

    The agent would outrank such a candidate, or never drain it.
    """
    return [(table, each)
            for owner, column, table in (
                ('Logical_Router_Port', 'gateway_chassis',
                 'Gateway_Chassis'),
                ('Logical_Router_Port', 'ha_chassis_group',
                 'HA_Chassis_Group'),
                ('HA_Chassis_Group', 'ha_chassis', 'HA_Chassis'))
            for row in nb.get(owner, {}).values()
            for each in columns.referenced(row, column)
            if each not in nb.get(table, {})]


def _of_router(nb: Tables, router: Uuid) -> Iterator[Place]:
    """The row of a router, and the rows that it refers to."""
    yield 'Logical_Router', router
    row = nb['Logical_Router'].get(router)
    if row is None:
        return
    for column, table in (('nat', 'NAT'), ('ports', 'Logical_Router_Port'),
                          ('load_balancer', 'Load_Balancer'),
                          ('load_balancer_group', 'Load_Balancer_Group')):
        for each in columns.referenced(row, column):
            yield table, each
    for each in columns.referenced(row, 'load_balancer_group'):
        group: Row = nb['Load_Balancer_Group'].get(each)
        for member in ([] if group is None else
                       columns.referenced(group, 'load_balancer')):
            yield 'Load_Balancer', member


def _columns(replica: Tables, table: str,
             wanted: Iterable[str] | None) -> tuple[str, ...]:
    """The wanted columns that a row shows; None for all in the replica."""
    row = next(iter(replica[table].values()), None)
    if row is None:
        return ()
    there = columns.names(row)
    return tuple(there if wanted is None else (
        column for column in wanted if column in there))


def _atoms(value: Any) -> set[str]:
    """The members of a column's value in JSON; a single member has no set."""
    if isinstance(value, list) and value[0] in ('set', 'map'):
        return {str(member) for member in value[1]}
    return {str(value)}
