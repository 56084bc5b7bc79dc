# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The common part of the backends that write to OVSDB: the transaction."""

from collections.abc import Callable
from collections.abc import Hashable
from typing import Any
from typing import TypeAlias

from ovsdbapp import exceptions

from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.ovsdb import command
from ovn_network_agent.ovsdb import connection
from ovn_network_agent.ovsdb import time_limits

#: From an ovsdbapp API.
Make: TypeAlias = Callable[[Any], command.Command]


class Writer(base.Backend):
    """A backend of rows in a database, beside the loop.

    All changes of a stage are one transaction. If the server refuses it, each
    group of changes is tried alone, so a bad row affects only its group.
    """

    concurrent = True
    # read() looks only at the database's rows, the chassis in the context, and
    # options.
    reads_only_rows = False

    def attach(self, context: base.Context) -> None:
        """Receive the databases, of which :attr:`database` is written."""
        self._context = context

    def reread(self, known: Callable[[], base.Known], mark: Any
               ) -> base.Reading:
        """Read the rows, unless no row of the database has changed.

        :raises base.BackendError: when the replica is not usable
        """
        if not self.reads_only_rows:
            return super().reread(known, mark)
        now = self._inputs()
        return (None if now == mark else self.read(known())), now

    def _inputs(self) -> tuple[Any, ...]:
        context = self._context
        database = context.databases[self.database]
        try:
            with database.rows():
                changes = database.dirty.changes
        except connection.Unavailable as e:
            raise base.BackendError(str(e)) from e
        return (changes, context.marks(), context.chassis(),
                context.dead(), context.silent(), context.groups())

    def command(self, verb: str, resource: Any) -> Make:
        """The command of a change, 'set' or 'remove'."""
        raise NotImplementedError

    def together(self, ref: resources.Ref) -> Hashable:
        """The group of a change; a group changes as a whole or not at all."""
        return ref

    # -- writing (on the writer thread) -----------------------------------

    def apply(self, delta: base.Delta) -> base.Failures:
        """Commit all changes at once, and group by group after a refusal.

        :raises base.BackendError: when the database is not connected, or does
            not answer within ``[ovn] transaction_timeout`` seconds
        """
        changes = [(r.ref, self.command('set', r)) for r in (
            *delta.create, *(new for _old, new in delta.update))]
        changes += [(r.ref, self.command('remove', r))
                    for r in delta.delete]
        failures = self._commit(changes)
        if failures is not None:
            return failures
        parts: dict[Hashable, list[tuple[resources.Ref, Make]]] = {}
        for change in changes:
            parts.setdefault(self.together(change[0]), []).append(change)
        failures = {}
        for part in parts.values():
            alone = self._commit(part) if len(parts) > 1 else None
            if alone is None:
                alone = {ref: self._error for ref, _make in part}
            failures.update(alone)
        return failures

    def _commit(self, changes: list[tuple[resources.Ref, Make]]
                ) -> base.Failures | None:
        """The refused items; None when the transaction failed, see ``_error``.

        :raises BackendError: when the database is not connected
        """
        try:
            ovsdb = self._context.databases[self.database].connection
        except connection.Unavailable as e:
            raise base.BackendError(str(e)) from e
        txn = time_limits.Transaction(
            time_limits.Api(ovsdb.idl), ovsdb, check_error=True,
            log_errors=False, timeout=self.conf.ovn.transaction_timeout)
        added = [(ref, txn.add(make(txn.api))) for ref, make in changes]
        try:
            txn.commit()
        except (exceptions.TimeoutException, time_limits.NoAnswer) as e:
            raise base.BackendError(
                f'{connection.SCHEMAS[self.database]} did not answer within '
                f'{txn.timeout:d} s') from e
        except RuntimeError as e:
            self._error = str(e)
            return None
        return {ref: cmd.refused for ref, cmd in added if cmd.refused}


class NbWriter(Writer):
    """A backend of rows in NB, see :class:`ovsdb_writer.Writer`."""

    database = 'nb'
