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
from ovs import stream
from ovsdbapp.backend.ovs_idl import connection as ovsdbapp_connection
from ovsdbapp import exceptions

from ovn_network_agent.ovn import bounded

LOG = logging.getLogger(__name__)

SCHEMAS = {'nb': 'OVN_Northbound', 'sb': 'OVN_Southbound',
           'ovs': 'Open_vSwitch'}

# Seconds to wait for a connection's thread, which is a daemon, at the end.
CLOSE_TIMEOUT = 5


class Unavailable(Exception):
    """A database cannot be used at the moment; the reason is the text."""


def configure_tls(conf):
    """Set keys and certificates for ``ssl:`` remotes.

    They are state of the whole process in python-ovs: one set serves all
    databases.
    """
    if conf.ovn.ovn_ssl_key:
        stream.Stream.ssl_set_private_key_file(conf.ovn.ovn_ssl_key)
        stream.Stream.ssl_set_certificate_file(conf.ovn.ovn_ssl_cert)
    if conf.ovn.ovn_ssl_ca:
        stream.Stream.ssl_set_ca_cert_file(conf.ovn.ovn_ssl_ca)


class DirtyRows:
    """Which rows changed since they were last asked for; thread-safe."""

    def __init__(self):
        self._lock = threading.Lock()
        self._rows = collections.defaultdict(set)

    def mark(self, table, uuid):
        """Remember a changed row (called on the IDL thread)."""
        with self._lock:
            self._rows[table].add(uuid)

    def take(self):
        """dict of table name to set of UUIDs; forgets them."""
        with self._lock:
            rows, self._rows = self._rows, collections.defaultdict(set)
        return dict(rows)


class Idl(ovsdbapp_connection.OvsdbIdl):
    """Replica that remembers changed rows and feeds the event handler."""

    def __init__(self, remote, helper, handler, dirty, **kwargs):
        super().__init__(remote, helper, **kwargs)
        self.handler = handler
        self.dirty = dirty

    def notify(self, event, row, updates=None):
        self.dirty.mark(row._table.name, row.uuid)
        self.handler.notify(event, row, updates)

    def cooperative_yield(self):
        """Do not sleep per row: the loop thread waits for the dump anyhow.

        The library's version costs about a second for 14,000 rows.
        """


class Database:
    """One OVSDB server with the tables that are needed of it.

    :param name: 'nb', 'sb' or 'ovs'
    :param remotes: comma-separated list of remotes
    :param handler: ovsdbapp RowEventHandler with the events to watch
    :param timeout: seconds for one attempt to connect and load
    :param probe_interval: milliseconds
    """

    def __init__(self, name, remotes, handler, timeout, probe_interval):
        self.name = name
        self.dirty = DirtyRows()
        self._remotes = remotes
        self._handler = handler
        self._timeout = timeout
        self._probe_interval = probe_interval
        self._columns = collections.defaultdict(set)
        self._conditions = {}
        self._connection = None

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
        try:
            helper = self._schema_helper()
            idl = Idl(self._remotes, helper, self._handler, self.dirty,
                      leader_only=False, probe_interval=self._probe_interval)
            for table, clauses in self._conditions.items():
                if table in idl.tables:
                    idl.cond_change(table, clauses)
            connection = ovsdbapp_connection.Connection(idl, self._timeout)
        except (OSError, RuntimeError, ValueError, bounded.NoSchema) as e:
            raise Unavailable(str(e)) from e
        try:
            connection.start()
        except exceptions.TimeoutException as e:
            idl.close()
            raise Unavailable('no complete answer within %s s'
                              % self._timeout) from e
        self._connection = connection
        LOG.info('Connected to %s at %s', SCHEMAS[self.name], self._remotes)

    def _schema_helper(self):
        schema = bounded.fetch_schema(self._remotes, SCHEMAS[self.name],
                                      self._timeout)
        tables = schema['tables']
        helper = ovs_idl.SchemaHelper(None, schema)
        for table, columns in sorted(self._columns.items()):
            if table not in tables:
                LOG.info('%s has no table %s (another version of OVN)',
                         SCHEMAS[self.name], table)
                continue
            present = columns & tables[table]['columns'].keys()
            helper.register_columns(table, sorted(present))
        return helper

    @property
    def started(self):
        """True once the first complete load is there."""
        return self._connection is not None

    @property
    def connected(self):
        """True while the server answers."""
        if self._connection is None:
            return False
        return self._connection.idl._session.is_connected()

    @property
    def connection(self):
        """The ovsdbapp Connection, for transactions.

        :raises Unavailable: when not connected
        """
        if not self.connected:
            raise Unavailable('%s is not connected' % SCHEMAS[self.name])
        return self._connection

    @contextlib.contextmanager
    def rows(self, timeout=1.0):
        """Hold the replica still and give its tables.

        :param timeout: seconds to wait for the IDL thread, which holds the
            lock while a transaction waits for its answer
        :returns: context with a dict of table name to dict of UUID to row
        :raises Unavailable: before the first load, or when the replica is
            busy for longer
        """
        if self._connection is None:
            raise Unavailable('%s is not loaded yet' % SCHEMAS[self.name])
        if not self._connection.lock.acquire(timeout=timeout):
            raise Unavailable('%s is busy' % SCHEMAS[self.name])
        try:
            yield {name: table.rows for name, table
                   in self._connection.idl.tables.items()}
        finally:
            self._connection.lock.release()

    def stop(self, timeout=CLOSE_TIMEOUT):
        """Close the connection.

        :param timeout: seconds to wait for its thread

        Not with Connection.stop(): that waits for room in the queue of
        transactions, which nobody empties any more when the server hangs.
        """
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.is_running = False
            connection.txns.alert_notify()
            connection.thread.join(timeout)
