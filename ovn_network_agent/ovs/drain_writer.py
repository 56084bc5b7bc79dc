# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Writes the wish of an operator into the local database."""

from collections.abc import Callable
from typing import Any

from ovsdbapp.backend.ovs_idl import command

from ovn_network_agent import ownership
from ovn_network_agent.ovs import drain_request
from ovn_network_agent.ovsdb import connection
from ovn_network_agent.ovsdb import writing

_How = Callable[[frozenset[str]], frozenset[str]]


class _Change(command.BaseCommand):
    """Change the wish as it is at the moment of the transaction."""

    def __init__(self, api: Any, change: _How) -> None:
        super().__init__(api)
        self._change = change

    def run_idl(self, txn: Any) -> None:
        found = list(self.api.idl.tables['Open_vSwitch'].rows.values())
        if not found:
            raise RuntimeError('it has no row Open_vSwitch')
        row, = found
        row.verify('external_ids')
        external_ids = dict(row.external_ids)
        before, _bad = drain_request.parse(
            external_ids.pop(ownership.EXT_ID_DRAIN, ''))
        after = self._change(before)
        if after:
            external_ids[ownership.EXT_ID_DRAIN] = drain_request.render(after)
        # This also removes malformed parts alone.
        if external_ids != row.external_ids:
            row.external_ids = external_ids
        self.result = (before, after)


def change(database: connection.Database, how: _How, timeout: float
           ) -> tuple[frozenset[str], frozenset[str]]:
    """Change the wish in one transaction, again if the row has changed.

    :param how: its exceptions are raised here, and nothing is written
    :returns: before and after, as the server has it
    :raises writing.NotWritten: when the wish may not have been written
    """
    result: tuple[frozenset[str], frozenset[str]] = writing.write(
        database, 'the local Open_vSwitch database',
        lambda api: _Change(api, how), timeout, 'status').result
    return result
