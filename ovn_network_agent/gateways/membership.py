# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The states of the gateway groups of this chassis.  No I/O."""

from collections.abc import Iterable
import dataclasses
from typing import Any

from ovn_network_agent import model
from ovn_network_agent.gateways import departure
from ovn_network_agent.gateways import overlap
from ovn_network_agent.gateways import ownership_mode
from ovn_network_agent.gateways import transitions

_Situation = transitions.Situation


def settled(group: model.GatewayGroup, node: model.Node, conf: Any,
            held: bool = False,
            overlapping: bool = False) -> model.GatewayState:
    """The next state of a group.

    :param group: with the former state and the present tenure
    :param held: whether the group has to wait for a relay
    :param overlapping: whether the group has to wait for an overlap
    """
    return transitions.GROUP.after(
        group.state, read(group, node, conf, held, overlapping))


def read(group: model.GatewayGroup, node: model.Node, conf: Any,
         held: bool = False,
         overlapping: bool = False) -> transitions.Situation:
    """The situation of a group, with the parameters of :func:`settled`."""
    own = group.candidate(node.chassis)
    if own is None or len(group.candidates) < 2:
        return _Situation.ALONE
    if departure.why(group, node, conf):
        return _leaving(group, own, held, overlapping)
    if node.phase is not model.Phase.RUNNING:
        return _Situation.STOP
    if {port.chassis for port in group.ports} - {''} == {node.chassis}:
        return _owner(group, own)
    if own.priority:
        return _Situation.RANKED
    return (_Situation.LOWERED_BY_AGENT if own.drained or group.restore
            else _Situation.LOWERED_BY_OTHERS)


def _leaving(group: model.GatewayGroup, own: model.Candidate, held: bool,
             overlapping: bool) -> transitions.Situation:
    if not group.abandoned and (held or overlapping):
        return _Situation.OVERLAP if overlapping else _Situation.HOLD
    if not own.priority:
        return _Situation.AT_ZERO
    if group.takers(own.chassis):
        return _Situation.TAKER
    # This chassis announces it no longer: the first that can is to get it.
    if group.abandoned and group.heirs(own.chassis):
        return _Situation.HEIR
    return _Situation.NO_TAKER


def _owner(group: model.GatewayGroup,
           own: model.Candidate) -> transitions.Situation:
    # Somebody gave another candidate a higher priority.
    if group.moving:
        return _Situation.MOVE
    # The ports came only because no candidate could announce them, so the
    # first candidate that can is to get them.
    if group.unfit and own.drained == model.UNFIT:
        return _Situation.UNFIT_OWNER
    return _Situation.OWNER


@dataclasses.dataclass(frozen=True, slots=True)
class _Memory:
    seen: ownership_mode.Seen
    viewed: model.GatewayGroup
    group: model.GatewayGroup

    def settled(self, state: model.GatewayState) -> '_Memory':
        """The same memory with a new state."""
        if state is self.group.state:
            return self
        return dataclasses.replace(self, group=dataclasses.replace(
            self.group, state=state))


def _look(before: _Memory | None, viewed: model.GatewayGroup,
          node: model.Node, now: float) -> _Memory:
    """The memory after one more view, with the state of before.

    Most groups stay the same objects from one view to the next.
    """
    seen = ownership_mode.look(
        before.seen if before else ownership_mode.Seen(), viewed, node, now)
    if before and viewed is before.viewed:
        if seen == before.seen:
            return before
        if seen.tenure is before.seen.tenure:
            return _Memory(seen, viewed, before.group)
    return _Memory(seen, viewed, dataclasses.replace(
        viewed, state=(before.group.state if before else
                       model.GatewayState.UNDECIDED), tenure=seen.tenure))


class Memberships:
    """Remembers the groups from one view to the next."""

    def __init__(self, conf: Any) -> None:
        self._conf = conf
        self._memories: dict[departure.Key, _Memory] = {}
        self._holding = departure.Holding(conf)
        self._overlap = overlap.Overlap(conf)

    def clear(self) -> None:
        """Forget what was under way."""
        self._memories.clear()
        self._overlap.clear()

    def former(self, group: model.GatewayGroup) -> str:
        """Chassis that a port of a group has to be relayed to, or ''."""
        return self._memories[departure.key(group)].seen.former

    def update(self, groups: Iterable[model.GatewayGroup], node: model.Node,
               now: float) -> tuple[tuple[model.GatewayGroup, ...],
                                    tuple[str, ...], float | None]:
        """The groups with their states.

        :param now: monotonic seconds
        :returns: also the tunnel addresses of the next owners in an overlap,
            and monotonic seconds at which a state changes by time alone
        """
        memories = {}
        for group in groups:
            key = departure.key(group)
            memories[key] = _look(self._memories.get(key), group, node, now)
        looked = [memory.group for memory in memories.values()]
        held, until = self._holding.held(looked, node, now)
        overlapping, addresses, ends = self._overlap.plan(
            looked, node, now, held)
        self._memories = {key: memory.settled(settled(
            memory.group, node, self._conf, key in held, key in overlapping))
            for key, memory in memories.items()}
        due = [when for when in (until, ends, *(
            memory.seen.ends for memory in memories.values()))
            if when is not None]
        return (tuple(memory.group for memory in self._memories.values()),
                addresses, min(due, default=None))
