# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The owners of gateway ports in turn, from the Southbound database."""

import time

from lab import plan

_PREFIX = 'cr-'


class Moves:
    """Follows the owners of gateway ports while the block runs.

    :ivar seen: list of (monotonic seconds, name of the Logical_Router_Port,
        host name of its owner or ''), each change once
    """

    def __init__(self, cloud):
        self._sb = cloud.sb
        self._owners = {}
        self._end = None
        self.seen = []

    def __enter__(self):
        with self._sb.connection.lock:
            self._end = self._sb.listen(self._changed)
        self._owners = {row.logical_port: _owner(row)
                        for row in self._sb.rows('Port_Binding')}
        return self

    def __exit__(self, *_exc):
        self._end()

    def _changed(self, row):
        if row._table.name != 'Port_Binding':
            return
        port, owner = row.logical_port, _owner(row)
        if port.startswith(_PREFIX) and self._owners.get(port) != owner:
            self._owners[port] = owner
            self.seen.append((time.monotonic(), port.removeprefix(_PREFIX),
                              owner))

    def owners(self, router) -> list[str]:
        """Host names of the new owners of a router's gateway port, in turn.

        The moment without an owner in a move is left out.
        """
        owners = []
        for _when, lrp, owner in list(self.seen):
            if lrp == router.lrp and owner and owners[-1:] != [owner]:
                owners.append(owner)
        return owners

    def gained_at(self, router, node):
        """Monotonic seconds at which a node last got a router's port."""
        return max(when for when, lrp, owner in self.seen
                   if (lrp, owner) == (router.lrp, node))


def _owner(row):
    for chassis in row.chassis:
        return plan.node_of(chassis.name)
    return ''
