# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Schema requests and transactions with a time limit.

python-ovs and ovsdbapp have none, and a silent server must never block a
thread or a lock.
"""

import errno
import time
from typing import Any

from ovs import jsonrpc
from ovs import poller
from ovs import stream
from ovs.db import idl as ovs_idl
from ovsdbapp.backend.ovs_idl import idlutils
from ovsdbapp.backend.ovs_idl import transaction

from ovn_network_agent.ovsdb import rpc
from ovn_network_agent.ovsdb import streams


class NoSchema(Exception):
    """No remote gave a schema; the text says why for each."""


class NoAnswer(Exception):
    """The server did not answer in time; the change may still happen."""


def fetch_schema(remotes: str, database: str, timeout: float) -> Any:
    """Ask servers for a schema until one answers.

    :param database: such as 'OVN_Northbound'
    :param timeout: seconds, for each remote
    :raises NoSchema: when no remote gives the schema
    """
    reasons = []
    for remote in idlutils.parse_connection(remotes):
        try:
            return _ask(remote, database, time.monotonic() + timeout)
        except NoSchema as e:
            reasons.append(f'{remote}: {e}')
    raise NoSchema('; '.join(reasons))


def _ask(remote: str, database: str, deadline: float) -> Any:
    error, opened = stream.Stream.open_block(
        stream.Stream.open(remote), _milliseconds(deadline))
    if error:
        raise NoSchema(streams.reason(remote, error))
    connection = rpc.Connection(opened)
    try:
        request = jsonrpc.Message.create_request('get_schema', [database])
        error = connection.send(request)
        reply: Any = None
        while not error and (reply is None or reply.id != request.id):
            error, reply = _receive(connection, deadline)
    finally:
        connection.close()
    if error:
        raise NoSchema('connection closed' if error == jsonrpc.EOF
                       else streams.reason(remote, error))
    if reply.error:
        raise NoSchema(f'it has no database {database}')
    return reply.result


def _receive(connection: rpc.Connection, deadline: float) -> tuple[int, Any]:
    """(errno, None) or (0, message)."""
    while True:
        connection.run()
        error, message = connection.recv()
        if error != errno.EAGAIN:
            return error, message
        if time.monotonic() >= deadline:
            return errno.ETIMEDOUT, None
        waiting = poller.Poller()
        connection.wait(waiting)
        connection.recv_wait(waiting)
        waiting.timer_wait(_milliseconds(deadline))
        waiting.block()


def _milliseconds(deadline: float) -> int:
    return max(1, int((deadline - time.monotonic()) * 1000))


class Api:
    """The attribute of an API object that ovsdbapp's commands need."""

    def __init__(self, idl: Any) -> None:
        self.idl = idl


class Transaction(transaction.Transaction):
    """An ovsdbapp transaction that releases the lock while it waits.

    The library's would keep the loop from the replica until the answer.  This
    one, also on the connection's thread, gives up at its time limit; the
    change may still take effect.
    """

    def do_commit(self) -> list[Any]:
        """Run the commands until the server accepts them (IDL thread).

        :raises RuntimeError: when the server refuses
        :raises NoAnswer: when the server does not answer within the limit
        """
        deadline = time.monotonic() + self.timeout
        while True:
            seqno = self.api.idl.change_seqno
            txn = ovs_idl.Transaction(self.api.idl)
            try:
                for command in self.commands:
                    command.run_idl(txn)
                status = self._commit(txn, deadline)
            except Exception:
                txn.abort()
                raise
            if status == txn.TRY_AGAIN:
                self._wait_for_change(seqno, deadline)
                continue
            if status in (txn.SUCCESS, txn.UNCHANGED):
                return [command.result for command in self.commands]
            raise RuntimeError(f'OVSDB Error: {txn.get_error()}')

    def _commit(self, txn: Any, deadline: float) -> Any:
        while True:
            status = txn.commit()
            if status != txn.INCOMPLETE:
                return status
            self._wait(deadline, txn)

    def _wait_for_change(self, seqno: int, deadline: float) -> None:
        while self.api.idl.change_seqno == seqno:
            self._wait(deadline)

    def _wait(self, deadline: float, txn: Any = None) -> None:
        if time.monotonic() >= deadline:
            raise NoAnswer(f'no answer within {self.timeout} s')
        if not self.ovsdb_connection.is_running:
            raise NoAnswer('the connection is being closed')
        waiting = poller.Poller()
        self.api.idl.wait(waiting)
        if txn is not None:
            txn.wait(waiting)
        waiting.timer_wait(_milliseconds(deadline))
        lock = self.ovsdb_connection.lock
        # Reentrant, but only the connection's run() holds it here.
        lock.release()
        try:
            waiting.block()
        finally:
            lock.acquire()
        self.api.idl.run()
