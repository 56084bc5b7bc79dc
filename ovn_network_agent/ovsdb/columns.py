# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Rows of python-ovs: their table, and columns that may not be there.  Pure.

No other module uses the private names of a row (:mod:`library_internals`).
"""

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Set
from typing import Any

#: A row of python-ovs, whose attributes depend on its schema.
Row = Any
#: The UUID of a row, a uuid.UUID.
Uuid = Any
Rows = Mapping[Uuid, Row]
#: The rows of a replica by table.
Tables = Mapping[str, Rows]


def table(row: Row) -> str:
    """Name of the table of a row."""
    return str(row._table.name)


def names(row: Row) -> Set[str]:
    """The replicated columns of a row; of a former row, those that changed."""
    found: Set[str] = row._data.keys()
    return found


def in_json(row: Row, column: str) -> Any:
    """The value of a replicated column in JSON (RFC 7047, 5.1)."""
    return row._data[column].to_json()


def optional(row: Row, column: str, default: Any = '') -> Any:
    """The value of a column with at most one value, or ``default``."""
    values = getattr(row, column, None)
    return values[0] if values else default


def atom(row: Row, column: str, default: Any = '') -> Any:
    """The only value of a column that refers to no row, or ``default``.

    An attribute of a row is converted at each use, in ten times as long.  For
    a column of a table with few rows, :func:`optional` does the same.
    """
    datum = row._data.get(column)
    for each in datum.values if datum is not None else ():
        return each.value
    return default


def entry(row: Row, column: str, key: str) -> str | None:
    """The value of a key in a map; None, too, where the schema lacks it.

    The map is not converted as a whole, because a table may have many rows.
    """
    datum = row._data.get(column)
    if datum is not None:
        for name, value in datum.values.items():
            if name.value == key:
                return str(value.value)
    return None


def entries(row: Row, column: str) -> dict[str, str]:
    """A map whole; empty, too, where the schema lacks it."""
    datum = row._data.get(column)
    return {} if datum is None else {
        str(name.value): str(value.value)
        for name, value in datum.values.items()}


def has_entry(row: Row, places: Iterable[tuple[str, str]]) -> bool:
    """Whether a row has one of some (column, key) in columns that are maps.
    """
    return any(entry(row, column, key) is not None for column, key in places)


class Changed:
    """A row as it would be with another value of one column."""

    def __init__(self, row: Row, column: str, value: Any) -> None:
        self.uuid = row.uuid
        datum = row._data[column]
        self._data = {**row._data, column: type(datum).from_python(
            datum.type, value, lambda each: each)}


def others(row: Row, column: str) -> dict[str, list[Any]]:
    """The atoms of all columns but one, for a comparison.

    python-ovs changes the value of a column in place, and keeps the atoms that
    stay.  A list compares the same objects without a look at their values.
    """
    return {name: [*value.values, *value.values.values()]
            for name, value in row._data.items() if name != column}


def referenced(row: Row, column: str) -> list[Uuid]:
    """UUIDs that a column refers to, also of rows that are not replicated.

    A row may come into the replica later, when it begins to match the
    condition.  The rows that refer to this row do not change then.  The list
    is empty where the schema lacks the column.
    """
    if column not in row._data:
        return []
    return [atom.value for atom in row._data[column].values]


def atoms(row: Row, column: str) -> list[Any]:
    """The values of a set that refers to no row; as :func:`referenced`."""
    return referenced(row, column)


def rows(row: Row, column: str) -> list[Row]:
    """The replicated rows that a column refers to.

    An attribute of the row would make two copies of the column first.  As
    all functions here but :func:`optional`, this one does not see what a
    transaction under way has changed or inserted.  The list is empty where
    the schema lacks the column.
    """
    found = referenced(row, column)
    if not found:
        return []
    kind = row._data[column].type.key
    rows_there = (row._uuid_to_row(uuid, kind) for uuid in found)
    return [each for each in rows_there if each is not None]
