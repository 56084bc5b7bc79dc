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

"""Connections to OVSDB servers: NB, SB and the local Open vSwitch.

Built on ovsdbapp's Connection.  What is added: only the columns somebody
needs are replicated, rows can be filtered by the server, columns that an
older or newer schema lacks are left out, changed rows are remembered until
the view asks for them, and the start is repeated for ever with a back-off.
"""

import collections
import contextlib
import threading

from oslo_log import log as logging
from ovs.db import idl as ovs_idl
from ovsdbapp import exceptions
from ovsdbapp.backend.ovs_idl import connection as ovsdbapp_connection
from ovsdbapp.backend.ovs_idl import idlutils

from ovn_network_agent.ovsdb import bounded
from ovn_network_agent.ovsdb import replica
from ovn_network_agent.ovsdb import streams

LOG = logging.getLogger(__name__)

SCHEMAS = {'nb': 'OVN_Northbound', 'sb': 'OVN_Southbound',
           'ovs': 'Open_vSwitch'}

# Seconds to wait for a connection's thread, which is a daemon, at the end.
CLOSE_TIMEOUT = 5

# Seconds between two looks at the schema while a connection is lost; the
# second number is python-ovs's own longest pause between two attempts.
_SCHEMA_FIRST = 0.5
_SCHEMA_LAST = 8.0


class Unavailable(Exception):
    """A database cannot be used at the moment; the reason is the text."""


class DirtyRows:
    """Which rows changed since they were last asked for; thread-safe."""

    def __init__(self):
        self._lock = threading.Lock()
        self._rows = collections.defaultdict(set)
        self._all = False

    def mark(self, table, uuid):
        """Remember a changed row (called on the IDL thread)."""
        with self._lock:
            self._rows[table].add(uuid)

    def mark_all(self):
        """Any row may have changed (called on the IDL thread)."""
        with self._lock:
            self._all = True

    def take_all(self):
        """Whether any row may have changed; forgets that."""
        with self._lock:
            marked, self._all = self._all, False
        return marked

    def take(self):
        """dict of table name to set of UUIDs; forgets them."""
        with self._lock:
            rows, self._rows = self._rows, collections.defaultdict(set)
        return dict(rows)


class Database:
    """One OVSDB server with the tables that are needed of it.

    :param name: 'nb', 'sb' or 'ovs'
    :param remotes: comma-separated list of remotes
    :param handler: ovsdbapp RowEventHandler with the events to watch
    :param timeout: seconds for one attempt to connect and load
    :param probe_interval: milliseconds
    :param changed: function(Database) called when the connection is lost
        or there again, on a thread of its own
    :param objection: function(name, dict of table to set of columns that
        are required, tables of the server's schema) -> why this schema
        cannot be used, '' when it can
    """

    def __init__(self, name, remotes, handler, timeout, probe_interval,
                 changed=lambda database: None,
                 objection=lambda name, required, tables: ''):
        self.name = name
        self.dirty = DirtyRows()
        self._remotes = remotes
        self._handler = handler
        self._timeout = timeout
        self._probe_interval = probe_interval
        self._changed = changed
        self._objection = objection
        self._failure = ''
        self._said = ''
        self._columns = collections.defaultdict(set)
        self._conditions = {}
        self._connection = None
        self._replicated = {}
        self._stopping = threading.Event()
        self._comparing = threading.Lock()

    def require(self, table, columns):
        """Replicate these columns of a table; before :meth:`start`."""
        self._columns[table].update(columns)

    def only(self, table, clauses):
        """Replicate only rows that match one of the clauses.

        :param clauses: list of [column, function, value], RFC 7047 5.1
        """
        self._conditions[table] = clauses

    def start(self):
        """Connect and load everything once.

        :raises Unavailable: when that did not work within the time limit;
            may be called again
        """
        self._connection = self._loaded()
        LOG.info('Connected to %s at %s', SCHEMAS[self.name], self._remotes)

    def _loaded(self):
        """As :meth:`_load`.

        :raises Unavailable: when that did not work within the time limit
        """
        try:
            connection = self._load()
        except exceptions.TimeoutException as e:
            self._failure = f'no complete answer within {self._timeout} s'
            raise Unavailable(self._failure) from e
        except (OSError, RuntimeError, ValueError, bounded.NoSchema) as e:
            self._failure = str(e)
            raise Unavailable(self._failure) from e
        self._failure = ''
        return connection

    def _load(self):
        """A started ovsdbapp Connection; leaves nothing when it fails."""
        helper, columns = self._schema_helper()
        idl = replica.Idl(self._remotes, helper, self._handler, self.dirty,
                          self._sync_changed,
                          lambda: self._changed(self),
                          self._probe_interval, leader_only=False)
        try:
            for table, clauses in self._conditions.items():
                if table in idl.tables:
                    idl.cond_change(table, clauses)
            connection = ovsdbapp_connection.Connection(idl, self._timeout)
        except BaseException:
            idl.close()
            raise
        try:
            connection.start()
        except BaseException:
            idl.close()
            # Not left to the garbage collection: it has a pipe.
            connection.txns.close()
            raise
        # Only now: what could not be loaded is tried again.
        self._replicated = columns
        return connection

    def _sync_changed(self):
        """On the IDL thread: lost, why it is lost, or there again."""
        if self._connection is None:
            return
        trouble = self.trouble
        if trouble == self._said:
            return
        self._said = trouble
        if trouble:
            LOG.warning('%s; what was seen last stays in force', trouble)
            threading.Thread(target=self._follow_schema, daemon=True,
                             name=f'schema-{self.name}').start()
        else:
            LOG.info('%s: connected again', SCHEMAS[self.name])
        self._changed(self)

    # -- the schema -------------------------------------------------------

    def _schema_helper(self):
        """(SchemaHelper, dict of table to list of columns to replicate)."""
        schema = self._fetch_schema()
        tables = schema['tables']
        objection = self._objection(self.name, self._columns, tables)
        if objection:
            raise Unavailable(objection)
        helper = ovs_idl.SchemaHelper(None, schema)
        present = self._present(schema)
        for table in sorted(self._columns):
            if table not in tables:
                LOG.info('%s has no table %s (another version of OVN)',
                         SCHEMAS[self.name], table)
                continue
            helper.register_columns(table, present[table])
        return helper, present

    def _fetch_schema(self):
        return bounded.fetch_schema(self._remotes, SCHEMAS[self.name],
                                    self._timeout)

    def _present(self, schema):
        """dict of table to list of its columns that are needed."""
        return {table: sorted(columns & schema['tables'][table][
                    'columns'].keys())
                for table, columns in self._columns.items()
                if table in schema['tables']}

    def _follow_schema(self):
        """Load anew where a lost connection comes back with another schema.

        OVN was upgraded, or went back: the server refuses columns that it
        does not have any more, for ever, and gives none of the new ones.
        On a thread of its own, until the connection is there.
        """
        if not self._comparing.acquire(blocking=False):
            return
        try:
            pause = _SCHEMA_FIRST
            while not self._stopping.is_set() and not self._same_schema():
                self._stopping.wait(pause)
                pause = min(pause * 2, _SCHEMA_LAST)
        finally:
            self._comparing.release()

    def _same_schema(self):
        """Whether the connection is there, with the server's schema."""
        was_there = self.connected
        try:
            schema = self._fetch_schema()
        except (OSError, RuntimeError, ValueError, bounded.NoSchema,
                exceptions.TimeoutException) as e:
            # That it is away is said already.
            LOG.debug('%s: no schema: %s', SCHEMAS[self.name], e)
            return False
        if self._present(schema) == self._replicated:
            self._failure = ''
            return was_there
        LOG.info('%s has another schema now; loading it anew',
                 SCHEMAS[self.name])
        try:
            self._replace(self._loaded())
        except Unavailable as e:
            LOG.warning('%s: %s', SCHEMAS[self.name], e)
            self._failure = str(e)
            return False
        self._sync_changed()
        return True

    def _replace(self, connection):
        """Use another connection; who reads the old one reads to the end."""
        old = self._connection
        if old is None or self._stopping.is_set():
            self._end(connection, 0.0)
            return
        with old.lock:
            self._connection = connection
            # Rows of the new one that came before were looked for in the old.
            self.dirty.mark_all()
        self._end(old, CLOSE_TIMEOUT)
        if self._stopping.is_set():
            self._end(connection, 0.0)

    @property
    def started(self):
        """True once the first complete load is there."""
        return self._connection is not None

    @property
    def connected(self):
        """True while the server answers and the replica follows it."""
        return self._connection is not None and self._connection.idl.in_sync

    @property
    def session(self):
        """What is different after each loss, None while not connected."""
        if not self.connected:
            return None
        return (id(self._connection),
                self._connection.idl._session.get_seqno())

    @property
    def trouble(self):
        """Why it cannot be used at the moment, '' when it can."""
        if self.connected:
            return ''
        lacking = 'connected' if self.started else 'loaded yet'
        text = f'{SCHEMAS[self.name]} is not {lacking}'
        why = self._failure or streams.last_reasons(
            idlutils.parse_connection(self._remotes))
        if self._connection is not None and self._connection.idl.doubt:
            why = self._connection.idl.doubt
        return f'{text} ({why})' if why else text

    @property
    def connection(self):
        """The ovsdbapp Connection, for transactions.

        :raises Unavailable: when not connected
        """
        if not self.connected:
            raise Unavailable(self.trouble)
        return self._connection

    def ask(self, operations, answered):
        """Ask the server itself, inside of :meth:`rows`; never waits.

        :param operations: see :meth:`replica.Idl.ask`
        :param answered: function(list of lists of rows or None, tables as
            in :meth:`rows`), called on the thread of the connection
        """
        idl = self._connection.idl

        def told(answers):
            answered(answers, _tables(idl))
        idl.ask(operations, told)

    def distrust(self, reason):
        """Load everything anew, and let nobody read until then.

        :param reason: text
        """
        self._connection.idl.distrust(reason)

    @contextlib.contextmanager
    def rows(self, timeout=1.0):
        """Hold the replica still and give its tables.

        :param timeout: seconds to wait for the IDL thread, which holds the
            lock while a transaction waits for its answer
        :returns: context with a dict of table name to dict of UUID to row
        :raises Unavailable: before the first load, or when the replica is
            busy for longer
        """
        connection = self._connection
        if connection is None:
            raise Unavailable(self.trouble)
        if not connection.lock.acquire(timeout=timeout):
            raise Unavailable(f'{SCHEMAS[self.name]} is busy')
        try:
            if connection.idl.doubt or connection is not self._connection:
                raise Unavailable(self.trouble or
                                  f'{SCHEMAS[self.name]} is loaded anew')
            yield _tables(connection.idl)
        finally:
            connection.lock.release()

    def stop(self, timeout=CLOSE_TIMEOUT):
        """Close the connection.

        :param timeout: seconds to wait for its thread

        Not with Connection.stop(): that waits for room in the queue of
        transactions, which nobody empties any more when the server hangs.
        """
        self._stopping.set()
        connection, self._connection = self._connection, None
        if connection is not None:
            self._end(connection, timeout)

    @staticmethod
    def _end(connection, timeout):
        connection.is_running = False
        connection.txns.alert_notify()
        connection.thread.join(timeout)


def _tables(idl):
    return {name: table.rows for name, table in idl.tables.items()}
