# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Functions of rows, whose results are kept until something read changes.

Each read of rows, keys of indexes and results is noted.  A result equal to the
former one stays the same object, and what depends on it alone is not computed
again.  Pure.
"""

import collections
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Hashable
from collections.abc import Iterable
from collections.abc import KeysView
from collections.abc import Mapping
import dataclasses
import itertools
import typing
from typing import Any
from typing import TypeVar

from ovn_network_agent.ovn import indexes
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb.columns import Row
from ovn_network_agent.ovsdb.columns import Uuid

#: ('nb'|'sb', table).
Place = tuple[str, str]
#: The rows of 'nb' and 'sb'.
Databases = Mapping[str, columns.Tables]
#: The changed rows.
Dirty = Mapping[Place, Collection[Uuid]]

_T = TypeVar('_T')
_Call = tuple[Callable[..., Any], tuple[Hashable, ...]]
_FEW = 3  # the most readers in a tuple
_NOBODY: _Call = (lambda: None, ())  # from outside of all functions


@dataclasses.dataclass(slots=True)
class _Result:
    """The last result: ``read`` has rows and keys, ``calls`` with results."""

    value: Any
    read: tuple[Hashable, ...]
    calls: tuple[tuple[_Call, Any], ...]

    @property
    def looks(self) -> set[Hashable]:
        """All that the result depends on."""
        return {*self.read, *(call for call, _value in self.calls)}


class Queries:
    """Tables, their indexes, and results that depend on them."""

    def __init__(self, made: dict[Place, dict[str, indexes.Index]]) -> None:
        self._indexes = made
        self._databases: Databases = {}
        self._finders = {(*place, name): _Finder(index, (*place, name),
                                                 self.note)
                         for place, named in made.items()
                         for name, index in named.items()}
        self._results: dict[_Call, _Result] = {}
        # A tuple of few, or a set, which takes four times the memory.
        self._readers: dict[Hashable, tuple[_Call, ...] | set[_Call]] = {}
        # Calls that read something changed, and calls that depend on those.
        self._stale: set[_Call] = set()
        self._doubtful: set[_Call] = set()
        # Functions with many readers; their stale or doubtful calls, with the
        # results that the readers know.
        self._common: set[Callable[..., Any]] = set()
        self._unsettled: dict[_Call, Any] = {}
        # Read and called by the calls under way, the innermost last.
        self._running: list[tuple[set[Hashable], dict[_Call, Any]]] = []

    # -- for functions ----------------------------------------------------

    def ask(self, function: Callable[..., _T], *arguments: Hashable) -> _T:
        """The result of a function, noted if another one asks.

        The function must be the same object, or method of it, each time.
        """
        call = function, arguments
        if self._running:
            value: _T = self._value(call)
            self._running[-1][1][call] = value
        else:
            self._settle()
            value = self._value(call)
            self._read_by(call, _NOBODY)
        return value

    def note(self, look: Hashable) -> None:
        """Note that the running function has read something."""
        if self._running:
            self._running[-1][0].add(look)

    def row(self, database: str, table: str, uuid: Uuid) -> Row | None:
        """A row, None if it is not there (yet)."""
        self.note(uuid)
        return self.present(database, table, uuid)

    def rows(self, database: str, table: str,
             uuids: Iterable[Uuid]) -> list[Row]:
        """Those of some rows that are there."""
        found = (self.row(database, table, uuid) for uuid in uuids)
        return [row for row in found if row is not None]

    def referred(self, row: Row, column: str) -> list[Row]:
        """Likewise of the rows that a column refers to."""
        for uuid in columns.referenced(row, column):
            self.note(uuid)
        return columns.rows(row, column)

    def find(self, database: str, table: str, name: str) -> '_Finder':
        """An index whose use is noted."""
        return self._finders[database, table, name]

    # -- for changes ------------------------------------------------------

    def read_by_many(self, function: Callable[..., Any]) -> None:
        """Let only another result of a function doubt its thousand readers."""
        self._common.add(function)

    def present(self, database: str, table: str, uuid: Uuid) -> Row | None:
        """A row whose use is not noted."""
        return self._databases[database].get(table, {}).get(uuid)

    def index(self, database: str, table: str, name: str) -> indexes.Index:
        """An index whose use is not noted."""
        return self._indexes[database, table][name]

    def places(self) -> Iterable[tuple[Place, indexes.Index]]:
        """The tables with indexes, each with one of its indexes."""
        for place, named in self._indexes.items():
            yield place, next(iter(named.values()))

    def consistent(self, databases: Databases, dirty: Dirty) -> bool:
        """Whether the indexes have as many rows as the replicas.

        A reconnection may replace a replica without events for rows gone.
        """
        for (database, table), index in self.places():
            rows = databases[database].get(table, {})
            known = len(index)
            for uuid in dirty.get((database, table), ()):
                known += (uuid in rows) - (uuid in index.rows())
            if known != len(rows):
                return False
        return True

    def replace(self, databases: Databases) -> None:
        """Read from other tables, whose changes :meth:`apply_change` tells."""
        self._databases = databases

    def rebuild(self) -> None:
        """Read all rows, and compute everything again."""
        for (database, table), named in self._indexes.items():
            # The tables of python-ovs are slow to go through.
            rows = dict(self._databases[database].get(table, {}))
            for index in named.values():
                index.rebuild(rows)
        self.forget()

    def forget(self) -> None:
        """Compute everything again, and keep the objects that are equal."""
        self._stale.update(self._results)

    def apply_change(self, place: Place, uuid: Uuid,
                     recompute: bool = False) -> dict[str, set[Any]]:
        """Update the indexes for a new, changed or deleted row.

        :param recompute: have all that depends on the row computed again
        :returns: by name of an index the keys that the row has got or lost
        """
        row = self.present(*place, uuid)
        changed = {}
        for name, index in self._indexes.get(place, {}).items():
            changed[name] = keys = index.update(uuid, row)
            for key in {*keys, *index.keys_of(uuid)} if recompute else keys:
                self.outdate((*place, name, key))
            if recompute or not all(index.elsewhere(key, uuid)
                                    for key in keys):
                self.outdate((*place, name))
            if keys or recompute:
                self.outdate((*place, name, 'of', uuid))
        self.outdate(uuid)
        return changed

    def outdated(self, function: Callable[..., Any]) -> set[Any]:
        """The arguments of those calls of a function that may differ."""
        self._settle()
        return {arguments for known, arguments in self._stale | self._doubtful
                if known == function}

    def drop(self, function: Callable[..., Any],
             *arguments: Hashable) -> None:
        """Forget a result that was asked for from outside."""
        self._release((function, arguments), _NOBODY)

    def outdate(self, look: Hashable) -> None:
        """Have the functions computed again that have read something."""
        for call in self._readers.get(look, ()):
            # All that depends on a stale call is in doubt already.
            if call not in self._stale:
                self._stale.add(call)
                self._doubt(call)

    def _doubt(self, call: _Call) -> None:
        """Have the results compared that depend on a call."""
        if call[0] in self._common:
            self._unsettled.setdefault(call, self._results[call].value)
            return
        for reader in self._readers.get(call, ()):
            if reader not in self._doubtful:
                self._doubtful.add(reader)
                self._doubt(reader)

    def _settle(self) -> None:
        """Have the functions computed again that depend on another result."""
        while self._unsettled:
            call, value = self._unsettled.popitem()
            if self._value(call) is not value:
                self.outdate(call)

    # -- results ----------------------------------------------------------

    def _value(self, call: _Call) -> Any:
        known = self._results.get(call)
        if known is not None and not self._differs(call, known):
            return known.value
        function, arguments = call
        read: set[Hashable] = set()
        calls: dict[_Call, Any] = {}
        self._running.append((read, calls))
        try:
            value = function(*arguments)
        finally:
            self._running.pop()
        if known is not None and known.value == value:
            value = known.value
        self._results[call] = _Result(value, tuple(read), tuple(calls.items()))
        self._stale.discard(call)
        self._doubtful.discard(call)
        for look in (*read, *calls):
            self._read_by(look, call)
        if known is not None:
            for look in known.looks - read - calls.keys():
                self._release(look, call)
        return value

    def _read_by(self, look: Hashable, reader: _Call) -> None:
        readers = self._readers.get(look, ())
        if isinstance(readers, set):
            readers.add(reader)
        elif reader not in readers:
            more = *readers, reader
            self._readers[look] = more if len(more) <= _FEW else set(more)

    def _differs(self, call: _Call, known: _Result) -> bool:
        """Whether a read differs, in order: earlier calls decide on later."""
        if call in self._stale:
            return True
        if call in self._doubtful:
            if any(self._value(other) is not value
                   for other, value in known.calls):
                return True
            self._doubtful.discard(call)
        return False

    def _release(self, look: Any, reader: _Call) -> None:
        """Forget a reader, and a result that has no other one."""
        readers = self._readers[look]
        if isinstance(readers, set):
            readers.discard(reader)
        else:
            readers = tuple(each for each in readers if each != reader)
            self._readers[look] = readers
        if readers:
            return
        del self._readers[look]
        removed = self._results.pop(look, None)
        if removed is not None:
            self._stale.discard(look)
            self._doubtful.discard(look)
            self._unsettled.pop(look, None)
            for each in removed.looks:
                self._release(each, look)


class _Finder:
    """An index whose use is noted."""

    def __init__(self, index: indexes.Index, name: tuple[str, str, str],
                 note: Callable[[Hashable], None]) -> None:
        self._index = index
        self._name = name
        self._note = note

    def find(self, key: Hashable) -> frozenset[Uuid]:
        """See :class:`indexes.Index`; likewise the other methods."""
        self._note((*self._name, key))
        return self._index.find(key)

    def first(self, key: Hashable) -> Uuid | None:
        self._note((*self._name, key))
        return self._index.first(key)

    def keys(self) -> KeysView[Any]:
        self._note(self._name)
        return self._index.keys()

    def keys_of(self, uuid: Uuid) -> tuple[Any, ...]:
        self._note((*self._name, 'of', uuid))
        return self._index.keys_of(uuid)


#: Rows of a batch.  An event may wait for one: 25 ms were measured for 400.
BATCH_SIZE = 200


class RowBatch(typing.NamedTuple):
    """Rows that count as changed, so that their results are made again.

    A periodic comparison of everything takes most of a second beside 10,000
    floating IPs, so each batch has a pass of its own.
    """

    rows: dict[Place, set[Any]]
    first: bool = False  # whether the comparison begins with it
    last: bool = False  # whether the comparison of rows ends with it


def cut(every: Iterable[tuple[Place, Any]]) -> list[RowBatch]:
    """Divide rows, each the UUID in its table, in order."""
    found = []
    rows = iter(every)
    while some := list(itertools.islice(rows, BATCH_SIZE)):
        by_table: dict[Place, set[Any]] = collections.defaultdict(set)
        for table, uuid in some:
            by_table[table].add(uuid)
        found.append(dict(by_table))
    return [RowBatch(batch, number == 0, number == len(found) - 1)
            for number, batch in enumerate(found)]
