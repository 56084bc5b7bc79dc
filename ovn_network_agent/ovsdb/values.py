# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Values of columns, made from the JSON of RFC 7047 (section 5.1).

python-ovs checks each value against each rule that a schema can have.  Most
columns hold texts without any rule, and thousands of NAT rows have the same
type and the same keys of ``external_ids``.  The values of such columns are
made directly, and equal scalar values are there once.  The library makes all
other values, and judges what is no valid value.

:mod:`library_internals` lists the private names of python-ovs in use.
"""

import collections
from collections.abc import Callable
import sys
from typing import Any

from ovs.db import data
from ovs.db import error
from ovs.db import types
from ovsdbapp.backend.ovs_idl import connection


class QuickIdl(connection.OvsdbIdl):
    """An IDL that loads thousands of rows in less time."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # By table and name.
        self._columns: dict[str, dict[str, Column]] = (
            collections.defaultdict(dict))
        self._defaults: dict[str, dict[str, Any]] = {}

    def forget_values(self) -> None:
        """Share no value from before: it may be what is wrong."""
        self._columns.clear()

    def _Idl__row_update(self, table: Any, row: Any,
                         row_json: dict[str, Any]) -> bool:
        """Take in the columns of a row.

        The library calls this method ``__row_update`` of its class.

        :returns: whether a column that counts has changed
        """
        known = self._columns[table.name]
        changed = False
        unusual: dict[str, Any] = {}
        for name, value in row_json.items():
            column = known.get(name)
            if column is None and name in table.columns:
                column = known[name] = Column(table.columns[name])
            taken = None if column is None else column.take(
                row._data, value)
            if taken is None:
                unusual[name] = value
            changed |= bool(taken)
        # The library complains, and run() hears of this.
        return bool(unusual and super()._Idl__row_update(
            table, row, unusual)) or changed

    def _Idl__add_default(self, table: Any, row_json: dict[str, Any]) -> None:
        """Add the columns that the server leaves out of a new row.

        The library calls this method ``__add_default`` of its class.  The
        library goes through the types of all columns for each row, and gets
        the same values each time.
        """
        known = self._defaults.get(table.name)
        if known is None:
            known = self._defaults[table.name] = {}
            super()._Idl__add_default(table, known)
        for name, value in known.items():
            row_json.setdefault(name, value)

    def cooperative_yield(self) -> None:
        """Do nothing: the loop thread waits for the end of the load anyhow.

        The library sleeps for each row, about a second for 14,000 rows.
        """


class Column:
    """Makes the values of one column."""

    def __init__(self, schema: Any) -> None:
        self._schema = schema
        self._name, self._type = schema.name, schema.type
        self._key_is_free = _is_free(schema.type.key)
        self._default = data.Datum.default(schema.type)
        self._make = _way(schema.type)
        # The JSON of the last scalar value, and that value.
        self._last, self._same = None, None
        self._keys: dict[str, Any] = {}

    def take(self, columns: dict[str, Any], value: Any) -> bool | None:
        """Give a row a value of the column.

        :returns: True if the row had another value, and changes of the column
            count; None for JSON that is no value of the column
        """
        datum = self._make(self, value)
        if datum is None:
            return None
        # Without the default values that the dict makes on demand.
        former = dict.get(columns, self._name, self._default)
        if datum.values == former.values:
            return False
        columns[self._name] = datum
        return bool(self._schema.alert)

    def _scalar(self, value: Any) -> Any:
        """A value that rows may share: the library does not change it."""
        if type(value) is type(self._last) and value == self._last:
            return self._same
        if type(value) is str and self._key_is_free:
            datum = data.Datum(self._type, {
                data.Atom(types.StringType, value): None})
        else:
            datum = self._any(value)
        if datum is not None and _is_plain(value):
            self._last, self._same = value, datum
        return datum

    def _texts(self, value: Any) -> Any:
        """A set of texts; the library may change the set of each row."""
        if type(value) is str:
            return data.Datum(self._type, {
                data.Atom(types.StringType, value): None})
        if value == _EMPTY and self._type.n_min == 0:
            return data.Datum(self._type, {})
        return self._any(value)

    def _map(self, value: Any) -> Any:
        """A map of texts to texts; likewise.  Rows share the keys."""
        if not _is_map_of_texts(value):
            return self._any(value)
        known, found = self._keys, {}
        for key, each in value[1]:
            atom = known.get(key)
            if atom is None:
                atom = known[key] = data.Atom(types.StringType, key)
            found[atom] = data.Atom(types.StringType, each)
        if len(found) != len(value[1]):
            return self._any(value)
        if len(known) > _MOST_KEYS:
            known.clear()
        return data.Datum(self._type, found)

    def _any(self, value: Any) -> Any:
        """The library's own value, or None."""
        try:
            return data.Datum.from_json(self._type, value)
        except error.Error:
            return None


# Keys of a map that rows share at most: some columns have a key of its own in
# each row.
_MOST_KEYS = 1000
_EMPTY = ['set', []]


def _way(type_: Any) -> Callable[[Column, Any], Any]:
    """The method of :class:`Column` for a type of column."""
    if type_.is_scalar():
        return Column._scalar
    if type_.n_min > 1 or not _is_free(type_.key):
        return Column._any
    if not type_.is_map():
        return Column._texts
    if type_.n_min == 0 and type_.n_max == sys.maxsize and (
            _is_free(type_.value)):
        return Column._map
    return Column._any


def _is_free(base: Any) -> bool:
    """Whether any text is a valid value."""
    return (base.type == types.StringType and base.enum is None and
            base.min_length == 0 and base.max_length == sys.maxsize)


def _is_plain(value: Any) -> bool:
    """Whether equal JSON of the same type is the same value.

    That is so for an atom, and for the pair of a reference.  In other lists,
    a number may equal a boolean.
    """
    return type(value) is not list or (
        len(value) == 2 and type(value[0]) is type(value[1]) is str)


def _is_map_of_texts(value: Any) -> bool:
    return (type(value) is list and len(value) == 2 and value[0] == 'map' and
            type(value[1]) is list and all(
                type(pair) is list and len(pair) == 2 and
                type(pair[0]) is str and type(pair[1]) is str
                for pair in value[1]))
