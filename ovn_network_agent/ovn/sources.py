# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The subjects that sources of drivers make of rows.  Pure."""

from collections.abc import Callable
from collections.abc import Hashable
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import types
from typing import Any
from typing import Protocol
from typing import TypeVar

from oslo_log import log as logging

from ovn_network_agent import model
from ovn_network_agent.common import wording
from ovn_network_agent.drivers import base
from ovn_network_agent.drivers import source as drivers
from ovn_network_agent.ovn import indexes
from ovn_network_agent.ovn import queries
from ovn_network_agent.ovn.egress import egress
from ovn_network_agent.ovn.egress import egress_hosts
from ovn_network_agent.ovn.peering import peerings
from ovn_network_agent.ovsdb import columns

LOG = logging.getLogger(__name__)

#: By kind and name ('Service dns'), alone in a dict for
#: :mod:`engine.contributions`.
Subjects = Mapping[str, Mapping[str, object]]

_Result = TypeVar('_Result')

#: Made only if a driver asks about these kinds of the model.
OF_MODEL: Mapping[type, type[drivers.Source]] = {
    model.EgressHost: egress_hosts.EgressHosts,
    model.EgressIp: egress.EgressIps,
    model.Peering: peerings.Peerings}
FILE = 'file'  # the database of the tables that are not in OVN


class Table(Protocol):
    """A table beside OVN, such as the content of a file."""

    @property
    def rows(self) -> Mapping[str, Any]:
        """The rows by key; replaced as a whole, on any thread."""

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why newer rows are not in force."""


#: By (:data:`FILE`, name).
Tables = Mapping[queries.Place, Table]


def of_drivers(loaded: Iterable[base.Driver]) -> list[drivers.Source]:
    """The sources of all subjects that some drivers ask about."""
    return [made() for made in dict.fromkeys(
        made for driver in loaded for made in (*driver.SOURCES, *(
            OF_MODEL[kind] for kind in driver.SUBJECTS if kind in OF_MODEL)))]


def one(source: drivers.Source, name: str,
        databases: queries.Databases) -> object | None:
    """One subject, made once; what the source raises is raised."""
    return _Subjects(source).one(name, databases)


class Sources:
    """Keeps the subjects of all sources up to date."""

    def __init__(self, sources: Iterable[drivers.Source],
                 tables: Tables = types.MappingProxyType({})) -> None:
        self._sources = [_Subjects(each) for each in sources]
        self._tables = tables
        self._files: dict[queries.Place, columns.Rows] = dict.fromkeys(
            tables, {})

    def update(self, databases: queries.Databases, dirty: queries.Dirty,
               whole: bool) -> dict[type, Subjects]:
        """The subjects by kind; the same mapping if none has changed."""
        now = {place: each.rows for place, each in self._tables.items()}
        dirty = {**dirty, **{
            place: _changed(self._files[place], rows)
            for place, rows in now.items() if rows is not self._files[place]}}
        databases = {**databases, FILE: {
            name: rows for (_file, name), rows in now.items()}}
        found = {each.source.KIND: each.update(databases, dirty, whole)
                 for each in self._sources}
        self._files = now
        return found

    def add(self, view: model.Snapshot, databases: queries.Databases,
            dirty: queries.Dirty, whole: bool) -> model.Snapshot:
        """A view with the present subjects, see :meth:`update`."""
        subjects = self.update(databases, dirty, whole)
        return dataclasses.replace(
            view, subjects=subjects, unmade=self.unmade,
            problems=view.problems + self.problems)

    @property
    def whole(self) -> bool:
        """Whether the last update read all rows of a source."""
        return any(each.whole for each in self._sources)

    def lost(self, before: Mapping[type, Subjects],
             now: Mapping[type, Subjects]) -> set[queries.Place]:
        """The tables of sources with a subject that is gone or has changed."""
        return {place for each in self._sources
                for place in each.source.INDEXES
                if place[0] != FILE and _less(
                    before.get(each.source.KIND, {}),
                    now.get(each.source.KIND, {}))}

    @property
    def unmade(self) -> bool:
        """Whether a subject is unknown, and has been since the start."""
        return any(each.unmade for each in self._sources)

    @property
    def problems(self) -> tuple[str, ...]:
        """What the sources could not make, or read, with the reasons."""
        return (*(f'{each.source.KIND.__name__} {name}: {why}'
                  for each in self._sources
                  for name, why in sorted(each.failed.items())),
                *(reason for each in self._tables.values()
                  for reason in each.reasons))


class _Find:
    """See :class:`drivers.source.Find`."""

    def __init__(self, rows: queries.Queries) -> None:
        self._rows = rows

    def __call__(self, database: str, table: str, index: str,
                 key: Hashable) -> list[Any]:
        return self._rows.rows(database, table, sorted(
            self._rows.find(database, table, index).find(key)))

    def ask(self, function: Callable[..., _Result],
            *arguments: Hashable) -> _Result:
        return self._rows.ask(function, self, *arguments)


class _Subjects:
    """The subjects of one source, by functions of rows."""

    def __init__(self, source: drivers.Source) -> None:
        self.source = source
        self.failed: dict[str, str] = {}
        self.whole = False
        self._rows = queries.Queries({
            place: {name: indexes.Index(self._safely(keys))
                    for name, keys in named.items()}
            for place, named in source.INDEXES.items()})
        self._find = _Find(self._rows)
        self._names = [self._rows.find(*each)
                       for each in (source.NAMES, *source.MORE_NAMES)]
        self._present: Subjects = {}

    def update(self, databases: queries.Databases, dirty: queries.Dirty,
               whole: bool) -> Subjects:
        """See :meth:`Sources.update`."""
        self._rows.replace(databases)
        self.whole = whole or not self._rows.consistent(databases, dirty)
        if self.whole:
            self._rows.rebuild()
        else:
            for place, uuids in dirty.items():
                for uuid in uuids:
                    self._rows.apply_change(place, uuid)
        self._present = self._rows.ask(self._all)
        self.failed = {name: why for name, why in self.failed.items()
                       if any(name in names.keys() for names in self._names)}
        return self._present

    @property
    def unmade(self) -> bool:
        """Whether a subject could not be made, and has no former one."""
        return any(self._called(name) not in self._present
                   for name in self.failed)

    def one(self, name: str, databases: queries.Databases) -> object | None:
        """See :func:`one`."""
        self._rows.replace({FILE: {}, **databases})
        self._rows.rebuild()
        return self.source.build(name, self._find)

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

    def _all(self) -> Subjects:
        made = ((name, self._rows.ask(self._of, name))
                for names in self._names for name in names.keys())
        return {self._called(name): alone for name, alone in made if alone}

    def _called(self, name: str) -> str:
        """Subjects of two kinds may have the same name."""
        return f'{self.source.KIND.__name__} {name}'

    def _of(self, name: str) -> Mapping[str, object]:
        """One subject, if there is one; the former, if the source raises."""
        self.failed.pop(name, None)
        try:
            subject = self.source.build(name, self._find)
        except Exception as error:
            # Nothing is withdrawn.
            self.failed[name] = wording.typed_error(error)
            LOG.exception('The source of %s failed on %s',
                          self.source.KIND.__name__, name)
            return self._present.get(self._called(name), {})
        return {} if subject is None else {'': subject}


def _changed(before: columns.Rows, now: columns.Rows) -> set[Any]:
    return {key for key in before.keys() | now.keys()
            if before.get(key) != now.get(key)}


def _less(before: Subjects, now: Subjects) -> bool:
    return before is not now and any(now.get(name) != subject
                                     for name, subject in before.items())
