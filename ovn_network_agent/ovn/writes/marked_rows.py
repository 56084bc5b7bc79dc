# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Rows of NB that only work together, and that a mark makes ours.

They change in one transaction.  Reader and writer share the description: a
composite is as desired only with exactly its value's rows.

A transaction fails if the routers' rows have changed, so no two agents write
twice.
"""

import collections
from collections.abc import Callable
from collections.abc import Hashable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import functools
import typing
from typing import Any
from typing import Generic
from typing import TypeVar
import uuid

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.common import normal_wait
from ovn_network_agent.ovn.writes import commands
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb import command
from ovn_network_agent.ovsdb.columns import Row
from ovn_network_agent.ovsdb.columns import Rows
from ovn_network_agent.ovsdb.columns import Tables

#: Of a resource.
Key = tuple[Hashable, ...]
#: Of one column, sorted.
Atoms = tuple[Any, ...]
_Resource = TypeVar('_Resource', bound=resources.Resource)


class Values(typing.NamedTuple):
    """What one row has in the columns that count."""

    table: str
    router: str  # UUID of the router, as text
    atoms: tuple[Atoms, ...]  # in the order of Layout.columns
    marked: bool = True  # whether it has the mark; all that are wanted do

    @property
    def key(self) -> tuple[str, str, Atoms]:
        """Equal for the value that a row has and the one that it gets."""
        return self.table, self.router, self.atoms[0]


@dataclasses.dataclass(frozen=True)
class Layout:
    """The rows of one kind of composites."""

    called: str  # as in 'the rows of a peering'
    # By table, the columns that count; the first says which row to change.
    columns: Mapping[str, tuple[str, ...]]
    # The columns of a router that refer to its rows.
    references: Mapping[str, str]
    # Keys of external_ids: composite, and router if none refers to the row.
    mark: str
    side: str
    # Tables whose names are made of those of composites.
    named: tuple[str, ...]
    # Of a resource: the text of its mark, UUIDs of its routers, its rows.
    owner: Callable[[Any], str]
    routers: Callable[[Any], Iterable[str]]
    wanted: Callable[[Any], list[Values]]
    # All rows that are there, by the keys of resources.
    found: Callable[[Tables], Mapping[Key, list['Found']]]
    # By (table, column): the table that the column refers to, with names.
    refers: Mapping[tuple[str, str], str] = dataclasses.field(
        default_factory=dict)
    # Names in columns that are keys of external_ids.
    keys: tuple[str, ...] = ()

    def owner_of(self, row: Row) -> str:
        """The composite whose mark a row has, or ''."""
        entries = columns.entries(row, 'external_ids')
        return entries.get(self.mark, '') if (
            entries.get(ownership.EXT_ID_MANAGED) ==
            ownership.EXT_ID_MANAGED_VALUE) else ''

    def marks(self, owner: str, values: Values) -> dict[str, str]:
        """The external_ids of a row."""
        found = {ownership.EXT_ID_MANAGED: ownership.EXT_ID_MANAGED_VALUE,
                 self.mark: owner}
        if values.table not in self.references:
            found[self.side] = values.router
        return found


class Found(typing.NamedTuple):
    """A row of a composite."""

    layout: Layout
    table: str
    row: Row
    router: Row | None = None  # None for rows that no router refers to

    @property
    def values(self) -> Values:
        """What the row has, computed each time."""
        side = (columns.entry(self.row, 'external_ids', self.layout.side) or ''
                if self.router is None else str(self.router.uuid))
        return Values(self.table, side, tuple(
            self._atoms(column)
            for column in self.layout.columns[self.table]),
            bool(self.layout.owner_of(self.row)))

    def _atoms(self, column: str) -> Atoms:
        if (self.table, column) in self.layout.refers:
            return atoms_of(columns.atom(row, 'name')
                            for row in columns.rows(self.row, column))
        if column in self.layout.keys:
            return atoms_of(
                columns.entry(self.row, 'external_ids', column) or '')
        return atoms_of(columns.atoms(self.row, column))


def names_of(rows: Rows) -> dict[str, uuid.UUID]:
    """The rows of a table by name, for those that must not have ours."""
    return {columns.atom(row, 'name'): key for key, row in rows.items()}


def atoms_of(value: Any) -> Atoms:
    """The value of a column, sorted; an empty text is like no value."""
    atoms = [value] if isinstance(value, (str, int)) else value
    return tuple(sorted(each for each in atoms if each != ''))


def only(atoms: Atoms, default: Any = '') -> Any:
    """The only value of a column, or a default."""
    return atoms[0] if atoms else default


class _MarkedCommand(commands.ResourceCommand[_Resource], Generic[_Resource]):
    def __init__(self, layout: Layout, api: Any, resource: _Resource) -> None:
        super().__init__(api, resource)
        self.layout = layout

    def there(self, txn: Any) -> list[Found]:
        """The rows of the composite; one look finds those of all commands."""
        return self.shared(
            txn, f'rows of {self.layout.called}',
            lambda: self.layout.found({
                name: table.rows
                for name, table in self.api.idl.tables.items()
            })).get(self.resource.key, [])

    def remove(self, txn: Any, each: Found) -> None:
        """Delete a row, and the reference of its router."""
        removed = self.shared(txn, f'gone rows of {self.layout.called}', set)
        if each.row.uuid in removed:
            return
        removed.add(each.row.uuid)
        each.row.verify('external_ids')
        if each.router is not None:
            each.router.delvalue(
                self.layout.references[each.table], each.row)
        held = [column for (table, column), to in self.layout.refers.items()
                if table == each.table and to in self.layout.named and
                getattr(each.row, column, [])]
        # The server counts references before it collects the router's rows.
        for column in held:
            setattr(each.row, column, [])
        if not held:
            each.row.delete()


class SetRows(_MarkedCommand[_Resource]):
    """Make the rows of a composite exactly what they have to be."""

    def run_idl(self, txn: Any) -> None:
        """Change, insert and delete rows; rows that are right stay.

        Refused without a router or a referred row, or with a foreign name.
        """
        routers = {uuid: self.router(uuid)
                   for uuid in self.layout.routers(self.resource)}
        wanted = self.layout.wanted(self.resource)
        there = self.there(txn)
        holders = list(self._holders(txn, wanted, there))
        self.refused = (normal_wait.Reason('a router is gone')
                        if None in routers.values() else
                        next(filter(None, map(self._objection, holders)), '')
                        or self._lacking(txn, wanted))
        if self.refused:
            return
        for router in routers.values():
            for column in self.layout.references.values():
                command.verify(txn, router, column)
        for values, row in holders:
            # The name is of this composite now.
            self.remove(txn, Found(self.layout, values.table, row))
        missing, left = _without_common(wanted, there)
        for values in missing:
            same = left.get(values.key)
            row = (same.pop().row if same else
                   self._insert(txn, values, routers[values.router]))
            self._fill(txn, values, row)
        for rows in left.values():
            for each in rows:
                self.remove(txn, each)

    def _holders(self, txn: Any, wanted: list[Values],
                 there: list[Found]) -> Iterator[tuple[Values, Row]]:
        """The rows that are not of this composite and have a name of it."""
        ours = {each.row.uuid for each in there}
        for values in wanted:
            if values.table not in self.layout.named:
                continue
            rows = self.rows(values.table)
            holder = self._named(txn, values.table).get(values.atoms[0][0])
            if holder in rows and holder not in ours:
                yield values, rows[holder]

    def _named(self, txn: Any, table: str) -> dict[str, Any]:
        """The UUIDs of rows by name, also of those to be inserted."""
        return self.shared(
            txn, f'names in {table}',
            functools.partial(names_of, self.rows(table)))

    def _objection(self, holder: tuple[Values, Row]) -> str:
        """Why a row cannot give its name to this composite, or ''."""
        values, row = holder
        return '' if (values.table == 'Address_Set' and
                      self.layout.owner_of(row)) else (
            f'OVN has a {values.table} {values.atoms[0][0]} ({row.uuid}) that '
            f'is not of this {self.layout.called}; rename or remove it')

    def _lacking(self, txn: Any, wanted: list[Values]) -> str:
        """What this OVN has not, or which row that others refer to, or ''."""
        own = {(values.table, values.atoms[0][0]) for values in wanted
               if values.table in self.layout.named}
        for values in wanted:
            names = self.layout.columns[values.table]
            for column, atoms in zip(names, values.atoms, strict=True):
                if atoms and column not in self.layout.keys and (
                        column not in self.api.idl.tables[
                            values.table].columns):
                    return (f'this version of OVN has no column {column} in '
                            f'the table {values.table}')
                table = self.layout.refers.get((values.table, column), '')
                for name in atoms if table else ():
                    if (table, name) not in own and (
                            name not in self._named(txn, table)):
                        return normal_wait.Reason(
                            f'the {table} {name} is gone')
        return ''

    def _insert(self, txn: Any, values: Values, router: Row) -> Row:
        row = txn.insert(self.api.idl.tables[values.table])
        row.external_ids = self.layout.marks(
            self.layout.owner(self.resource), values)
        column = self.layout.references.get(values.table)
        if column:
            router.addvalue(column, row.uuid)
        if values.table in self.layout.named:
            self._named(txn, values.table)[values.atoms[0][0]] = row.uuid
        return row

    def _fill(self, txn: Any, values: Values, row: Row) -> None:
        known = self.api.idl.tables[values.table].columns
        names = self.layout.columns[values.table]
        for name, atoms in zip(names, values.atoms, strict=True):
            table = self.layout.refers.get((values.table, name))
            if name in self.layout.keys:
                self._fill_key(row, name, atoms)
            # Another version of OVN may lack the column.
            elif name in known and _atoms(table, row, name) != atoms:
                value = list(atoms)
                if table:
                    value = [self._named(txn, table)[each] for each in atoms]
                empty = '' if known[name].type.is_scalar() else []
                setattr(row, name, value or empty)
        for mark, text in self.layout.marks(
            self.layout.owner(self.resource), values).items():
            if row.external_ids.get(mark) != text:
                row.setkey('external_ids', mark, text)

    @staticmethod
    def _fill_key(row: Row, key: str, atoms: Atoms) -> None:
        present = row.external_ids.get(key)
        if atoms and present != atoms[0]:
            row.setkey('external_ids', key, atoms[0])
        elif not atoms and present is not None:
            row.delkey('external_ids', key)


class RemoveRows(_MarkedCommand[_Resource]):
    """Remove all rows of a composite, wherever they are."""

    def run_idl(self, txn: Any) -> None:
        """Delete the rows; those of a router that is gone went with it."""
        for each in self.there(txn):
            self.remove(txn, each)


def _atoms(table: str | None, row: Row, column: str) -> Atoms:
    value = getattr(row, column, [])
    return atoms_of(
        [each.name for each in value] if table else value)


def _without_common(wanted: list[Values], there: list[Found]
                    ) -> tuple[list[Values], dict[Any, list[Found]]]:
    """The values without a row, and by key the rows without such values."""
    lacking = collections.Counter(wanted)
    left = collections.defaultdict(list)
    for each in there:
        values = each.values
        if lacking[values]:
            lacking[values] -= 1
        else:
            left[values.key].append(each)
    return list(lacking.elements()), left
