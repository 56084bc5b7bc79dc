# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Since when the agent knows a wish of the operator, or hands a port over."""

from collections.abc import Callable
import datetime

from ovn_network_agent import model


class Since:
    """Notes the time of the first view with a drain, and with a handover.

    The database has no times of wishes, so the time of a wish is at the
    earliest that of the agent's start.
    """

    def __init__(self,
                 clock: Callable[[], datetime.datetime] = (
                     lambda: datetime.datetime.now(datetime.UTC))
                 ) -> None:
        self._clock = clock
        # By a member of node.drains, and by the name of the
        # Logical_Router_Port, times like 2026-01-31T12:00:00Z.  Replaced as a
        # whole, so that any thread may read them.
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
