# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The subjects that sources of drivers make of the present rows."""

import collections
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import typing

from oslo_config import cfg

from ovn_network_agent import ovsdb
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.drivers import base
from ovn_network_agent.files import file_problems
from ovn_network_agent.ovn import events
from ovn_network_agent.ovn import sources
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb import single_query
from ovn_network_agent.runtime import rows_files


def read(conf: cfg.ConfigOpts, drivers: Sequence[base.Driver],
         timeout: float) -> tuple[list[tuple[str, typing.Any]],
                                  tuple[str, ...],
                                  dict[str, columns.Tables]]:
    """Make all subjects of the sources of some drivers.

    Columns and conditions are those of the replica of an agent, so a source
    finds the same.

    :returns: subjects by kind and name; those that could not be made, and why;
        the rows by database and table
    :raises readers.Unread: also for a file of an operator
    """
    made = sources.of_drivers(drivers)
    wanted: collections.defaultdict[tuple[str, str], set[str]] = (
        collections.defaultdict(set))
    places = {place for source in made for place in source.INDEXES}
    for watch in events.of_view(conf):
        wanted[watch.database, watch.table].update(watch.columns)
    for watch in (each for driver in drivers for each in driver.events()):
        wanted[watch.database, watch.table].update(watch.columns)
        # A row may refer to a row of a table without an index.
        places.add((watch.database, watch.table))
    remotes = {'nb': conf.ovn.ovn_nb_remote, 'sb': conf.ovn.ovn_sb_remote}
    chosen = list(events.conditions(conf))
    rows = {name: _rows(name, remote, timeout, {
        table: wanted[name, table] for database, table in sorted(places)
        if database == name}, chosen) for name, remote in remotes.items()}
    try:
        kept = sources.Sources(made, rows_files.of_drivers(conf, drivers))
    except file_problems.BadFile as error:
        raise readers.Unread(str(error)) from error
    found = kept.update(rows, {}, True)
    return [(name, subject) for of_kind in found.values()
            for name, alone in sorted(of_kind.items())
            for subject in alone.values()], kept.problems, rows


def _rows(database: str, remote: Sequence[str], timeout: float,
          tables: Mapping[str, Iterable[str]],
          conditions: Iterable[tuple[str, str, typing.Any]]) -> columns.Tables:
    """The rows of some tables, see :attr:`single_query.Session.tables`."""
    if not tables:
        return {}
    chosen = {table: clauses for name, table, clauses in conditions
              if name == database}
    try:
        with single_query.Session(remote, ovsdb.SCHEMAS[database],
                                  timeout) as session:
            for table, columns in tables.items():
                if session.has(table):
                    session.select(
                        *((table, each) for each in chosen.get(table, ())),
                        *(() if table in chosen else ((table,),)),
                        columns=[each for each in sorted(columns)
                                 if session.has(table, each)])
            return session.tables
    except (single_query.Failed, OSError) as error:
        raise readers.Unread(readers.reason(error)) from error
