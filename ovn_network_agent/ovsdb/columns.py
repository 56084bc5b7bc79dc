# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Rows of python-ovs: their table, and columns that may be missing.  Pure.

Only here are private names of rows in use (library_internals.py).
"""

from collections.abc import Mapping
from collections.abc import Set
from typing import Any

#: A row of python-ovs, whose attributes depend on its schema.
Row = Any
Uuid = Any
Rows = Mapping[Uuid, Row]
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

    Ten times as fast as an attribute, for tables with many rows.
    """
    datum = row._data.get(column)
    for each in datum.values if datum is not None else ():
        return each.value
    return default


def entry(row: Row, column: str, key: str) -> str | None:
    """The value of a key in a map; None, too, where the schema lacks it.

    A table may have many rows, so not the whole map is converted.
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


def has_entry(row: Row, keys: Mapping[str, Set[str]]) -> bool:
    """Whether a row has one of some keys in columns that are maps.

    :param keys: by column
    """
    return any(name.value in some for column, some in keys.items()
               if (datum := row._data.get(column)) is not None
               for name in datum.values)


class Changed:
    """A row as it would be with another value of one column."""

    def __init__(self, row: Row, column: str, value: Any) -> None:
        self.uuid = row.uuid
        datum = row._data[column]
        self._data = {**row._data, column: type(datum).from_python(
            datum.type, value, lambda each: each)}


def others(row: Row, column: str) -> dict[str, list[Any]]:
    """The atoms of all columns but one, for a comparison.

    python-ovs keeps atoms that stay, so a list compares the same objects.
    """
    return {name: [*value.values, *value.values.values()]
            for name, value in row._data.items() if name != column}


def referenced(row: Row, column: str) -> list[Uuid]:
    """UUIDs that a column refers to, also of rows that are not replicated.

    Such a row may come later, without a change of those that refer to it.
    Empty where the schema lacks the column.
    """
    if column not in row._data:
        return []
    return [atom.value for atom in row._data[column].values]


def atoms(row: Row, column: str) -> list[Any]:
    """The values of a set that refers to no row; as :func:`referenced`."""
    return referenced(row, column)


def rows(row: Row, column: str) -> list[Row]:
    """The replicated rows that a column refers to, [] without the column.

    An attribute would make two copies first.  As all functions here but
    :func:`optional`, it does not see a transaction under way.
    """
    found = referenced(row, column)
    if not found:
        return []
    kind = row._data[column].type.key
    rows_there = (row._uuid_to_row(uuid, kind) for uuid in found)
    return [each for each in rows_there if each is not None]
