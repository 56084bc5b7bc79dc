# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Which changes of rows in NB are about rows of this chassis.

Most are other chassis' rows, and to read again for each would cost every agent
a search through the cloud.  On the thread of the connection, with values that
the loop has finished.
"""

from collections.abc import Callable

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.ovsdb.columns import Row


class OwnRows:
    """Judges rows by the last view."""

    def __init__(self, last: Callable[[], model.Snapshot | None],
                 dead: Callable[[], frozenset[ownership.Owner]]) -> None:
        self._last = last
        self._dead = dead
        # Of the snapshot that they were made from.
        self._ports: frozenset[str] = frozenset()
        self._macs: frozenset[str] = frozenset()
        self._made_from: model.Snapshot | None = None

    def route(self, row: Row, old: Row) -> bool:
        """Whether a route was or is ours, of a dead chassis or nobody."""
        if ownership.peer_of(row.external_ids):
            return False
        last = self._last()
        if last is None or not last.node.hostname:
            return True
        owners = {ownership.Owner()} | last.node.marks | self._dead()
        return any(_owner(part) in owners for part in (row, old)
                   if hasattr(part, 'external_ids'))

    def binding(self, row: Row, old: Row) -> bool:
        """Whether a binding may be of this chassis, by its port and MAC."""
        last = self._last()
        if last is None:
            return True
        if last is not self._made_from:
            self._ports = frozenset(port.lrp for router in last.routers
                                    for port in router.ports)
            self._macs = frozenset(d.mac for d in last.node.devices)
            self._made_from = last
        return row.logical_port in self._ports or any(
            part.mac in self._macs for part in (row, old)
            if hasattr(part, 'mac'))


def _owner(row: Row) -> ownership.Owner:
    """The mark on a managed route, an empty one on another route."""
    if not ownership.is_managed(row.external_ids):
        return ownership.Owner()
    return ownership.owner(row.external_ids)
