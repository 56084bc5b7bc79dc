# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The tenure of a group: the way in which this chassis has its ports.  Pure.

OVN needs a while to move ports to a candidate with a higher priority.  After a
move, the former owner still has them, too.
"""

import dataclasses
import operator

from ovn_network_agent import model
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


@dataclasses.dataclass(frozen=True, slots=True)
class Seen:
    """The memory of a group's tenure from one view to the next."""

    tenure: model.Tenure = _Tenure.NEW
    # :attr:`model.Candidate.rank` of those before this chassis with ports.
    above: frozenset[tuple[int, str]] = frozenset()
    # Monotonic seconds at which the last candidate got there.
    outranked_at: float = 0.0
    # The chassis that was before this one and still answers, or ''.
    former: str = ''
    until: float = 0.0  # monotonic seconds at which ``former`` is forgotten

    @property
    def ends(self) -> float | None:
        """Monotonic seconds at which time changes the tenure, or None."""
        if self.tenure is _Tenure.LINGERING:
            return self.until
        if self.tenure in (_Tenure.OUTRANKED, _Tenure.CONTESTED):
            return self.outranked_at + MOVE
        return None


def look(seen: Seen, group: model.GatewayGroup, node: model.Node,
         now: float) -> Seen:
    """The memory after one more view; NOW in monotonic seconds."""
    above = _above(group, node.chassis)
    if above:
        place, outranked_at = _outranked(seen, above, group, node, now)
        return Seen(_after(seen, place), above, outranked_at)
    if above is None:
        return Seen(_after(seen, _Place.NO_PORT))
    former, until = _former(seen, group, node.chassis, now)
    if now < until and relay_to(group.candidate(former), node):
        return Seen(_after(seen, _Place.FORMER_ANSWERS), former=former,
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


def _former(seen: Seen, group: model.GatewayGroup, chassis: str,
            now: float) -> tuple[str, float]:
    """The chassis before this one, and monotonic seconds of the end."""
    if seen.tenure in _CAME:
        _priority, former = max(seen.above)
        return former, now + LINGER
    if seen.tenure is not _Tenure.LINGERING:
        return '', now
    if _applied_before(group.candidate(seen.former), group.candidate(chassis)):
        return seen.former, now + LINGER
    return seen.former, seen.until


def _applied_before(former: model.Candidate | None,
                    own: model.Candidate | None) -> bool:
    """Whether compute nodes still have to send to the former owner.

    They go by the order in OVN SB, into which ovn-northd copies the order.
    """
    if former is None or own is None or (
            former.applied is None or own.applied is None):
        return False
    return (former.applied, former.chassis) > (own.applied, own.chassis)


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
