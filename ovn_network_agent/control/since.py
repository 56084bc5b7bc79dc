# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.


"""Since when the agent knows a wish of the operator, or hands a port over."""

import datetime
import operator

from ovn_network_agent import identity
from ovn_network_agent import model


class Since:
    """Notes the time of the first view with a drain, and with a handover.

    The database has no times of wishes, so the time of a wish is at the
    earliest that of the agent's start.

    :param clock: function that returns the time, a datetime with a zone
    :ivar drains: dict of a member of ``node.drains`` to a text like
        2026-01-31T12:00:00Z; replaced as a whole, so that any thread may
        read it
    :ivar handovers: likewise, by the name of the Logical_Router_Port
    """

    def __init__(self, clock=lambda: datetime.datetime.now(datetime.UTC)):
        self._clock = clock
        self._routers = identity.Parts(operator.attrgetter('uuid'))
        # By UUID of the router; only routers with a handover.
        self._leaving = {}
        self.drains = {}
        self.handovers = {}

    def note(self, snapshot):
        """Note a new view; on one thread only.

        :param snapshot: :class:`model.Snapshot`
        """
        leaving = self._find_leaving(snapshot.routers)
        if not (snapshot.node.drains or leaving or self.drains or
                self.handovers):
            return
        now = self._clock().strftime('%Y-%m-%dT%H:%M:%SZ')
        self.drains = {drain: self.drains.get(drain, now)
                       for drain in snapshot.node.drains}
        self.handovers = {lrp: self.handovers.get(lrp, now)
                          for lrp in leaving}

    def _find_leaving(self, routers):
        """The names of the ports with a handover, a list."""
        come, gone = self._routers.take(routers)
        for router in (*gone, *come):
            self._leaving.pop(router.uuid, None)
        for router in come:
            names = [port.lrp for port in router.ports
                     if port.handover is not model.Handover.NONE]
            if names:
                self._leaving[router.uuid] = names
        return [lrp for names in self._leaving.values() for lrp in names]
