# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Writes the wish of an operator into the local database."""

from ovsdbapp.backend.ovs_idl import command

from ovn_network_agent import ownership
from ovn_network_agent.ovs import drains
from ovn_network_agent.ovsdb import writing


class _Change(command.BaseCommand):
    """Change the wish as it is at the moment of the transaction.

    :param change: function(frozenset) that returns a frozenset
    """

    def __init__(self, api, change):
        super().__init__(api)
        self._change = change

    def run_idl(self, txn):
        found = list(self.api.idl.tables['Open_vSwitch'].rows.values())
        if not found:
            raise RuntimeError('it has no row Open_vSwitch')
        row, = found
        row.verify('external_ids')
        external_ids = dict(row.external_ids)
        before, _bad = drains.parse(
            external_ids.pop(ownership.EXT_ID_DRAIN, ''))
        after = self._change(before)
        if after:
            external_ids[ownership.EXT_ID_DRAIN] = drains.render(after)
        # This also removes malformed parts alone.
        if external_ids != row.external_ids:
            row.external_ids = external_ids
        self.result = (before, after)


def change(database, how, timeout):
    """Change the wish in one transaction.

    If the row has changed meanwhile, the server refuses the transaction, and
    the change is repeated with the new row.

    :param database: :class:`connection.Database` of the local database
    :param how: function(frozenset) that returns the new frozenset; an
        exception of this function is raised here, and nothing is written
    :param timeout: seconds
    :returns: (frozenset before, frozenset after), as the server has it
    :raises writing.NotWritten: when the wish may not have been written
    """
    return writing.write(
        database, 'the local Open_vSwitch database',
        lambda api: _Change(api, how), timeout, 'status').result
