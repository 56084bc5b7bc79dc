# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Common parts of the backends of OVSDB: reading, writing, questions."""

from collections.abc import Callable
from collections.abc import Hashable
from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import threading
from typing import Any
from typing import TypeAlias

from oslo_log import log as logging
from ovsdbapp import exceptions

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.ovn.chassis import absent_chassis
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb import command
from ovn_network_agent.ovsdb import connection
from ovn_network_agent.ovsdb import query
from ovn_network_agent.ovsdb import time_limits

LOG = logging.getLogger(__name__)

#: From an ovsdbapp API.
Make: TypeAlias = Callable[[Any], command.Command]
# Seconds to wait for the answer.
TIMEOUT = 5.0

_CHASSIS = query.select('Chassis', columns=('_uuid', 'name', 'hostname'))
_REPORTS = (
    query.select('Chassis_Private',
                 columns=('name', 'nb_cfg', 'nb_cfg_timestamp')),
    query.select('SB_Global', columns=('nb_cfg',)),
    query.select('Port_Binding', ['type', '==', 'chassisredirect'],
                 columns=('chassis',)))

# Rows of an answer.
_Rows = Sequence[Any]


@contextlib.contextmanager
def tables(database: connection.Database) -> Iterator[columns.Tables]:
    """The tables of a database, in this context.

    :raises base.BackendError: when the replica is not usable
    """
    try:
        with database.rows() as found:
            yield found
    except connection.Unavailable as e:
        raise base.BackendError(str(e)) from e


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

    def tables(self) -> contextlib.AbstractContextManager[columns.Tables]:
        """As :func:`tables`, of the backend's database."""
        return tables(self._context.databases[self.database])

    def _inputs(self) -> tuple[Any, ...]:
        context = self._context
        with self.tables():
            changes = context.databases[self.database].dirty.changes
        return (changes, context.marks(), context.chassis(),
                context.dead(), context.silent(), context.groups())

    def command(self, verb: str, resource: Any) -> Make:
        """The command of a change, 'set' or 'remove'."""
        raise NotImplementedError

    def batch_key(self, ref: resources.Ref) -> Hashable:
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
            parts.setdefault(self.batch_key(change[0]), []).append(change)
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


def ask(database: connection.Database,
        operations: Sequence[query.Operation],
        timeout: float = TIMEOUT) -> query.Answers:
    """Ask the server, and wait for its answer: rows for each operation.

    :raises BackendError: when there is no answer in time
    """
    answered = threading.Event()
    found = []

    def on_answer(answers: query.Answers | None,
                  _tables: object) -> None:
        found.append(answers)
        answered.set()

    with tables(database):
        database.ask(operations, on_answer)
    if not answered.wait(timeout) or found[0] is None:
        raise base.BackendError(
            f'{connection.SCHEMAS[database.name]} does not answer')
    return found[0]


def ask_chassis(context: base.Context, conf: Any,
                timeout: float = TIMEOUT) -> set[ownership.Owner]:
    """The server's chassis that are not silent.

    :raises base.BackendError: when there is no answer in time
    """
    silent = context.silent()
    chassis, *answers = ask(
        context.databases['sb'], [_CHASSIS, *(_REPORTS if silent else ())],
        timeout)
    present = {ownership.Owner(row['hostname'], row['name'])
               for row in chassis}
    if silent:
        facts = _facts(context.chassis(), chassis, *answers)
        present -= silent & absent_chassis.owners(
            facts, absent_chassis.outdated(
                facts, conf.gateway_drain.silent_chassis_limit))
    return present


def confirm_deleted(context: base.Context, conf: Any, names: frozenset[str]
                    ) -> frozenset[str]:
    """The chassis of some names that are gone, also for the server.

    A replica may lack rows. Without an answer nobody is gone.
    """
    if not names:
        return frozenset()
    try:
        present = ask_chassis(context, conf)
    except base.BackendError as e:
        LOG.warning('Rows in NB of chassis that may be gone are kept: %s', e)
        return frozenset()
    return names - {each.chassis for each in present}


def _facts(own: str, chassis: _Rows, reports: _Rows, globals_: _Rows,
           ports: _Rows) -> absent_chassis.Facts:
    """The facts of the answers."""
    bound = {row['chassis'][1] for row in ports
             if row['chassis'][0] == 'uuid'}
    return absent_chassis.Facts(
        own, max((row['nb_cfg'] for row in globals_), default=0),
        {row['name']: row['hostname'] for row in chassis},
        {row['name']: (row['nb_cfg'], row['nb_cfg_timestamp'])
         for row in reports},
        frozenset(row['name'] for row in chassis if row['_uuid'][1] in bound))
