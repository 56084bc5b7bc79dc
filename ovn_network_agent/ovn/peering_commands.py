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

"""Idempotent writes of the rows of a peering, both sides in one transaction.

The server refuses the transaction when the rows of one of both routers have
changed meanwhile, so two agents never write the same rows twice.
"""

import collections
from collections.abc import Iterator
import functools
from typing import Any

from ovn_network_agent import notyet
from ovn_network_agent import resources
from ovn_network_agent.ovn import commands
from ovn_network_agent.ovn import peering_rows
from ovn_network_agent.ovn.peering_rows import Found
from ovn_network_agent.ovn.peering_rows import Values
from ovn_network_agent.ovsdb import command
from ovn_network_agent.ovsdb.columns import Row


class _PeeringCommand(commands.ResourceCommand[resources.Peering]):

    def there(self, txn: Any) -> list[Found]:
        """The rows of the peering, which one look finds for all commands."""
        return self.shared(txn, 'peerings', lambda: peering_rows.found({
            name: table.rows for name, table in self.api.idl.tables.items()
            })).get(self.resource.pair, [])

    def remove(self, txn: Any, each: Found) -> None:
        """Delete a row, and the reference of its router."""
        gone = self.shared(txn, 'gone rows of peerings', set)
        if each.row.uuid in gone:
            return
        gone.add(each.row.uuid)
        each.row.verify('external_ids')
        if each.router is not None:
            each.router.delvalue(
                peering_rows.REFERENCES[each.table], each.row)
        each.row.delete()


class SetPeering(_PeeringCommand):
    """Make the rows of a peering exactly what they have to be."""

    def run_idl(self, txn: Any) -> None:
        """Change, insert and delete rows; rows that are right stay.

        Refused without one of both routers, and if a row of somebody else has
        a name of the peering.
        """
        routers = {side.router: self.router(side.router)
                   for side in self.resource.sides}
        there = self.there(txn)
        holders = list(self._holders(txn, there))
        self.refused = (notyet.Reason('a router is gone')
                        if None in routers.values() else
                        next(filter(None, map(_objection, holders)), ''))
        if self.refused:
            return
        for router in routers.values():
            for column in peering_rows.REFERENCES.values():
                command.verify(txn, router, column)
        for values, row in holders:
            # The router has another peer by this name now.
            self.remove(txn, Found(values.table, row))
        missing, left = _without_common(
            peering_rows.wanted(self.resource), there)
        for values in missing:
            same = left.get(values.key)
            row = (same.pop().row if same else
                   self._insert(txn, values, routers[values.router]))
            self._fill(values, row)
        for rows in left.values():
            for each in rows:
                self.remove(txn, each)

    def _holders(self, txn: Any,
                 there: list[Found]) -> Iterator[tuple[Values, Row]]:
        """The rows that are not of this peering and have a name of it."""
        ours = {each.row.uuid for each in there}
        for values in peering_rows.wanted(self.resource):
            if values.table not in (peering_rows.PORT, peering_rows.SET):
                continue
            rows = self.rows(values.table)
            holder = self.shared(
                txn, f'names in {values.table}',
                functools.partial(peering_rows.names, rows)
                ).get(values.atoms[0][0])
            if holder is not None and holder not in ours:
                yield values, rows[holder]

    def _insert(self, txn: Any, values: Values, router: Row) -> Row:
        row = txn.insert(self.api.idl.tables[values.table])
        row.external_ids = peering_rows.marks(self.resource.pair, values)
        column = peering_rows.REFERENCES.get(values.table)
        if column:
            router.addvalue(column, row.uuid)
        return row

    def _fill(self, values: Values, row: Row) -> None:
        known = self.api.idl.tables[values.table].columns
        names = peering_rows.COLUMNS[values.table]
        for name, atoms in zip(names, values.atoms, strict=True):
            # Another version of OVN may lack the column.
            if name in known and peering_rows.atoms_of(
                    getattr(row, name, [])) != atoms:
                empty = '' if known[name].type.is_scalar() else []
                setattr(row, name, list(atoms) or empty)
        for mark, text in peering_rows.marks(
                self.resource.pair, values).items():
            if row.external_ids.get(mark) != text:
                row.setkey('external_ids', mark, text)


class RemovePeering(_PeeringCommand):
    """Remove all rows of a peering, wherever they are."""

    def run_idl(self, txn: Any) -> None:
        """Delete the rows; those of a router that is gone went with it."""
        for each in self.there(txn):
            self.remove(txn, each)


def _objection(holder: tuple[Values, Row]) -> str:
    """Why a row cannot give its name to a peering, or ''."""
    values, row = holder
    return '' if (values.table == peering_rows.SET and
                  peering_rows.pair_of(row)) else (
        f'OVN has a {values.table} {values.atoms[0][0]} ({row.uuid}) that '
        'is not of this peering; rename or remove it')


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
