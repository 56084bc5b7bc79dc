# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The base of all writes to an OVSDB server: refusal and verification."""

from collections.abc import Callable
from collections.abc import MutableMapping
from typing import Any
from typing import TypeVar
from typing import cast
import weakref

from ovsdbapp import exceptions
from ovsdbapp.backend.ovs_idl import command

from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb import connection
from ovn_network_agent.ovsdb import time_limits

_T = TypeVar('_T')

# By transaction the values of Command.shared.
_SHARED: MutableMapping[Any, dict[str, Any]] = weakref.WeakKeyDictionary()


class Command(command.BaseCommand):
    """Base of commands that remember why they did not act.

    A subclass has ``run_idl(txn)``, which adds changes to an
    ovs.db.idl.Transaction, or sets :attr:`refused` and adds nothing; on the
    IDL thread, whenever the transaction is built.
    """

    # The reason, '' when the command acted or had nothing to do.
    refused: str = ''

    def rows(self, table: str) -> columns.Rows:
        """The rows of a table."""
        found = self.api.idl.tables.get(table)
        return found.rows if found else {}

    @staticmethod
    def shared(txn: Any, name: str, make: Callable[[], _T]) -> _T:
        """A value that all commands of a transaction have in common.

        A repetition after a conflict is another transaction.
        """
        values = _SHARED.setdefault(txn, {})
        if name not in values:
            values[name] = make()
        return cast(_T, values[name])


def verify(txn: Any, row: columns.Row, column: str) -> None:
    """Make the server refuse a transaction if a column has changed.

    For an unchanged row Row.verify() has no effect: ovs 4.0 sends only
    prerequisites of changed rows.  So, like the C library, this takes the row
    into the transaction, by a private name (library_internals.py).
    """
    row.verify(column)
    txn._txn_rows[row.uuid] = row


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
