# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The tenure of a group: the way in which this chassis has its ports.  Pure.

A candidate with a higher priority may be about to get the ports, for which OVN
needs a while.  Or OVN has moved the ports here, and the former owner still has
them, too.
"""

import dataclasses
import operator

from ovn_network_agent import model
from ovn_network_agent.gateways import transitions

# Seconds for OVN to move a port after a higher priority of another candidate:
# 0.3 s in the lab, and some seconds with a busy ovn-northd.
MOVE = 10.0
# Seconds that an owner still relays to the candidate that was before it in SB.
# Compute nodes learn the priorities later.  Until then, their answers leave by
# the other candidate, whose connection tracking has to know the connections.
LINGER = 2.5

_Place = transitions.Place
_Tenure = model.Tenure
_CAME = (_Tenure.CONTESTED, _Tenure.INHERITED)


@dataclasses.dataclass(frozen=True, slots=True)
class Seen:
    """The memory of a group's tenure from one view to the next.

    :ivar tenure: :class:`model.Tenure`
    :ivar above: frozenset of :attr:`model.Candidate.rank` of the candidates
        before this chassis, while it has ports
    :ivar since: monotonic seconds at which the last candidate got there
    :ivar former: name of the chassis that was before this one and still
        answers, or ''
    :ivar until: monotonic seconds at which ``former`` is forgotten
    """

    tenure: model.Tenure = _Tenure.NEW
    above: frozenset = frozenset()
    since: float = 0.0
    former: str = ''
    until: float = 0.0

    @property
    def ends(self):
        """Monotonic seconds at which time alone changes the tenure, or None.
        """
        if self.tenure is _Tenure.LINGERING:
            return self.until
        if self.tenure in (_Tenure.OUTRANKED, _Tenure.CONTESTED):
            return self.since + MOVE
        return None


def look(seen, group, node, now):
    """The memory after one more view.

    :param seen: :class:`Seen` of the former view
    :param group: :class:`model.GatewayGroup`
    :param node: :class:`model.Node`
    :param now: monotonic seconds
    :returns: :class:`Seen`
    """
    above = _above(group, node.chassis)
    if above:
        place, since = _outranked(seen, above, group, node, now)
        return Seen(_after(seen, place), above, since)
    if above is None:
        return Seen(_after(seen, _Place.NO_PORT))
    former, until = _former(seen, group, node.chassis, now)
    if now < until and relay_to(group.candidate(former), node):
        return Seen(_after(seen, _Place.FORMER_ANSWERS), former=former,
                    until=until)
    return Seen(_after(seen, _Place.FIRST))


def _after(seen, place):
    return transitions.TENURE.after(seen.tenure, place)


def _outranked(seen, above, group, node, now):
    """(place, since) of a chassis with other candidates before it."""
    came = seen.tenure is _Tenure.ELSEWHERE
    if not came and not (seen.above and above <= seen.above):
        return _Place.RAISED, now
    since = now if came else seen.since
    if now >= since + MOVE:
        return _Place.OVER, since
    first = max(group.peers(node.chassis), default=None,
                key=operator.attrgetter('rank'))
    return (_Place.ANSWERED if relay_to(first, node) else
            _Place.SILENT), since


def _former(seen, group, chassis, now):
    """(name of the chassis before this one, monotonic seconds of the end)."""
    if seen.tenure in _CAME:
        _priority, former = max(seen.above)
        return former, now + LINGER
    if seen.tenure is not _Tenure.LINGERING:
        return '', now
    if _applied_before(group.candidate(seen.former), group.candidate(chassis)):
        return seen.former, now + LINGER
    return seen.former, seen.until


def _applied_before(former, own):
    """Whether compute nodes still have to send to the former owner.

    These go by the order in OVN SB, into which ovn-northd copies the order.
    """
    return former is not None and None not in (
        former.applied, own.applied) and (
        (former.applied, former.chassis) > (own.applied, own.chassis))


def _above(group, chassis):
    """The candidates before a chassis that has ports of a group.

    :returns: frozenset of :attr:`model.Candidate.rank` of the candidates in
        SB, or None if the chassis has no port
    """
    if all(port.chassis != chassis for port in group.ports):
        return None
    own = group.candidate(chassis)
    return frozenset(c.rank for c in group.candidates
                     if c.known and c.priority > own.priority)


def relay_to(candidate, node):
    """OpenFlow port of the relay to a candidate, 0 without an answer.

    :param candidate: :class:`model.Candidate` at the other end, or None
    :param node: :class:`model.Node`
    """
    return next((relay.port for relay in node.relays
                 if relay.alive and candidate is not None and
                 relay.address == candidate.address), 0)
