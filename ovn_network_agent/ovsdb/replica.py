# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The replica of one OVSDB database, and whether it can be trusted.

python-ovs only logs what it cannot apply of an update; the replica is then
neither old nor new, and the agent must decide nothing from it.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
import contextlib
import threading
from typing import Any
import uuid

from oslo_log import log as logging
from ovsdbapp.backend.ovs_idl import connection
from ovsdbapp.backend.ovs_idl import event as ovsdb_event

from ovn_network_agent import ovsdb
from ovn_network_agent.common import normal_wait
from ovn_network_agent.common import wording
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb import session_idl

LOG = logging.getLogger(__name__)

_FROM_THE_START = str(uuid.UUID(int=0))

# Milliseconds between probes; silence is noticed after twice this time.
_OFTEN = 2000


class Idl(session_idl.SessionIdl, connection.OvsdbIdl):
    """Replica that remembers changed rows and feeds the event handler.

    :param changed: called when :attr:`in_sync` has changed, and repeatedly
        while it is false
    :param wake: called when an event has failed to wake the loop
    :param probe_interval: milliseconds, 0 for none
    :param silent: whether nobody is told of the rows of the first load
    """

    def __init__(self, remote: str, helper: Any, handler: 'Handler',
                 dirty: 'DirtyRows', changed: Callable[[], object],
                 wake: Callable[[], object], probe_interval: int,
                 silent: bool = False, **kwargs: Any) -> None:
        super().__init__(remote, helper, probe_interval, **kwargs)
        self.handler = handler
        self.dirty = dirty
        self.doubt = ''  # the reason why the replica must not be used
        self._changed = changed
        self._wake = wake
        self._silent = silent
        self._reported = False
        self._usual = probe_interval
        self._asks_often = self._often = False
        self._choosing = False

    @property
    def in_sync(self) -> bool:
        """Whether the replica follows the server, and can be trusted."""
        return (not self.doubt and self.state == self.IDL_S_MONITORING and
                self.session.is_connected() and
                self.session.get_seqno() == self.asked)

    def run(self) -> bool:
        """Apply what was received; whether rows changed, True after an error.

        An error or a warning loads everything again (:meth:`distrust`).
        """
        self._set_pace()
        warnings: list[str] = []
        session_idl.collect(warnings)
        before = self.state
        try:
            return bool(super().run())
        except Exception as e:
            LOG.exception('An update could not be applied')
            self.distrust(wording.typed_error(e))
            warnings.clear()
            return True
        finally:
            session_idl.collect(None)
            self._judge(before, warnings)

    def choose(self, table: str, clauses: list[Any]) -> None:
        """Replicate only rows that match a clause; wakes the loop at the end.

        The caller holds the connection's lock.

        :param clauses: of [column, function, value], RFC 7047 5.1
        """
        self.cond_change(table, clauses)
        if self.tables[table].condition_state.new is not None:
            self._choosing = True

    @property
    def chosen(self) -> bool:
        """Whether the replica has the rows of the last :meth:`choose`."""
        return not self._choosing

    def _is_acknowledged(self) -> bool:
        """Whether the replica follows the server by the last clauses.

        The rows come before the acknowledgement.  On a new connection, the
        library takes clauses as acknowledged when it sends them.
        """
        return self.in_sync and all(
            table.condition_state.new is None and
            table.condition_state.requested is None
            for table in self.tables.values())

    def ask_often(self, wanted: bool) -> None:
        """Notice silence and connect again sooner, or not; on any thread.

        :meth:`run` has to follow.  An IDL without probes gets none.
        """
        self._often = wanted

    def _set_pace(self) -> None:
        if self._asks_often is self._often:
            return
        self._asks_often = self._often
        reconnect = self.session.reconnect
        reconnect.set_backoff(*(
            2 * (session_idl.SHORTEST_PAUSE,) if self._asks_often
            else session_idl.pauses()))
        reconnect.set_probe_interval(
            min(self._usual, _OFTEN) if self._asks_often else self._usual)

    def _judge(self, before: int, warnings: list[str]) -> None:
        loaded = (before != self.state == self.IDL_S_MONITORING)
        if warnings and self.state == self.IDL_S_MONITORING:
            self.distrust(warnings[0])
        elif loaded:
            # Rows may have changed without an event.
            self.dirty.mark_all()
            self.doubt = ''
        elif self.doubt:
            # A later change has set last_id again: only newer ones would come.
            self.last_id = _FROM_THE_START
        if self._choosing and self._is_acknowledged():
            self._choosing = False
            self._wake()
        if not (self.in_sync and self._reported):
            # The reason of a loss may come later.
            self._reported = self.in_sync
            self._changed()

    def distrust(self, reason: str) -> None:
        """Stop the use of the replica, and load everything again.

        The session's force_reconnect() has a back-off; the IDL's has none.
        """
        LOG.error('The replica of %s is not what the server has (%s); it is '
                  'loaded again and not used until then', self.database,
                  reason)
        self.doubt = reason
        self.last_id = _FROM_THE_START
        self.session.force_reconnect()

    def cooperative_yield(self) -> None:
        """Do nothing: the loop thread waits for the load anyhow.

        ovsdbapp sleeps for each row, about a second for 14,000 rows.
        """

    def post_connect(self) -> None:
        """Tell of each row from now on; the library calls it after a load."""
        super().post_connect()
        self._silent = False

    def notify(self, event: str, row: columns.Row,
               updates: columns.Row | None = None) -> None:
        """Mark the row as changed, and hand the event to the handler.

        On the IDL thread; an error of an event only wakes the loop.
        """
        if self._silent:
            # The end of the load marks all.
            return
        self.dirty.mark(columns.table(row), row.uuid)
        try:
            self.handler.notify(event, row, updates)
        except Exception:
            # It must not stop the other events.
            LOG.exception('An event of %s failed', columns.table(row))
            self._wake()


class Unavailable(Exception):
    """A database cannot be used at the moment; the text says why."""


class NotLoaded(Unavailable, normal_wait.NotYet):
    """The first load is under way, and no attempt has failed so far."""


class DirtyRows:
    """The rows that changed since the last question; thread-safe."""

    def __init__(self) -> None:
        self.changes = 0  # how often rows have changed so far
        self._lock = threading.Lock()
        self._rows: dict[str, set[uuid.UUID]] = {}
        self._all = False

    def mark(self, table: str, key: uuid.UUID) -> None:
        """Remember a changed row (called on the IDL thread)."""
        with self._lock:
            self.changes += 1
            self._rows.setdefault(table, set()).add(key)

    def mark_all(self) -> None:
        """Remember that any row may have changed (on the IDL thread)."""
        with self._lock:
            self.changes += 1
            self._all = True

    def take_all(self) -> bool:
        """Whether any row may have changed; the answer is then reset."""
        with self._lock:
            marked, self._all = self._all, False
        return marked

    def take(self) -> dict[str, set[uuid.UUID]]:
        """The changed rows by table, which are then forgotten."""
        with self._lock:
            rows, self._rows = self._rows, {}
        return rows


class Handler(ovsdb_event.RowEventHandler):
    """Event handler whose thread can be stopped and waited for.

    Only events of the row's table are asked, unlike in the library: the first
    load has tens of thousands of rows.
    """

    def __init__(self) -> None:
        # Events by table, as keys of a dict that never changes.
        self._of_table: dict[str, dict[Any, None]] = {}
        super().__init__()

    def watch_events(self, events: Iterable[Any]) -> None:
        """As of the library: an event that is there already stays alone."""
        for event in events:
            self.watch_event(event)

    def watch_event(self, event: Any) -> None:
        """Likewise for one event."""
        super().watch_event(event)
        self._of_table[event.table] = {
            **self._of_table.get(event.table, {}), event: None}

    def unwatch_events(self, events: Iterable[Any]) -> None:
        """As of the library: an event that is not there is no error."""
        for event in events:
            self.unwatch_event(event)

    def unwatch_event(self, event: Any) -> None:
        """Likewise for one event."""
        super().unwatch_event(event)
        self._of_table[event.table] = {
            other: None for other in self._of_table.get(event.table, ())
            if other != event}

    def matching_events(self, event: str, row: columns.Row,
                        updates: columns.Row | None) -> list[Any]:
        """The events that match a row, those of high priority first."""
        return sorted((
            each for each in self._of_table.get(columns.table(row), ())
            if self.match(each, event, row, updates)),
            key=lambda each: -each.priority)

    def notify(self, event: str, row: columns.Row,
               updates: columns.Row | None = None) -> None:
        """Run the events that match a row, on the thread of the connection.

        The library's thread would need a copy of all columns, with thousands
        of NAT rows for a router.
        """
        for match in self.matching_events(event, row, updates):
            match.run(event, row, updates)

    def stop(self, timeout: float = 5) -> None:
        """End the notify thread, within some seconds."""
        self.shutdown()
        if threading.current_thread() is not self.notify_thread:
            self.notify_thread.join(timeout)


class Lent:
    """The replica of one database ('nb', 'sb', 'ovs') for its readers."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.dirty = DirtyRows()
        self._connection: Any = None  # None until loaded

    @property
    def problem(self) -> str:
        """The reason why the database cannot be used now, or ''."""
        raise NotImplementedError

    def unusable(self) -> Unavailable:
        """The exception to raise while there is a :attr:`problem`."""
        return Unavailable(self.problem)

    @property
    def started(self) -> bool:
        """True once the first complete load is there."""
        return self._connection is not None

    @property
    def connected(self) -> bool:
        """True while the server answers and the replica follows it."""
        return self._connection is not None and self._connection.idl.in_sync

    @property
    def session(self) -> tuple[int, int] | None:
        """A value that differs after each loss, None while not connected."""
        if not self.connected:
            return None
        return (id(self._connection),
                self._connection.idl.session.get_seqno())

    @contextlib.contextmanager
    def rows(self, timeout: float = 1.0) -> Iterator[columns.Tables]:
        """The tables of the replica, which does not change in this context.

        :param timeout: seconds for the lock, which updates hold
        :raises Unavailable: before the first load, or after the timeout
        """
        connection = self._connection
        if connection is None:
            raise self.unusable()
        if not connection.lock.acquire(timeout=timeout):
            raise Unavailable(f'{ovsdb.SCHEMAS[self.name]} is busy')
        try:
            if connection.idl.doubt or connection is not self._connection:
                raise Unavailable(
                    self.problem or
                    f'{ovsdb.SCHEMAS[self.name]} is loaded again')
            yield tables(connection.idl)
        finally:
            connection.lock.release()


def tables(idl: Any) -> columns.Tables:
    """The tables of a replica."""
    return {name: table.rows for name, table in idl.tables.items()}
