# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The states and tenures of the gateway groups of this chassis.  Pure.

OVN needs a while to move ports to a candidate with a higher priority.  After a
move, the former owner still has them, too.
"""

from collections.abc import Iterable
import operator
import typing
from typing import Any

from ovn_network_agent import model
from ovn_network_agent.gateways import departure
from ovn_network_agent.gateways import transitions

# Seconds for OVN to move a port after a higher priority of another candidate:
# 0.3 s in the lab, and some seconds with a busy ovn-northd.
MOVE = 10.0
# Seconds that an owner still relays to the candidate that was before it in SB.
# Compute nodes learn the priorities later, and until then their answers leave
# by the other candidate, whose connection tracking has to know the
# connections.
LINGER = 2.5

_Place = transitions.Place
_Tenure = model.Tenure
_CAME = (_Tenure.CONTESTED, _Tenure.INHERITED)
_Situation = transitions.Situation


class Seen(typing.NamedTuple):
    """The memory of a group's tenure from one view to the next."""

    tenure: model.Tenure = _Tenure.NEW
    # :attr:`model.Candidate.rank` of those before this chassis with ports.
    above: frozenset[tuple[int, str]] = frozenset()
    # Monotonic seconds at which the last candidate got there.
    outranked_at: float = 0.0
    # The chassis that was before this one and still answers, or ''.
    previous: str = ''
    until: float = 0.0  # monotonic seconds at which ``previous`` is forgotten

    @property
    def ends(self) -> float | None:
        """Monotonic seconds at which time changes the tenure, or None."""
        if self.tenure is _Tenure.LINGERING:
            return self.until
        if self.tenure in (_Tenure.OUTRANKED, _Tenure.CONTESTED):
            return self.outranked_at + MOVE
        return None


def observed(seen: Seen, group: model.GatewayGroup, node: model.Node,
             now: float) -> Seen:
    """The memory after one more view; NOW in monotonic seconds."""
    above = _above(group, node.chassis)
    if above:
        place, outranked_at = _outranked(seen, above, group, node, now)
        return Seen(_after(seen, place), above, outranked_at)
    if above is None:
        return Seen(_after(seen, _Place.NO_PORT))
    owner, until = _previous_owner(seen, group, node.chassis, now)
    if now < until and relay_to(group.candidate(owner), node):
        return Seen(_after(seen, _Place.PREVIOUS_ANSWERS), previous=owner,
                    until=until)
    return Seen(_after(seen, _Place.FIRST))


def _after(seen: Seen, place: transitions.Place) -> model.Tenure:
    return transitions.TENURE.after(seen.tenure, place)


def _outranked(seen: Seen, above: frozenset[tuple[int, str]],
               group: model.GatewayGroup, node: model.Node,
               now: float) -> tuple[transitions.Place, float]:
    came = seen.tenure is _Tenure.ELSEWHERE
    if not came and not (seen.above and above <= seen.above):
        return _Place.RAISED, now
    outranked_at = now if came else seen.outranked_at
    if now >= outranked_at + MOVE:
        return _Place.OVER, outranked_at
    first = max(group.peers(node.chassis), default=None,
                key=operator.attrgetter('rank'))
    return (_Place.ANSWERED if relay_to(first, node) else
            _Place.SILENT), outranked_at


def _previous_owner(seen: Seen, group: model.GatewayGroup, chassis: str,
                    now: float) -> tuple[str, float]:
    """The chassis before this one, and monotonic seconds of the end."""
    if seen.tenure in _CAME:
        _priority, owner = max(seen.above)
        return owner, now + LINGER
    if seen.tenure is not _Tenure.LINGERING:
        return '', now
    if _applied_before(group.candidate(seen.previous),
                       group.candidate(chassis)):
        return seen.previous, now + LINGER
    return seen.previous, seen.until


def _applied_before(previous: model.Candidate | None,
                    own: model.Candidate | None) -> bool:
    """Whether compute nodes still have to send to the former owner.

    They go by the order in OVN SB, into which ovn-northd copies the order.
    """
    if previous is None or own is None or (
            previous.applied is None or own.applied is None):
        return False
    return (previous.applied, previous.chassis) > (own.applied, own.chassis)


def _above(group: model.GatewayGroup,
           chassis: str) -> frozenset[tuple[int, str]] | None:
    """The candidates before a chassis that has ports of a group.

    :returns: :attr:`model.Candidate.rank` of those in SB, None without a port
    """
    if all(port.chassis != chassis for port in group.ports):
        return None
    own = group.candidate(chassis)
    return frozenset(c.rank for c in group.candidates if c.known and
                     own is not None and c.priority > own.priority)


def relay_to(candidate: model.Candidate | None, node: model.Node) -> int:
    """OpenFlow port of the relay to a candidate, 0 without an answer."""
    return next((relay.port for relay in node.relays
                 if relay.alive and candidate is not None and
                 relay.address == candidate.address), 0)


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


class _Memory(typing.NamedTuple):
    seen: Seen
    viewed: model.GatewayGroup
    group: model.GatewayGroup

    def settled(self, state: model.GatewayState) -> '_Memory':
        """The same memory with a new state."""
        if state is self.group.state:
            return self
        return self._replace(group=self.group._replace(state=state))


def _look(before: _Memory | None, viewed: model.GatewayGroup,
          node: model.Node, now: float) -> _Memory:
    """The memory after one more view, with the state of before.

    Most groups stay the same objects from one view to the next.
    """
    seen = observed(
        before.seen if before else Seen(), viewed, node, now)
    if before and viewed is before.viewed:
        if seen == before.seen:
            return before
        if seen.tenure is before.seen.tenure:
            return _Memory(seen, viewed, before.group)
    return _Memory(seen, viewed, viewed._replace(
        state=(before.group.state if before else
               model.GatewayState.UNDECIDED), tenure=seen.tenure))


class Memberships:
    """Remembers the groups from one view to the next."""

    def __init__(self, conf: Any) -> None:
        self._conf = conf
        self._memories: dict[departure.Key, _Memory] = {}
        self._holding = departure.Holding(conf)
        self._overlap = departure.Overlap(conf)

    def clear(self) -> None:
        """Forget what was under way."""
        self._memories.clear()
        self._overlap.clear()

    def previous_owner(self, group: model.GatewayGroup) -> str:
        """Chassis that a port of a group has to be relayed to, or ''."""
        return self._memories[departure.key(group)].seen.previous

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
