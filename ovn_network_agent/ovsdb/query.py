# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Questions to an OVSDB server: select (RFC 7047, 5.2.2).

One of a replica follows all earlier updates.  One without a replica is for a
few rows of tables that may have a hundred thousand;
:mod:`ovn_network_agent.ovn` can read the rows.
"""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import errno
import functools
import json
import os
import sys
import time
import typing
from typing import Any
import uuid

from oslo_log import log as logging
from ovs import jsonrpc
from ovs import poller
from ovs import stream
from ovs.db import data
from ovs.db import error as errors
from ovs.db import schema as ovs_schema

from ovn_network_agent.common import wording

LOG = logging.getLogger(__name__)

_CHUNK = 256 * 1024


Tables: typing.TypeAlias = 'dict[str, dict[uuid.UUID, Row]]'
#: Select, RFC 7047, 5.2.2.
Operation = Mapping[str, Any]
#: For each operation its rows, in JSON.
Answers = Sequence[Sequence[Any]]


class Failed(Exception):
    """The server did not answer a question; the text has the reason."""


@functools.total_ordering
class Row:
    """One row; its columns are attributes, as in python-ovs.

    References to rows not selected are left out of a set, or else are rows
    without columns.

    :param values: ovs.db.data.Datum by column
    :param tables: see :class:`Session`
    """

    def __init__(self, key: uuid.UUID, values: dict[str, Any],
                 tables: Tables) -> None:
        self.uuid = key
        self._data = values
        self._tables = tables

    def __getattr__(self, column: str) -> Any:
        if column.startswith('_') or column not in self._data:
            raise AttributeError(column)
        datum = self._data[column]
        if datum.type.is_scalar() and datum.type.key.ref_table_name:
            key = datum.as_scalar()
            return (self._uuid_to_row(key, datum.type.key) or
                    Row(key, {}, self._tables))
        return datum.to_python(self._uuid_to_row)

    def _uuid_to_row(self, value: Any, base: Any) -> Any:
        """As of a row of python-ovs, see library_internals.py."""
        if base is None or not base.ref_table_name:
            return value
        return self._tables.get(base.ref_table_name, {}).get(value)

    def __lt__(self, other: 'Row') -> bool:
        return self.uuid < other.uuid

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Row) and self.uuid == other.uuid

    def __hash__(self) -> int:
        return hash(self.uuid)


class Session:
    """A connection for questions to the first server that answers.

    :param timeout: seconds for everything together
    :raises Failed: when no server answers
    """

    def __init__(self, remotes: Iterable[str], database: str,
                 timeout: float) -> None:
        self._database = database
        self._deadline = time.monotonic() + timeout
        self._stream, self._schema = self._connect(remotes)
        # The selected rows.
        self.tables: Tables = {name: {} for name in self._schema.tables}

    def __enter__(self) -> typing.Self:
        return self

    def __exit__(self, *unused: object) -> None:
        self._stream.close()

    def has(self, table: str, column: str | None = None) -> bool:
        """Whether the schema has a table, and a column if one is named."""
        found = self._schema.tables.get(table)
        return found is not None and (column is None or
                                      column in found.columns)

    def select(self, *questions: tuple[Any, ...],
               columns: Collection[str] = ()) -> list[list[Row]]:
        """Select rows, all questions in one transaction.

        :param questions: (table, clause, ...), RFC 7047, 5.1; all without
            clause
        :param columns: the columns to select, none for all
        :raises Failed: when the server refuses, or does not answer
        """
        if not questions:
            return []
        some = {'columns': ['_uuid', *columns]} if columns else {}
        operations = [{'op': 'select', 'table': table, 'where': list(where),
                       **some} for table, *where in questions]
        answers = self._ask(self._stream, 'transact',
                            [self._database, *operations])
        with _understood('transact'):
            return [self._rows(table, answer) for (table, *_where), answer
                    in zip(questions, answers, strict=False)]

    def by_uuid(self, table: str, keys: Iterable[uuid.UUID]) -> list[Row]:
        """Select rows by their UUIDs, without rows that are gone."""
        found = self.select(*((table, ['_uuid', '==', ['uuid', str(key)]])
                              for key in keys))
        return [row for rows in found for row in rows]

    def _connect(self, remotes: Iterable[str]) -> tuple[Any, Any]:
        reasons = []
        for remote in remotes:
            try:
                return self._open(remote)
            except (Failed, OSError, ValueError) as e:
                reasons.append(f'{remote}: {wording.error(e)}')
        raise Failed(f'{self._database}: ' + '; '.join(reasons))

    def _open(self, remote: str) -> tuple[Any, Any]:
        error, opened = stream.Stream.open_block(
            stream.Stream.open(remote), self._milliseconds())
        if error:
            raise Failed(_reason(remote, error))
        try:
            found = self._ask(opened, 'get_schema', [self._database])
            with _understood('get_schema'):
                return opened, ovs_schema.DbSchema.from_json(found)
        except BaseException:
            opened.close()
            raise

    def _milliseconds(self) -> int:
        return max(1, int((self._deadline - time.monotonic()) * 1000))

    def _ask(self, opened: Any, method: str, parameters: list[Any]) -> Any:
        self._send(opened, json.dumps({'id': 0, 'method': method,
                                       'params': parameters}).encode())
        reply = self._receive(opened)
        with _understood(method):
            if reply.get('error'):
                raise Failed(f'{method} of {self._database}: '
                             f'{reply["error"]}')
            for answer in reply['result'] if method == 'transact' else ():
                if answer and answer.get('error'):
                    raise Failed(f'{answer["error"]}: '
                                 f'{answer.get("details")}')
            return reply['result']

    def _send(self, opened: Any, message: bytes) -> None:
        while message:
            sent = opened.send(message)
            if sent < 0:
                self._wait(opened, -sent, opened.send_wait)
            else:
                message = message[sent:]

    def _receive(self, opened: Any) -> Any:
        """The answer; a question of the server is left aside.

        The parser of python-ovs, in Python, would take most of the time.
        """
        decoder, received = json.JSONDecoder(), b''
        while True:
            error, found = opened.recv(_CHUNK)
            if error:
                self._wait(opened, error, opened.recv_wait)
                continue
            if not found:
                raise Failed('connection closed')
            received += found
            try:
                # Incomplete texts raise the same error as bad ones.
                reply, used = decoder.raw_decode(received.decode())
            except ValueError:
                continue
            except RecursionError:
                raise Failed('an answer is nested too deeply') from None
            with _understood('the server'):
                if reply.get('method') is None:
                    return reply
            received = received.decode()[used:].encode()

    def _wait(self, opened: Any, error: int,
              ask_to_wake: Callable[[Any], object]) -> None:
        if error != errno.EAGAIN:
            raise Failed(os.strerror(error))
        if time.monotonic() >= self._deadline:
            raise Failed('no answer in time')
        waiting = poller.Poller()
        ask_to_wake(waiting)
        waiting.timer_wait(self._milliseconds())
        waiting.block()

    def _rows(self, table: str, answer: Any) -> list[Row]:
        columns = self._schema.tables[table].columns
        found = []
        for values in answer['rows']:
            key = uuid.UUID(values['_uuid'][1])
            row = Row(key, {name: data.Datum.from_json(
                columns[name].type, value) for name, value in values.items()
                if name in columns}, self.tables)
            self.tables[table][key] = row
            found.append(row)
        return found


@contextlib.contextmanager
def _understood(what: str) -> Iterator[None]:
    try:
        yield
    except (AttributeError, LookupError, TypeError, ValueError,
            errors.Error) as error:
        raise Failed(f'{what}: the answer was not understood: '
                     f'{error!r}') from error


def _reason(remote: str, error: int) -> str:
    """Only TLS knows more than the number."""
    streams = sys.modules.get('ovn_network_agent.ovsdb.streams')
    return streams.reason(remote, error) if streams else os.strerror(error)


def select(table: str, *where: Sequence[Any],
           columns: Iterable[str] = ('_uuid',)) -> Operation:
    """An operation that finds the rows for which all clauses are true."""
    return {'op': 'select', 'table': table, 'where': list(where),
            'columns': list(columns)}


def ask(idl: Any, operations: Sequence[Operation],
        answered: Callable[[Answers | None], object]) -> None:
    """Send a read-only transaction without a wait, under the lock.

    All earlier updates come before the answer.

    :param answered: called on the IDL thread under the lock; None: no answer
    """
    idl.session.ask(
        jsonrpc.Message.create_request(
            'transact', [idl.database, *operations]),
        lambda message: answered(_of_reply(message)))


def _of_reply(message: Any) -> Answers | None:
    if message is None:
        return None
    if message.type == jsonrpc.Message.T_REPLY and all(
            'rows' in (result or ()) for result in message.result):
        return [result['rows'] for result in message.result]
    LOG.warning('A question was not answered: %s', message)
    return None
