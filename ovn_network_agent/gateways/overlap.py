# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The overlap: the next owners take over while this chassis still serves.

OVN's chassis act on a move at different times, so a compute node may send to a
chassis without the port (decision record 0011).  So when all gateway ports are
to leave, the other candidates are made to believe that this chassis has died,
and take over.  Only then the priorities are changed, which decide where
compute nodes send.

Pure; the only memory is the begin of each condition.
"""

from collections.abc import Iterable
from collections.abc import Sequence
from typing import Any

from ovn_network_agent import model
from ovn_network_agent.gateways import departure
from ovn_network_agent.gateways import transitions

# Seconds for the next owners to take over, 0.1 to 0.4 s in the lab.
TAKE = 3.0
# Seconds from the claim in the Southbound database until the next owners have
# their flows; up to 0.1 s on a busy node.
INSTALL = 0.5
# Seconds from the new priorities in the Southbound database until each compute
# node sends to the new owner: 24 to 105 ms in the lab, and more where many
# flows change or a processor is busy.  Longer loses nothing.
SWITCH = 2.0
# Seconds after which the overlap ends in any case.
LONGEST = 10.0


class Overlap:
    """Decides when an overlap begins and ends."""

    def __init__(self, conf: Any) -> None:
        self._conf = conf
        self.clear()

    def clear(self) -> None:
        """Forget what was under way."""
        self.stage = transitions.Stage.NONE
        self._forget()

    def _forget(self) -> None:
        # Monotonic seconds.
        self._began = 0.0
        self._left: float | None = None
        self._lowered: float | None = None
        self._addresses: tuple[str, ...] = ()

    def plan(self, groups: Sequence[model.GatewayGroup], node: model.Node,
             now: float, held: frozenset[departure.Key] = frozenset()
             ) -> tuple[frozenset[departure.Key], tuple[str, ...],
                        float | None]:
        """The present state of the overlap.

        :param now: monotonic seconds
        :param held: the :func:`departure.key` of groups that wait for a relay
        :returns: keys of groups whose priorities have to stay for now; tunnel
            addresses of the next owners, empty without an overlap; monotonic
            seconds at which this changes by time alone, or None
        """
        leaving = [group for group in groups
                   if departure.why(group, node, self._conf) and
                   group.takers(node.chassis)]
        self.stage = transitions.OVERLAP.after(self.stage, self._progress(
            groups, leaving, node, now, held))
        wants = transitions.OVERLAP.wants[self.stage]
        if not wants.overlap:
            self._forget()
            return frozenset(), (), None
        if not wants.hold:
            return frozenset(), self._addresses, self._ends()
        # All at once, in one transaction.
        return _keys(leaving), self._addresses, min(self._until(),
                                                    self._ends())

    def _progress(self, groups: Sequence[model.GatewayGroup],
                  leaving: Sequence[model.GatewayGroup], node: model.Node,
                  now: float,
                  held: frozenset[departure.Key]) -> transitions.Progress:
        if not leaving:
            return transitions.Progress.NOTHING
        if self.stage is transitions.Stage.OVER:
            return transitions.Progress.ENDED
        if self.stage is transitions.Stage.NONE:
            objection = self._begin(groups, leaving, node, now, held)
            if objection is not None:
                return objection
        here = any(_here(group, node) for group in leaving)
        self._look(leaving, here, node, now)
        if now >= self._ends():
            return transitions.Progress.ENDED
        if now >= self._until():
            return transitions.Progress.READY
        return (transitions.Progress.HERE if here else
                transitions.Progress.LEFT)

    def _begin(self, groups: Sequence[model.GatewayGroup],
               leaving: Sequence[model.GatewayGroup], node: model.Node,
               now: float, held: frozenset[departure.Key]
               ) -> transitions.Progress | None:
        """Begin one if all gateway ports are to leave; what prevents it."""
        here = [group for group in groups if _here(group, node) and
                group.peers(node.chassis)]
        wanted = _keys(leaving)
        takers = [taker for group in here
                  for taker in group.takers(node.chassis)]
        if (not self._conf.gateway_drain.overlap or not here or
                any(departure.key(group) not in wanted - held or
                    not departure.has_priority(group, node.chassis)
                    for group in here) or
                not all(taker.address for taker in takers)):
            # A group that is held back for its relay may still begin one.
            return (transitions.Progress.REFUSED
                    if held.isdisjoint(_keys(here)) else
                    transitions.Progress.WAITING)
        self._began = now
        self._addresses = tuple(sorted({
            address for taker in takers for address in taker.addresses}))
        return None

    def _look(self, leaving: Sequence[model.GatewayGroup], here: bool,
              node: model.Node, now: float) -> None:
        if self._lowered is None and all(
                own is not None and own.lowered for own in (
                    group.candidate(node.chassis) for group in leaving)):
            self._lowered = now
        if here:
            self._left = None
        elif self._left is None:
            self._left = now

    def _ends(self) -> float:
        """When it is over in any case, monotonic seconds."""
        ends = self._began + LONGEST
        return ends if self._lowered is None else min(
            ends, self._lowered + SWITCH)

    def _until(self) -> float:
        """When the order may be changed, monotonic seconds."""
        return (self._began + TAKE if self._left is None else
                self._left + INSTALL)


def _here(group: model.GatewayGroup, node: model.Node) -> bool:
    return any(port.chassis == node.chassis for port in group.ports)


def _keys(groups: Iterable[model.GatewayGroup]) -> frozenset[departure.Key]:
    return frozenset(map(departure.key, groups))
