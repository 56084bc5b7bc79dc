# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The states of the gateway groups of this chassis.

Only this module remembers these states.  No I/O.
"""

import dataclasses

from ovn_network_agent import model
from ovn_network_agent.gateways import departure
from ovn_network_agent.gateways import overlap
from ovn_network_agent.gateways import situation
from ovn_network_agent.gateways import tenure


@dataclasses.dataclass(frozen=True, slots=True)
class _Memory:
    """The memory of one group.

    :ivar seen: :class:`tenure.Seen`
    :ivar bare: :class:`model.GatewayGroup` of the last view, or None
    :ivar group: the same group with its state
    """

    seen: tenure.Seen = tenure.Seen()
    bare: model.GatewayGroup | None = None
    group: model.GatewayGroup | None = None

    @property
    def state(self):
        """The :class:`model.GatewayState` of the last view."""
        return (model.GatewayState.UNDECIDED if self.group is None
                else self.group.state)

    def look(self, bare, node, now):
        """The memory after one more view.

        Most groups do not change from one view to the next, and stay the
        same objects.

        :returns: :class:`_Memory` with the new tenure, and the state of
            before
        """
        seen = tenure.look(self.seen, bare, node, now)
        if bare is self.bare and seen == self.seen:
            return self
        if bare is self.bare and seen.tenure is self.seen.tenure:
            return _Memory(seen, bare, self.group)
        return _Memory(seen, bare, dataclasses.replace(
            bare, state=self.state, tenure=seen.tenure))

    def settled(self, state):
        """The same memory with a new state."""
        if state is self.group.state:
            return self
        return dataclasses.replace(self, group=dataclasses.replace(
            self.group, state=state))


_NEW = _Memory()


class Memberships:
    """Remembers the groups from one view to the next.

    :param conf: the oslo.config ConfigOpts
    """

    def __init__(self, conf):
        self._conf = conf
        self._memories = {}
        self._holding = departure.Holding(conf)
        self._overlap = overlap.Overlap(conf)

    def clear(self):
        """Forget what was under way."""
        self._memories.clear()
        self._overlap.clear()

    def former(self, group):
        """Chassis that a port of a group has to be relayed to, or ''.

        :param group: :class:`model.GatewayGroup` of the last view
        """
        return self._memories[departure.key(group)].seen.former

    def update(self, groups, node, now):
        """The groups with their states.

        :param groups: tuple of :class:`model.GatewayGroup`
        :param node: :class:`model.Node`
        :param now: monotonic seconds
        :returns: (tuple of :class:`model.GatewayGroup`; tuple of the tunnel
            addresses of the next owners in an overlap; monotonic seconds at
            which a state changes by time alone, or None)
        """
        memories = {}
        for group in groups:
            key = departure.key(group)
            memories[key] = self._memories.get(key, _NEW).look(group, node,
                                                               now)
        looked = [memory.group for memory in memories.values()]
        held, until = self._holding.held(looked, node, now)
        overlapping, addresses, ends = self._overlap.plan(
            looked, node, now, held)
        self._memories = {key: memory.settled(situation.settled(
            memory.group, node, self._conf, key in held, key in overlapping))
            for key, memory in memories.items()}
        due = [when for when in (until, ends, *(
            memory.seen.ends for memory in memories.values()))
            if when is not None]
        return (tuple(memory.group for memory in self._memories.values()),
                addresses, min(due, default=None))
