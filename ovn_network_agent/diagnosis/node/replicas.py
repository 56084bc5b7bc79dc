# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The databases as the agent would see them, for one look."""

from collections.abc import Iterable
import contextlib
import time

from oslo_config import cfg

from ovn_network_agent import model
from ovn_network_agent.drivers import base
from ovn_network_agent.ovn import events
from ovn_network_agent.ovn import view as views
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb import connection
from ovn_network_agent.ovsdb import replica

# Seconds for a database.  An operator waits for the answer.
LIMIT = 8
# Seconds between two looks for rows that the server still has to send.
_PAUSE = 0.01
# Columns that only the checks of a node read.
_MORE = {'ovs': {'Open_vSwitch': ('ovs_version',),
                 'Bridge': ('external_ids',)},
         'sb': {'SB_Global': ('options',)}}


class Replica:
    """One database, 'nb', 'sb' or 'ovs', loaded once, also for ``drivers``."""

    def __init__(self, conf: cfg.ConfigOpts, name: str,
                 drivers: Iterable[base.Driver] = ()) -> None:
        self._handler = replica.Handler()
        self.database = connection.Database(
            name, _remotes(conf, name), self._handler,
            min(LIMIT, conf.ovn.ovsdb_connection_timeout),
            conf.ovn.ovsdb_probe_interval, objection=events.objection)
        for watch in (*events.of_view(conf), *(
                watch for driver in drivers for watch in driver.events())):
            if watch.database == name:
                self.database.require(watch.table, watch.columns)
        for table, further in _MORE.get(name, {}).items():
            self.database.require(table, further)
        for of, table, clauses in events.CONDITIONS:
            if of == name:
                self.database.only(table, clauses)

    def load(self) -> 'Replica':
        """Load the database; Unavailable when it cannot be loaded."""
        self.database.start()
        return self

    def rows(self) -> contextlib.AbstractContextManager[columns.Tables]:
        """Context with the rows."""
        return self.database.rows()

    def close(self) -> None:
        """Close the connection."""
        self.database.stop(1.0)
        self._handler.stop(1.0)


def _remotes(conf: cfg.ConfigOpts, name: str) -> str:
    found: dict[str, str] = {
        'nb': ','.join(conf.ovn.ovn_nb_remote),
        'sb': ','.join(conf.ovn.ovn_sb_remote),
        'ovs': conf.ovs.ovsdb_connection}
    return found[name]


def view(conf: cfg.ConfigOpts, replicas: dict[str, Replica]) -> model.Snapshot:
    """The agent's view of this node; NotReady when there is none."""
    seen = views.View(conf, {name: one.database
                             for name, one in replicas.items()})
    deadline = time.monotonic() + LIMIT
    while True:
        try:
            return seen.snapshot(model.Phase.RUNNING)
        except views.Incomplete:
            if time.monotonic() > deadline:
                raise
        time.sleep(_PAUSE)
