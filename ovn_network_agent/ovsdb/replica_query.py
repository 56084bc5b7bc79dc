# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A question to the server of a replica."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from oslo_log import log as logging
from ovs import jsonrpc

LOG = logging.getLogger(__name__)

#: Select, RFC 7047, 5.2.2.
Operation = Mapping[str, Any]
#: For each operation its rows, in JSON.
Answers = Sequence[Sequence[Any]]


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
        lambda message: answered(_answers(message)))


def _answers(message: Any) -> Answers | None:
    if message is None:
        return None
    if message.type == jsonrpc.Message.T_REPLY and all(
            'rows' in (result or ()) for result in message.result):
        return [result['rows'] for result in message.result]
    LOG.warning('A question was not answered: %s', message)
    return None
