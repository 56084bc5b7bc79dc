# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Rows of NB that only work together, and that a mark makes ours.

They change in one transaction.  Reader and writer share the description: a
composite is as desired only with exactly its value's rows.
"""

from collections.abc import Callable
from collections.abc import Hashable
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
from typing import Any
import uuid

from ovn_network_agent import ownership
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb.columns import Row
from ovn_network_agent.ovsdb.columns import Rows
from ovn_network_agent.ovsdb.columns import Tables

#: Of a resource.
Key = tuple[Hashable, ...]
#: Of one column, sorted.
Atoms = tuple[Any, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Values:
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


@dataclasses.dataclass(frozen=True)
class Found:
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


def names(rows: Rows) -> dict[str, uuid.UUID]:
    """The rows of a table by name, for those that must not have ours."""
    return {columns.atom(row, 'name'): key for key, row in rows.items()}


def atoms_of(value: Any) -> Atoms:
    """The value of a column, sorted; an empty text is like no value."""
    atoms = [value] if isinstance(value, (str, int)) else value
    return tuple(sorted(each for each in atoms if each != ''))


def only(atoms: Atoms, default: Any = '') -> Any:
    """The only value of a column, or a default."""
    return atoms[0] if atoms else default
