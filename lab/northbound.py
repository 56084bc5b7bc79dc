# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A resident connection to the OVN databases, as Neutron has one."""

from collections import abc

from ovsdbapp.backend.ovs_idl import command
from ovsdbapp.backend.ovs_idl import connection
from ovsdbapp.backend.ovs_idl import event
from ovsdbapp.backend.ovs_idl import transaction


class _Idl(connection.OvsdbIdl):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.handler = event.RowEventHandler()
        self.listeners = []

    def notify(self, happened, row, updates=None):
        self.handler.notify(happened, row, updates)
        for listener in list(self.listeners):
            listener(row)


class _Function(command.BaseCommand):
    """Runs a function of (transaction, tables) in a transaction."""

    def __init__(self, api, function):
        super().__init__(api)
        self._function = function

    def run_idl(self, txn):
        self.result = self._function(txn, self.api.idl.tables)


class Database:
    """One OVN database."""

    def __init__(self, remote: str, schema: str, tables):
        self.idl = _Idl.from_server(remote, schema, helper_tables=tables,
                                    leader_only=False)
        self.connection = connection.Connection(self.idl, timeout=30)
        self.connection.start()

    def transact(self, function):
        """Run ``function(txn, tables)`` in one transaction.

        :raises RuntimeError: when the server refuses
        """
        txn = transaction.Transaction(self, self.connection,
                                      check_error=True)
        txn.add(_Function(self, function))
        return txn.commit()[0]

    def find(self, table, **columns):
        """First row with these values, or None."""
        with self.connection.lock:
            for row in self.idl.tables[table].rows.values():
                if all(getattr(row, name) == value
                       for name, value in columns.items()):
                    return row
        return None

    def rows(self, table):
        """All rows of a table, a list."""
        with self.connection.lock:
            return list(self.idl.tables[table].rows.values())

    def listen(self, function) -> abc.Callable:
        """Call a function with each changed row, at once."""
        self.idl.listeners.append(function)
        return lambda: self.idl.listeners.remove(function)

    def close(self):
        """Close the connection."""
        self.connection.stop(timeout=5)
        self.idl.handler.shutdown()


def insert(txn, tables, table, **columns):
    """Insert a row; returns it."""
    row = txn.insert(tables[table])
    for name, value in columns.items():
        setattr(row, name, value)
    return row
