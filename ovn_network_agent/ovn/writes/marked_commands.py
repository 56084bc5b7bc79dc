# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Idempotent writes of the rows of a composite in one transaction.

It fails if the routers' rows have changed, so no two agents write twice.
"""

import collections
from collections.abc import Iterator
import functools
from typing import Any
from typing import ClassVar
from typing import Generic
from typing import TypeVar

from ovn_network_agent import resources
from ovn_network_agent.common import normal_wait
from ovn_network_agent.ovn.writes import commands
from ovn_network_agent.ovn.writes import marked_rows
from ovn_network_agent.ovn.writes.marked_rows import Found
from ovn_network_agent.ovn.writes.marked_rows import Values
from ovn_network_agent.ovsdb import command
from ovn_network_agent.ovsdb.columns import Row

_Resource = TypeVar('_Resource', bound=resources.Resource)


class _MarkedCommand(commands.ResourceCommand[_Resource], Generic[_Resource]):
    LAYOUT: ClassVar[marked_rows.Layout]

    def there(self, txn: Any) -> list[Found]:
        """The rows of the composite; one look finds those of all commands."""
        return self.shared(
            txn, f'rows of {self.LAYOUT.called}',
            lambda: self.LAYOUT.found({
                name: table.rows
                for name, table in self.api.idl.tables.items()
            })).get(self.resource.key, [])

    def remove(self, txn: Any, each: Found) -> None:
        """Delete a row, and the reference of its router."""
        gone = self.shared(txn, f'gone rows of {self.LAYOUT.called}', set)
        if each.row.uuid in gone:
            return
        gone.add(each.row.uuid)
        each.row.verify('external_ids')
        if each.router is not None:
            each.router.delvalue(
                self.LAYOUT.references[each.table], each.row)
        held = [column for (table, column), to in self.LAYOUT.refers.items()
                if table == each.table and to in self.LAYOUT.named and
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
                   for uuid in self.LAYOUT.routers(self.resource)}
        wanted = self.LAYOUT.wanted(self.resource)
        there = self.there(txn)
        holders = list(self._holders(txn, wanted, there))
        self.refused = (normal_wait.Reason('a router is gone')
                        if None in routers.values() else
                        next(filter(None, map(self._objection, holders)), '')
                        or self._lacking(txn, wanted))
        if self.refused:
            return
        for router in routers.values():
            for column in self.LAYOUT.references.values():
                command.verify(txn, router, column)
        for values, row in holders:
            # The name is of this composite now.
            self.remove(txn, Found(self.LAYOUT, values.table, row))
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
            if values.table not in self.LAYOUT.named:
                continue
            rows = self.rows(values.table)
            holder = self._named(txn, values.table).get(values.atoms[0][0])
            if holder in rows and holder not in ours:
                yield values, rows[holder]

    def _named(self, txn: Any, table: str) -> dict[str, Any]:
        """The UUIDs of rows by name, also of those to be inserted."""
        return self.shared(
            txn, f'names in {table}',
            functools.partial(marked_rows.names, self.rows(table)))

    def _objection(self, holder: tuple[Values, Row]) -> str:
        """Why a row cannot give its name to this composite, or ''."""
        values, row = holder
        return '' if (values.table == 'Address_Set' and
                      self.LAYOUT.owner_of(row)) else (
            f'OVN has a {values.table} {values.atoms[0][0]} ({row.uuid}) that '
            f'is not of this {self.LAYOUT.called}; rename or remove it')

    def _lacking(self, txn: Any, wanted: list[Values]) -> str:
        """What this OVN has not, or which row that others refer to, or ''."""
        own = {(values.table, values.atoms[0][0]) for values in wanted
               if values.table in self.LAYOUT.named}
        for values in wanted:
            names = self.LAYOUT.columns[values.table]
            for column, atoms in zip(names, values.atoms, strict=True):
                if atoms and column not in self.LAYOUT.keys and (
                        column not in self.api.idl.tables[
                            values.table].columns):
                    return (f'this version of OVN has no column {column} in '
                            f'the table {values.table}')
                table = self.LAYOUT.refers.get((values.table, column), '')
                for name in atoms if table else ():
                    if (table, name) not in own and (
                            name not in self._named(txn, table)):
                        return normal_wait.Reason(
                            f'the {table} {name} is gone')
        return ''

    def _insert(self, txn: Any, values: Values, router: Row) -> Row:
        row = txn.insert(self.api.idl.tables[values.table])
        row.external_ids = self.LAYOUT.marks(
            self.LAYOUT.owner(self.resource), values)
        column = self.LAYOUT.references.get(values.table)
        if column:
            router.addvalue(column, row.uuid)
        if values.table in self.LAYOUT.named:
            self._named(txn, values.table)[values.atoms[0][0]] = row.uuid
        return row

    def _fill(self, txn: Any, values: Values, row: Row) -> None:
        known = self.api.idl.tables[values.table].columns
        names = self.LAYOUT.columns[values.table]
        for name, atoms in zip(names, values.atoms, strict=True):
            table = self.LAYOUT.refers.get((values.table, name))
            if name in self.LAYOUT.keys:
                self._fill_key(row, name, atoms)
            # Another version of OVN may lack the column.
            elif name in known and _atoms(table, row, name) != atoms:
                value = list(atoms)
                if table:
                    value = [self._named(txn, table)[each] for each in atoms]
                empty = '' if known[name].type.is_scalar() else []
                setattr(row, name, value or empty)
        for mark, text in self.LAYOUT.marks(
            self.LAYOUT.owner(self.resource), values).items():
            if row.external_ids.get(mark) != text:
                row.setkey('external_ids', mark, text)

    @staticmethod
    def _fill_key(row: Row, key: str, atoms: marked_rows.Atoms) -> None:
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


def _atoms(table: str | None, row: Row, column: str) -> marked_rows.Atoms:
    value = getattr(row, column, [])
    return marked_rows.atoms_of(
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
