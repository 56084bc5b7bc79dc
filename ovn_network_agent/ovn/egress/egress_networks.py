# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Which addresses the links of nodes have, in external_ids of NB_Global.

An entry also says that its node is ready to be chosen.  Pure, but for the
command.
"""

from collections.abc import Collection
from typing import Any

from ovn_network_agent import ownership
from ovn_network_agent.common import networks
from ovn_network_agent.ovn.writes import commands
from ovn_network_agent.ovsdb.columns import Row

_PREFIX = ownership.EXT_ID_EGRESS_NETWORKS


def read(row: Row) -> dict[str, tuple[str, ...]]:
    """By chassis 'address/length' of its links, sorted; others left out."""
    return {key.removeprefix(_PREFIX): tuple(sorted(filter(
        networks.parse_interface, text.split())))
        for key, text in row.external_ids.items() if key.startswith(_PREFIX)}


def written(addresses: Collection[str]) -> str:
    """The text of an entry."""
    return ' '.join(addresses)


class SetNetworks(commands.NorthboundCommand):
    """Give this chassis the wanted entry, or remove it (None).

    :param gone: names of chassis whose entries are removed as well
    """

    def __init__(self, api: Any, chassis: str,
                 addresses: Collection[str] | None,
                 gone: Collection[str] = ()) -> None:
        super().__init__(api)
        self._chassis = chassis
        self._addresses = addresses
        self._gone = gone

    def run_idl(self, txn: Any) -> None:
        """Change the only row of NB_Global; without it, refuse an entry."""
        self.refused = ''
        for row in self.rows('NB_Global').values():
            # Each key alone, so that agents starting at once do not conflict.
            for chassis in self._gone:
                row.delkey('external_ids', _PREFIX + chassis)
            if self._addresses:
                row.setkey('external_ids', _PREFIX + self._chassis,
                           written(self._addresses))
            else:
                row.delkey('external_ids', _PREFIX + self._chassis)
            return
        if self._addresses:
            self.refused = 'the Northbound database has no row NB_Global'
