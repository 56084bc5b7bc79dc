# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A question to a database server, from a thread beside the loop."""

import threading

from ovn_network_agent.backends import base
from ovn_network_agent.ovsdb import connection

# Seconds to wait for the answer.
PATIENCE = 5.0


def ask(database, operations, patience=PATIENCE):
    """Ask the server, and wait for its answer.

    :param database: :class:`ovsdb.connection.Database`
    :param operations: of :func:`ovsdb.question.select`
    :param patience: seconds to wait for the answer
    :returns: list of lists of rows, one for each operation
    :raises BackendError: when there is no answer
    """
    answered = threading.Event()
    found = []

    def told(answers, _tables):
        found.append(answers)
        answered.set()

    try:
        with database.rows():
            database.ask(operations, told)
    except connection.Unavailable as e:
        raise base.BackendError(str(e)) from e
    if not answered.wait(patience) or found[0] is None:
        raise base.BackendError(
            f'{connection.SCHEMAS[database.name]} does not answer')
    return found[0]
