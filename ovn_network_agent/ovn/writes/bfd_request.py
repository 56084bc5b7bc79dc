# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The command that writes the timers of BFD into OVN NB."""

from collections.abc import Collection
from typing import Any

from ovn_network_agent import ownership
from ovn_network_agent.ovn.chassis import bfd
from ovn_network_agent.ovn.writes import commands
from ovn_network_agent.ovsdb import command
from ovn_network_agent.ovsdb.columns import Row


class Request(commands.NorthboundCommand):
    """Give this chassis' request the wanted values, or remove the request.

    The transaction also updates the options, and is built again if the row has
    changed.  A request that changes no option is added anyway, so that many
    agents starting at once do not refuse each other; the astray row is
    repaired.

    :param values: the numbers of :data:`bfd.OPTIONS`, None for no request
    :param gone: names of chassis whose requests are removed as well
    """

    def __init__(self, api: Any, chassis: str, values: tuple[int, ...] | None,
                 gone: Collection[str] = frozenset()) -> None:
        super().__init__(api)
        self._chassis = chassis
        self._values = values
        self._gone = gone

    def run_idl(self, txn: Any) -> None:
        """Change the only row of NB_Global; without it, refuse a request."""
        self.refused = ''
        for row in self.rows('NB_Global').values():
            self._change(txn, row)
            return
        if self._values:
            self.refused = 'the Northbound database has no row NB_Global'

    def _change(self, txn: Any, row: Row) -> None:
        before = bfd.read(row)
        fleet = before.without({self._chassis, *self._gone})
        if self._values:
            fleet = fleet.requesting(self._chassis, self._values)
            self.refused = bfd.in_the_way(fleet)
        after = fleet.decided()
        marks = bfd.external_ids(row.external_ids, after)
        own = ownership.EXT_ID_BFD_REQUEST + self._chassis
        if after.options == before.options and own in marks and (
                marks == {**row.external_ids, own: marks[own]}):
            if marks != row.external_ids:
                row.setkey('external_ids', own, marks[own])
            return
        if after.options != before.options:
            _verify(txn, row)
            row.options = {
                **{key: value for key, value in row.options.items()
                   if key not in bfd.OPTIONS}, **after.options}
        if marks != row.external_ids:
            _verify(txn, row)
            row.external_ids = marks


def _verify(txn: Any, row: Row) -> None:
    for column in ('options', 'external_ids'):
        command.verify(txn, row, column)
