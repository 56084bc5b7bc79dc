# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Since when the agent knows a wish of the operator, or hands a port over."""

from collections.abc import Callable
import datetime

from ovn_network_agent import model


class Since:
    """Notes the time of the first view with a drain, and with a handover.

    The database has none, so the earliest is that of the agent's start.
    """

    def __init__(self,
                 clock: Callable[[], datetime.datetime] = (
                     lambda: datetime.datetime.now(datetime.UTC))
                 ) -> None:
        self._clock = clock
        # Times like 2026-01-31T12:00:00Z, by a member of node.drains, and by
        # name of the Logical_Router_Port.  Replaced as a whole, for any
        # thread.
        self.drains: dict[str, str] = {}
        self.handovers: dict[str, str] = {}

    def note(self, snapshot: model.Snapshot) -> None:
        """Note a new view; on one thread only."""
        leaving = [port.lrp for router in snapshot.routers
                   for port in router.ports
                   if port.handover is not model.Handover.NONE]
        if not (snapshot.node.drains or leaving or self.drains or
                self.handovers):
            return
        now = self._clock().strftime('%Y-%m-%dT%H:%M:%SZ')
        self.drains = {drain: self.drains.get(drain, now)
                       for drain in snapshot.node.drains}
        self.handovers = {lrp: self.handovers.get(lrp, now)
                          for lrp in leaving}
