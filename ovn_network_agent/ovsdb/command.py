# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The base of all writes to an OVSDB server: refusal and verification."""

from collections.abc import Callable
from collections.abc import MutableMapping
from typing import Any
from typing import TypeVar
from typing import cast
import weakref

from ovsdbapp.backend.ovs_idl import command

from ovn_network_agent.ovsdb import columns

_T = TypeVar('_T')

# By transaction the values of Command.shared.
_SHARED: MutableMapping[Any, dict[str, Any]] = weakref.WeakKeyDictionary()


class Command(command.BaseCommand):
    """Base of commands that remember why they did not act.

    A subclass has ``run_idl(txn)``, which adds the changes to an
    ovs.db.idl.Transaction, or sets :attr:`refused` and adds nothing.  The
    method runs on the IDL thread when the transaction is built, and again
    whenever the transaction has to be built again.

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

        The value ends with the transaction.  A repetition after a conflict is
        another transaction.
        """
        values = _SHARED.setdefault(txn, {})
        if name not in values:
            values[name] = make()
        return cast(_T, values[name])


def verify(txn: Any, row: columns.Row, column: str) -> None:
    """Make the server refuse a transaction if a column has changed.

    Row.verify() alone has no effect on a row that the transaction does not
    change: ovs 4.0 sends the prerequisites of changed rows only.  So, like
    the C library, this function takes the row into the transaction, by a
    private name (:mod:`library_internals`).
    """
    row.verify(column)
    txn._txn_rows[row.uuid] = row
