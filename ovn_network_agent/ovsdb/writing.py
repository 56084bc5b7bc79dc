# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""One change that somebody waits for."""

from collections.abc import Callable
from typing import TypeVar

from ovsdbapp import exceptions

from ovn_network_agent.ovsdb import connection
from ovn_network_agent.ovsdb import time_limits

_T = TypeVar('_T')


class NotWritten(Exception):
    """A change was not made, or may not have been; the text says why."""


def write(database: connection.Database, called: str,
          make: Callable[[time_limits.Api], _T], timeout: float,
          shown_by: str) -> _T:
    """Commit one command in a transaction of its own.

    If a verified row has changed, the command runs again with the new one.

    :param called: the database for people
    :param shown_by: the command of ovn-network-agent-ctl that shows whether
        the change was made
    :raises NotWritten: when the change may not have been made
    """
    try:
        ovsdb = database.connection
    except connection.Unavailable as e:
        raise NotWritten(str(e)) from e
    txn = time_limits.Transaction(
        time_limits.Api(ovsdb.idl), ovsdb, check_error=True, log_errors=False,
        timeout=timeout)
    command: _T = txn.add(make(txn.api))
    try:
        txn.commit()
    except (exceptions.TimeoutException, time_limits.NoAnswer) as e:
        raise NotWritten(
            f'{called} did not answer within {timeout:g} s; "{shown_by}" '
            'shows whether it was written') from e
    except RuntimeError as e:
        raise NotWritten(f'{called} refused it: {e}') from e
    return command
