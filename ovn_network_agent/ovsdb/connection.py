# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Connections to OVSDB servers: NB, SB and the local Open vSwitch.

Only columns in use that the schema has are replicated, and rows may be
filtered by the server.
"""

import collections
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import gc
import queue
import threading
import time
from typing import Any

from oslo_log import log as logging
from ovs.db import idl as ovs_idl
from ovsdbapp import exceptions
from ovsdbapp.backend.ovs_idl import connection as ovsdbapp_connection
from ovsdbapp.backend.ovs_idl import idlutils

from ovn_network_agent import ovsdb
from ovn_network_agent.common import backoff
from ovn_network_agent.common import wording
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb import query
from ovn_network_agent.ovsdb import replica
from ovn_network_agent.ovsdb import streams
from ovn_network_agent.ovsdb import time_limits

LOG = logging.getLogger(__name__)

SCHEMAS = ovsdb.SCHEMAS

CLOSE_TIMEOUT = 5  # seconds for the end of a connection's thread, a daemon

# Longest seconds before the first request for the schema of a lost connection,
# which is after the replica's first attempt (at the latest after 2 s), and
# before any request, as in python-ovs.
_SCHEMA_FIRST = 4.0
_SCHEMA_LAST = 8.0

Unavailable = replica.Unavailable


class _Wake:
    """A transaction without content, to wake a connection's thread once.

    The library takes a bare alert back only with a transaction.
    """

    def __init__(self) -> None:
        self.results: queue.Queue[Any] = queue.Queue(1)

    def do_commit(self) -> None:
        """Do nothing; the result is None."""


class Database(replica.Lent):
    """One OVSDB server, and the replica of the tables in use.

    :param name: 'nb', 'sb' or 'ovs'
    :param remotes: comma-separated list
    :param timeout: seconds for one attempt to connect and load
    :param probe_interval: milliseconds
    :param changed: called after a loss or return of the connection, not on the
        loop's thread
    :param objection: says why the schema cannot be used, or '', by the name,
        the required columns of each table, and the tables of the schema
    """

    def __init__(
            self, name: str, remotes: str, handler: replica.Handler,
            timeout: float, probe_interval: int,
            changed: 'Callable[[Database], object]' = lambda database: None,
            objection: Callable[[str, Mapping[str, set[str]], Any], str] =
            lambda name, required, tables: '') -> None:
        super().__init__(name)
        self._remotes = remotes
        self._handler = handler
        self._timeout = timeout
        self._probe_interval = probe_interval
        self._changed = changed
        self._objection = objection
        self._failure = ''
        self._logged_problem = ''
        self._columns: dict[str, set[str]] = collections.defaultdict(set)
        self._conditions: dict[str, list[Any]] = {}
        self._further: dict[str, list[Any]] = {}
        self._replicated: dict[str, list[str]] = {}
        self._stopping = threading.Event()
        self._comparing = threading.Lock()
        # Set while the replica follows the server, and at the end.
        self._returned = threading.Event()
        # Of the last loss or return: seconds since the epoch, and monotonic
        # ones, None until the first loss.
        self.changed_wall = time.time()
        self.changed_at: float | None = None

    def require(self, table: str, columns: Iterable[str]) -> None:
        """Replicate these columns of a table; before :meth:`start`."""
        self._columns[table].update(columns)

    def only(self, table: str, clauses: list[Any]) -> None:
        """Replicate only rows that match one of the clauses.

        :param clauses: of [column, function, value], RFC 7047 5.1
        """
        self._conditions[table] = clauses

    def also(self, table: str, clauses: list[list[Any]]) -> bool:
        """Replicate further rows beside those of :meth:`only`.

        Inside of :meth:`rows`, without a wait.  ``changed`` is called when the
        server has sent them; then the result is true.

        :param clauses: as for :meth:`only`, instead of the last ones here
        """
        # It may lack a column that nothing else needs.
        present = self._replicated.get(table, ())
        clauses = [each for each in clauses if each[0] in present]
        connection = self._connection
        if self._further.get(table) != clauses:
            self._further[table] = clauses
            connection.idl.choose(table, self.clauses(table))
            self._wake_thread(connection)
        return bool(connection.idl.chosen)

    def clauses(self, table: str) -> list[Any]:
        """The clauses of :meth:`only` and :meth:`also`, [] for all rows."""
        return [*self._conditions.get(table, ()),
                *self._further.get(table, ())]

    def start(self) -> None:
        """Connect and load all tables once; may be called again.

        The handler is told of no row: nobody reads yet, and tens of thousands
        of events would delay the load.

        :raises Unavailable: when this fails, or exceeds the time limit
        """
        self._connection = self._loaded()
        self.changed_wall = time.time()
        LOG.info('Connected to %s at %s', SCHEMAS[self.name], self._remotes)

    def _loaded(self) -> Any:
        try:
            connection = self._load()
        except exceptions.TimeoutException as e:
            self._failure = f'no complete answer within {self._timeout} s'
            raise Unavailable(self._failure) from e
        except (OSError, RuntimeError, ValueError, time_limits.NoSchema) as e:
            self._failure = wording.error(e)
            raise Unavailable(self._failure) from e
        self._failure = ''
        return connection

    def _load(self) -> Any:
        """Make and start an ovsdbapp Connection; a failure leaves nothing."""
        helper, columns = self._schema_helper()
        idl = replica.Idl(self._remotes, helper, self._handler, self.dirty,
                          self._sync_changed,
                          lambda: self._changed(self),
                          self._probe_interval, not self.started,
                          leader_only=False)
        connection = None
        try:
            for table in self._conditions:
                if table in idl.tables:
                    idl.cond_change(table, self.clauses(table))
            connection = ovsdbapp_connection.Connection(idl, self._timeout)
            connection.start()
        except BaseException:
            idl.close()
            if connection is not None:
                # Its pipe must not wait for the garbage collection.
                connection.txns.close()
            raise
        # Last, so that a failed load is tried again.
        self._replicated = columns
        return connection

    def _sync_changed(self) -> None:
        """Report a loss, its reason, or the return (on the IDL thread)."""
        if self._connection is None:
            return
        problem = self.problem
        if problem == self._logged_problem:
            return
        if bool(problem) != bool(self._logged_problem):
            self.changed_wall = time.time()
            self.changed_at = time.monotonic()
        self._logged_problem = problem
        if problem:
            self._returned.clear()
            LOG.warning('%s; what was seen last stays in force', problem)
            threading.Thread(target=self._follow_schema, daemon=True,
                             name=f'schema-{self.name}').start()
        else:
            self._returned.set()
            LOG.info('%s: connected again', SCHEMAS[self.name])
        self._changed(self)

    def _schema_helper(self) -> tuple[Any, dict[str, list[str]]]:
        schema = self._fetch_schema()
        tables = schema['tables']
        objection = self._objection(self.name, self._columns, tables)
        if objection:
            raise Unavailable(objection)
        helper = ovs_idl.SchemaHelper(None, schema)
        present = self._present(schema)
        for table in sorted(self._columns):
            if table in tables:
                helper.register_columns(table, present[table])
            else:
                LOG.info('%s has no table %s (another version of OVN)',
                         SCHEMAS[self.name], table)
        return helper, present

    def _fetch_schema(self) -> Any:
        return time_limits.fetch_schema(self._remotes, SCHEMAS[self.name],
                                        self._timeout)

    def _present(self, schema: Any) -> dict[str, list[str]]:
        return {table: sorted(columns & schema['tables'][table][
                    'columns'].keys())
                for table, columns in self._columns.items()
                if table in schema['tables']}

    def _follow_schema(self) -> None:
        """Load again if a lost connection comes back with another schema.

        Otherwise the server refuses columns its schema lacks, and sends no new
        ones.  On a thread of its own until the connection is there.

        All agents lose a server at once, so none asks at once; mostly the
        replica returns first, and one request is enough.
        """
        if not self._comparing.acquire(blocking=False):
            return
        try:
            pause = _SCHEMA_FIRST
            while not self._stopping.is_set():
                self._returned.wait(backoff.spread(pause))
                if self._stopping.is_set() or self._same_schema():
                    return
                if self._returned.is_set():
                    self._stopping.wait(backoff.spread(pause))
                pause = min(pause * 2, _SCHEMA_LAST)
        finally:
            self._comparing.release()

    def _same_schema(self) -> bool:
        was_there = self.connected
        try:
            schema = self._fetch_schema()
        except (OSError, RuntimeError, ValueError, time_limits.NoSchema,
                exceptions.TimeoutException) as e:
            # The loss is logged already.
            LOG.debug('%s: no schema: %s', SCHEMAS[self.name], e)
            return False
        if self._present(schema) == self._replicated:
            self._failure = ''
            return was_there
        LOG.info('%s has another schema now; loading it again',
                 SCHEMAS[self.name])
        try:
            self._replace(self._loaded())
        except Unavailable as e:
            LOG.warning('%s: %s', SCHEMAS[self.name], e)
            self._failure = str(e)
            return False
        # The old rows refer to each other, and collections may leave them out
        # (runtime.process.interpreter).
        gc.unfreeze()
        gc.collect()
        self._sync_changed()
        return True

    def _replace(self, connection: Any) -> None:
        """Use another connection, when no thread reads the old one."""
        old = self._connection
        if old is None or self._stopping.is_set():
            self._end(connection, 0.0)
            return
        with old.lock, connection.lock:
            self._connection = connection
            # The view may have chosen others meanwhile.
            for table in self._further:
                connection.idl.choose(table, self.clauses(table))
            # The view has looked up the first new rows in the old replica.
            self.dirty.mark_all()
        self._wake_thread(connection)
        self._end(old, CLOSE_TIMEOUT)
        if self._stopping.is_set():
            self._end(connection, 0.0)

    @property
    def problem(self) -> str:
        """The reason why the database cannot be used now, or ''."""
        if self.connected:
            return ''
        lacking = 'connected' if self.started else 'loaded yet'
        text = f'{SCHEMAS[self.name]} is not {lacking}'
        why = self._why()
        return f'{text} ({why})' if why else text

    def _why(self) -> str:
        if self._connection is not None and self._connection.idl.doubt:
            return str(self._connection.idl.doubt)
        return self._failure or streams.last_reasons(
            idlutils.parse_connection(self._remotes))

    def unusable(self) -> replica.Unavailable:
        """See :meth:`replica.Lent.unusable`."""
        kind = Unavailable if self.started or self._why() else (
            replica.NotLoaded)
        return kind(self.problem)

    @property
    def connection(self) -> Any:
        """The ovsdbapp Connection, for transactions.

        :raises Unavailable: when not connected
        """
        if not self.connected:
            raise self.unusable()
        return self._connection

    def ask(self, operations: Sequence[query.Operation],
            answered: Callable[[query.Answers | None, columns.Tables],
                               object]) -> None:
        """Ask the server, inside of :meth:`rows`, without a wait.

        :param answered: see :func:`query.ask`; tables as of
            :meth:`rows`
        """
        idl = self._connection.idl
        query.ask(idl, operations, lambda answers: answered(
            answers, replica.tables(idl)))

    def distrust(self, reason: str) -> None:
        """Load everything again; :meth:`rows` raises until then.

        An answer may come while another thread stops.
        """
        connection = self._connection
        if connection is not None:
            connection.idl.distrust(reason)

    def ask_often(self, wanted: bool) -> None:
        """Notice a silent server and connect again sooner, or not."""
        connection = self._connection
        if connection is not None:
            connection.idl.ask_often(wanted)
            self._wake_thread(connection)

    @staticmethod
    def _wake_thread(connection: Any) -> None:
        """The thread may be asleep until its next probe."""
        # A full queue wakes it, too.
        with contextlib.suppress(queue.Full):
            connection.txns.put_nowait(_Wake())

    def stop(self, timeout: float = CLOSE_TIMEOUT) -> None:
        """Close the connection, with ``timeout`` seconds for its thread.

        The library's Connection.stop() would wait for room in the queue of
        transactions, which stays full when the server hangs.
        """
        self._stopping.set()
        self._returned.set()
        connection, self._connection = self._connection, None
        if connection is not None:
            self._end(connection, timeout)

    @staticmethod
    def _end(connection: Any, timeout: float) -> None:
        connection.is_running = False
        connection.txns.alert_notify()
        connection.thread.join(timeout)
