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

"""The subjects that sources of drivers make of rows.  Pure.

A source notes which keys of which indexes it looks up.  A changed row leads by
its keys, former and present ones, to the subjects that are to be made again.
"""

import collections
from collections.abc import Collection
from collections.abc import Hashable
from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any

from oslo_log import log as logging

from ovn_network_agent.drivers import source as drivers
from ovn_network_agent.ovn import indexes

LOG = logging.getLogger(__name__)

Tables = Mapping[str, Mapping[str, Mapping[Any, Any]]]
Dirty = Mapping[drivers.Place, Collection[Any]]
#: By name; each subject is alone in a dict, as :mod:`engine.contributions`
#: compares them.
Subjects = Mapping[str, Mapping[str, object]]
# Where a source has looked: table, index and key.
_Look = tuple[drivers.Place, str, Hashable]


class Sources:
    """Keeps the subjects of all sources up to date."""

    def __init__(self, sources: Iterable[drivers.Source]) -> None:
        self._sources = [_Subjects(each) for each in sources]

    def update(self, databases: Tables, dirty: Dirty,
               whole: bool) -> dict[type, Subjects]:
        """The present subjects by kind; the same mapping if none has changed.

        :param databases: the tables of 'nb' and 'sb'
        :param dirty: the changed rows
        :param whole: whether other rows may have changed, too
        """
        for each in self._sources:
            each.update(databases, dirty, whole)
        return {each.source.KIND: each.subjects for each in self._sources}

    @property
    def problems(self) -> tuple[str, ...]:
        """The subjects that a source could not make, with the reasons."""
        return tuple(f'{each.source.KIND.__name__} {name}: {why}'
                     for each in self._sources
                     for name, why in sorted(each.failed.items()))


class _Subjects:
    """The subjects of one source."""

    def __init__(self, source: drivers.Source) -> None:
        self.source = source
        self.subjects: Subjects = {}
        self.failed: dict[str, str] = {}
        self._indexes = {
            place: {name: indexes.Index(self._safely(keys))
                    for name, keys in named.items()}
            for place, named in source.INDEXES.items()}
        database, table, index = source.NAMES
        self._names = self._indexes[database, table][index]
        self._looks: dict[str, set[_Look]] = {}
        self._looking: dict[_Look, set[str]] = collections.defaultdict(set)

    def _safely(self, keys: Any) -> Any:
        """A function of keys that has none of a row on which it raises."""
        def found(row: Any) -> tuple[Hashable, ...]:
            try:
                return tuple(keys(row))
            except Exception:
                LOG.exception('The source of %s failed on row %s',
                              self.source.KIND.__name__, row.uuid)
                return ()
        return found

    def update(self, databases: Tables, dirty: Dirty, whole: bool) -> None:
        """Make those subjects again that a change of rows concerns."""
        stale = set() if whole else self._take_in(databases, dirty)
        if whole or not self._consistent(databases):
            for (database, table), named in self._indexes.items():
                rows = dict(databases[database].get(table, {}))
                for index in named.values():
                    index.rebuild(rows)
            stale = {*self._names.keys(), *self._looks}
        if stale:
            self._build(databases, stale)

    def _take_in(self, databases: Tables, dirty: Dirty) -> set[Any]:
        """Take in changed rows; returns the names of subjects to be made."""
        stale: set[Any] = set()
        for place, named in self._indexes.items():
            database, table = place
            rows = databases[database].get(table, {})
            for name, index in named.items():
                for uuid in dirty.get(place, ()):
                    before = index.keys_of(uuid)
                    index.update(uuid, rows.get(uuid))
                    for key in {*before, *index.keys_of(uuid)}:
                        stale |= self._looking.get((place, name, key), set())
                        if index is self._names:
                            stale.add(key)
        return stale

    def _consistent(self, databases: Tables) -> bool:
        """Whether the indexes have as many rows as the replicas.

        A reconnection may replace a replica without an event for the rows
        that are gone.
        """
        return all(len(index) == len(databases[database].get(table, {}))
                   for (database, table), named in self._indexes.items()
                   for index in named.values())

    def _build(self, databases: Tables, stale: Collection[str]) -> None:
        made = dict(self.subjects)
        for name in stale:
            for look in self._looks.pop(name, ()):
                self._looking[look].discard(name)
                if not self._looking[look]:
                    del self._looking[look]
            self.failed.pop(name, None)
            if not self._names.find(name):
                made.pop(name, None)
                continue
            try:
                subject = self._of(databases, name)
            except Exception as error:
                # The former subject stays, so that nothing is withdrawn.
                self.failed[name] = f'{type(error).__name__}: {error}'
                LOG.exception('The source of %s failed on %s',
                              self.source.KIND.__name__, name)
                continue
            if subject is None:
                made.pop(name, None)
            elif made.get(name, {}).get('') != subject:
                made[name] = {'': subject}
        if made != self.subjects:
            self.subjects = made

    def _of(self, databases: Tables, name: str) -> object | None:
        """A subject, whose looks are noted."""
        looks = self._looks[name] = set()

        def find(database: str, table: str, index: str,
                 key: Hashable) -> list[Any]:
            place = database, table
            looks.add((place, index, key))
            self._looking[place, index, key].add(name)
            rows = databases[database].get(table, {})
            return [rows[uuid] for uuid in sorted(
                self._indexes[place][index].find(key)) if uuid in rows]
        return self.source.build(name, find)
