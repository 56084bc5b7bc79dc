# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Clients of databases in memory: real replicas, and one-shot questions.

What is written is at once in the replicas, as python-ovs makes it of an
update.
"""

import contextlib
import json
import os
import queue
import socketserver
import threading
import traceback

import fixtures
from ovs import jsonrpc
from ovsdbapp.backend.ovs_idl import idlutils

from ovn_network_agent.ovsdb import connection
from ovn_network_agent.ovsdb import replica


class Socket(fixtures.Fixture):
    """Has a :class:`memory.Server` answer one-shot questions: ``remote``."""

    def __init__(self, server):
        super().__init__()
        self._server = server

    def _setUp(self):
        path = os.path.join(
            self.useFixture(fixtures.TempDir()).path, 'sock')
        made = socketserver.ThreadingUnixStreamServer(path, _Client)
        made.daemon_threads = True
        made.of = self._server
        self.addCleanup(made.server_close)
        thread = threading.Thread(target=made.serve_forever, args=(0.01,))
        self.addCleanup(thread.join)
        self.addCleanup(made.shutdown)
        thread.start()
        self.remote = f'unix:{path}'


class _Client(socketserver.BaseRequestHandler):
    """RFC 7047: get_schema and transact."""

    def handle(self):
        text = ''
        while received := self.request.recv(1 << 16):
            text += received.decode()
            with contextlib.suppress(ValueError):
                question = json.loads(text)
                text = ''
                self.request.sendall(json.dumps({
                    'id': question['id'], 'error': None,
                    'result': self._result(**question)}).encode())

    def _result(self, method, params, **_rest):
        if method == 'get_schema':
            return self.server.of.schema
        return self.server.of.attempt(*params[1:])


class Idl(replica.Idl):
    """The replica of a database, with all that has happened there."""

    in_sync = True

    def __init__(self, server, *args, **kwargs):
        super().__init__('unix:/nowhere', *args, **kwargs)
        self._server = server
        self._sent = {table: {} for table in self.tables}
        self._requests = []
        self._late = set()
        self._session = self
        self.state = self.IDL_S_MONITORING

    def send(self, message):
        """Of the session: an agent's transaction, for the next :meth:`run`."""
        self._requests.append(message)
        return 0

    def wait(self, poller):
        poller.immediate_wake()

    def run(self):
        if self._late:
            self.follow(set())
        requests, self._requests = self._requests, []
        for each in requests:
            self._Idl__txn_process_reply(jsonrpc.Message.create_reply(
                self._server.attempt(*each.params[1:]), each.id))
        return bool(requests)

    def follow(self, changed):
        """Take in what some tables have now, by the present conditions.

        A transaction that is being built sees nothing new.
        """
        self._late |= changed
        if self.txn:
            return
        late, self._late = self._late, set()
        update = {}
        for name in late & self.tables.keys():
            table = self.tables[name]
            now = self._server.sent(name, table.columns,
                                    table.condition_state.acked)
            before, self._sent[name] = self._sent[name], now
            update[name] = {str(key): _change(before.get(key), now.get(key))
                            for key in (*before, *(now.keys() - before))
                            if before.get(key) != now.get(key)}
        self._Idl__parse_update(update, 'update')

    def choose_now(self):
        """Have the rows of the last conditions."""
        chosen = {name for name, table in self.tables.items()
                  if table.condition_state.new is not None}
        for name in chosen:
            self.tables[name].condition_state.request()
            self.tables[name].condition_state.ack()
        self._choosing = False
        self.follow(chosen)


def _change(before, now):
    """An update of a row, RFC 7047 4.1.6."""
    found = {}
    if before is not None:
        found['old'] = {name: datum.to_json()
                        for name, datum in before.items()
                        if now is None or now[name] != datum}
    if now is not None:
        found['new'] = {name: datum.to_json() for name, datum in now.items()}
    return found


class _Connection:
    """In the place of ovsdbapp's, whose thread makes the transactions."""

    is_running = True

    def __init__(self, idl):
        self.idl = idl
        self.lock = threading.RLock()
        self.txns = queue.Queue(1)

    def queue_txn(self, txn):
        with self.lock:
            try:
                result = txn.do_commit()
            except Exception as e:
                result = idlutils.ExceptionResult(e, traceback.format_exc())
        txn.results.put(result)


class Database(connection.Database):
    """As the agent has it, but of a :class:`memory.Server`."""

    def __init__(self, server, handler, objection=lambda *_schema: ''):
        super().__init__(server.name, '', handler, 0, 0, objection=objection)
        self._server = server
        self._asked = []
        self._readers = 0

    def _fetch_schema(self):
        return self._server.schema

    def _load(self):
        helper, self._replicated = self._schema_helper()
        idl = Idl(self._server, helper, self._handler, self.dirty,
                  lambda: None, lambda: None, 0)
        for table in self._conditions.keys() & idl.tables.keys():
            idl.cond_change(table, self.clauses(table))
        idl.choose_now()
        idl.follow(idl.tables.keys())
        self._server.replicas.append(idl)
        # The view looks at all rows after a load.
        self.dirty.mark_all()
        return _Connection(idl)

    @contextlib.contextmanager
    def rows(self, timeout=1.0):
        """The server answers once nobody reads any more."""
        self._readers += 1
        try:
            with super().rows(timeout) as tables:
                yield tables
        finally:
            self._readers -= 1
            if self.started and not self._readers:
                self._answer()

    def ask(self, operations, answered):
        self._asked.append((operations, answered))

    def _answer(self):
        """Answer all questions, and send the rows chosen meanwhile."""
        idl = self._connection.idl
        idl.choose_now()
        asked, self._asked = self._asked, []
        for steps, answered in asked:
            answered([each['rows'] for each in self._server.transact(*steps)],
                     replica.tables(idl))

    def stop(self, timeout=0):
        """Nothing to end."""
