# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The databases of OVN, their watches and the view.

Port-forward-only mode has :class:`WithoutOvn`.
"""

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import socket
import threading
from typing import Any

from oslo_config import cfg
from oslo_log import log as logging

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.common import backoff
from ovn_network_agent.common import notices
from ovn_network_agent.common import trigger as triggers
from ovn_network_agent.drivers import base
from ovn_network_agent.engine import guard
from ovn_network_agent.ovn import events
from ovn_network_agent.ovn import local_state
from ovn_network_agent.ovn import queries
from ovn_network_agent.ovn import sources
from ovn_network_agent.ovn import view
from ovn_network_agent.ovsdb import connection
from ovn_network_agent.ovsdb import replica
from ovn_network_agent.runtime import rows_files
from ovn_network_agent.watches import base as observing
from ovn_network_agent.watches import node_conflicts
from ovn_network_agent.watches import rate_limit

LOG = logging.getLogger(__name__)


class OvnSide:
    """Owns the connections to the three databases, and the view.

    :param rows: for rows that put backends in doubt, None for the trigger;
        other rows cause no repair, so they wake the loop without a pace
    :param times: further arguments of :class:`ovn.view.View`
    """

    def __init__(self, conf: cfg.ConfigOpts, drivers: Sequence[base.Driver],
                 trigger: triggers.Trigger, stopping: threading.Event,
                 observers: Sequence[observing.Observer],
                 rows: rate_limit.RateLimit | None = None,
                 tables: Mapping[tuple[str, str], sources.Table] | None = None,
                 **times: Any) -> None:
        self._conf = conf
        self._drivers = drivers
        self._trigger = trigger
        self._rows = rows or trigger
        self._stopping = stopping
        self._handlers: dict[str, replica.Handler] = {}
        self._threads: list[threading.Thread] = []
        self.databases = self._make()
        self._subscribe()
        self._files = rows_files.of_drivers(conf, drivers)
        self.view = view.View(
            conf, self.databases, trigger.fire, observers=observers,
            look_at_ports=node_conflicts.BridgePorts().look,
            made_of_rows=sources.of_drivers(self._drivers),
            tables={**(tables or {}), **self._files}, **times)

    def connect(self) -> None:
        """Begin to connect to each database on its own thread."""
        for each in self._files.values():
            each.start(self._trigger)
        for database in self.databases.values():
            thread = threading.Thread(
                target=self._connect, args=(database,), daemon=True,
                name=f'connect-{database.name}')
            self._threads.append(thread)
            thread.start()

    def close(self, limit: float) -> None:
        """Close the connections and end the threads.

        :param limit: seconds for each connection
        """
        for database in self.databases.values():
            database.stop(limit)
        for handler in self._handlers.values():
            handler.stop()
        for each in self._files.values():
            each.stop()
        self.view.close()

    def _make(self) -> dict[str, connection.Database]:
        remotes = {'nb': self._conf.ovn.ovn_nb_remote,
                   'sb': self._conf.ovn.ovn_sb_remote,
                   'ovs': self._conf.ovs.ovsdb_connection}
        databases = {}
        for name, remote in remotes.items():
            self._handlers[name] = replica.Handler()
            databases[name] = connection.Database(
                name, remote if isinstance(remote, str) else ','.join(remote),
                self._handlers[name],
                self._conf.ovn.ovsdb_connection_timeout,
                self._conf.ovn.ovsdb_probe_interval, self._changed,
                events.objection)
        return databases

    def _changed(self, database: connection.Database) -> None:
        """Wake the loop; on the thread of the connection."""
        self._wake_for(database, 'connection')

    def _wake_for(self, database: connection.Database, what: str) -> None:
        """Wake the loop, and end the back-off of the database's backends."""
        self._trigger.fire(
            f'{database.name} {what}', urgent=True,
            revived=[notices.connected(database.name)]
            if database.connected else ())

    def _subscribe(self) -> None:
        # The view does not exist yet.
        own = events.OwnRows(lambda: self.view.last,
                             lambda: self.view.dead)
        for owner, wanted in self._watches():
            self.databases[wanted.database].require(wanted.table,
                                                    wanted.columns)
            for event in events.of_watch(
                    owner, wanted, own,
                    self._rows if wanted.stale  # type: ignore[arg-type]
                    else self._trigger):
                self._handlers[wanted.database].watch_event(event)
        for name, table, clauses in events.conditions(self._conf):
            self.databases[name].only(table, clauses)

    def _watches(self) -> Iterator[tuple[str, base.Watch]]:
        for wanted in events.of_view(self._conf):
            yield 'view', wanted
        for driver in self._drivers:
            for wanted in driver.events():
                yield driver.name, wanted

    def _connect(self, database: connection.Database) -> None:
        retries = backoff.Retries()
        last = None
        while not self._stopping.is_set():
            try:
                database.start()
                self._wake_for(database, 'loaded')
                return
            except Exception as e:
                if str(e) != last:
                    LOG.warning('%s: %s; trying for ever', database.name, e,
                                exc_info=not isinstance(
                                    e, connection.Unavailable))
                last = str(e)
                retries.note({database.name}, {database.name})
                self._stopping.wait(backoff.spread(min(
                    retries.due_in(), self._conf.ovn.retry_max_interval)))
                retries.take_due()


class NodeView:
    """The node alone; the interface of :class:`ovn.view.View`."""

    confirmed = True
    cross_check = None
    chassis = ''
    marks: frozenset[ownership.Owner] = frozenset()
    dead: frozenset[str] = frozenset()
    silent: frozenset[str] = frozenset()

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf
        self._hostname = socket.gethostname()
        self.last: model.Snapshot | None = None

    def due_in(self) -> None:
        """None: the view never changes by time alone."""
        return None

    def batches(self, anyway: bool = False) -> list[queries.RowBatch]:
        """Nothing: there are no rows."""
        return []

    def snapshot(self, phase: model.Phase, full: bool = False
                 ) -> model.Snapshot:
        """The present view, complete from the first pass on.

        :raises OSError: when the kernel cannot be asked
        """
        self.last = model.Snapshot(model.Node(
            self.chassis, self._hostname, phase,
            local_state.relevant_devices(self._conf, ())))
        return self.last

    restate = snapshot  # as good as a former one


class WithoutOvn:
    """A view without database, like :class:`OvnSide`."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self.databases: dict[str, connection.Database] = {}
        self.view = NodeView(conf)

    def connect(self) -> None:
        """Do nothing: there is no database."""

    def close(self, limit: float) -> None:
        """Do nothing: there is no database."""


def guard_limits(conf: cfg.ConfigOpts, state: view.View, phase: model.Phase
                 ) -> guard.Limits | None:
    """The limits of the withdrawal guard for a pass with the last view.

    None without OVN, and during a stop, which withdraws on purpose.
    """
    cross_check = state.cross_check
    if cross_check is None or phase is not model.Phase.RUNNING:
        return None
    return guard.Limits(conf.withdrawal_guard_percent,
                        conf.withdrawal_guard_minimum, cross_check)
