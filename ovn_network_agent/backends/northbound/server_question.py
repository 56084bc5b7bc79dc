# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A question to a database server, from a thread beside the loop."""

from collections.abc import Sequence
import threading

from ovn_network_agent.backends import base
from ovn_network_agent.ovsdb import connection
from ovn_network_agent.ovsdb import replica_query

# Seconds to wait for the answer.
TIMEOUT = 5.0


def ask(database: connection.Database,
        operations: Sequence[replica_query.Operation],
        timeout: float = TIMEOUT) -> replica_query.Answers:
    """Ask the server, and wait for its answer: rows for each operation.

    :raises BackendError: when there is no answer in time
    """
    answered = threading.Event()
    found = []

    def on_answer(answers: replica_query.Answers | None,
                  _tables: object) -> None:
        found.append(answers)
        answered.set()

    try:
        with database.rows():
            database.ask(operations, on_answer)
    except connection.Unavailable as e:
        raise base.BackendError(str(e)) from e
    if not answered.wait(timeout) or found[0] is None:
        raise base.BackendError(
            f'{connection.SCHEMAS[database.name]} does not answer')
    return found[0]
