# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The departure from groups: the wait for a relay, and the overlap.  Pure.

A port must not leave before the relay to the next owner answers, because this
chassis could not serve it afterwards.  Right after the start of the next
owner's agent, BFD of the relay needs some seconds, as when gateway nodes are
restarted one after another.

OVN's chassis act on a move at different times, so a compute node may send to a
chassis without the port (decision record 0011).  So when all gateway ports are
to leave, the other candidates are made to believe that this chassis has died,
and take over.  Only then the priorities are changed, which decide where
compute nodes send.
"""

from collections.abc import Iterable
from collections.abc import Sequence
import operator
import typing
from typing import Any

from ovn_network_agent import model
from ovn_network_agent.common import bridges
from ovn_network_agent.gateways import transitions

# Most seconds to wait for a relay: the agent of the other end may have none.
# BFD begins with one packet a second (RFC 5880, section 6.8.3) and is up after
# three.
PATIENCE = 5.0


#: Of a group: its table and its key there.
Key = tuple[str, str]
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


class Holding:
    """Remembers since when each group is held back."""

    def __init__(self, conf: typing.Any) -> None:
        self._conf = conf
        self._began: dict[Key, float] = {}

    def held(self, groups: Iterable[model.GatewayGroup], node: model.Node,
             now: float) -> tuple[frozenset[Key], float | None]:
        """The groups whose priority must not be lowered yet.

        A stop leaves all groups at once, or none.  So of two chassis that stop
        at the same time, one is before the other in every group, and they
        never wait for each other.

        While OVN NB is away, no priority can be lowered.  After an outage of
        OVN SB, some compute nodes follow a new order late.  All groups to
        leave are held then: an overlap that began now would be over too early.

        :param now: monotonic seconds
        :returns: the :func:`key` of these groups; monotonic seconds at which
            the first wait ends, or None
        """
        self._began = {key(group): self._began.get(key(group), now)
                       for group in groups if self._unanswered(group, node)}
        ends = {found: begun + PATIENCE
                for found, begun in self._began.items()
                if now < begun + PATIENCE}
        return frozenset(
            key(group) for group in groups if key(group) in ends or
            ends and why(group, node, self._conf) == model.SHUTDOWN or
            (group.fixed or group.late) and self._to_lower(group, node)
            ), min(ends.values(), default=None)

    def _to_lower(self, group: model.GatewayGroup, node: model.Node) -> bool:
        return (bool(why(group, node, self._conf)) and
                has_priority(group, node.chassis) and
                bool(group.takers(node.chassis)))

    def _unanswered(self, group: model.GatewayGroup, node: model.Node) -> bool:
        """Whether it is to leave, and the next owner's relay is silent."""
        if (not self._conf.gateway_drain.relay or
                not self._to_lower(group, node) or not any(
                    port.chassis == node.chassis for port in group.ports)):
            return False
        first = max(group.takers(node.chassis),
                    key=operator.attrgetter('rank'))
        answered = {relay.bridge for relay in node.relays
                    if relay.alive and relay.address == first.address}
        return bool(first.address) and not answered.issuperset(
            group.bridges(bridges.served(self._conf)))


def key(group: model.GatewayGroup) -> Key:
    """The key of a group."""
    return group.table, group.key


def has_priority(group: model.GatewayGroup, chassis: str) -> bool:
    """Whether OVN may give the ports of a group to a chassis."""
    own = group.candidate(chassis)
    return own is not None and own.priority > 0


def why(group: model.GatewayGroup, node: model.Node, conf: typing.Any) -> str:
    """The reason why this chassis is to leave a group.

    :returns: :data:`model.MAINTENANCE`, :data:`model.SHUTDOWN`,
        :data:`model.UNFIT`, or ''
    """
    if node.drains and not node.drains.isdisjoint(
            {model.ALL, *group.routers}):
        return model.MAINTENANCE
    if (node.phase is model.Phase.DRAINING and
            conf.gateway_drain.drain_on_shutdown):
        return model.SHUTDOWN
    if node.phase is model.Phase.RUNNING and _unfit_standby(group,
                                                            node.chassis):
        return model.UNFIT
    return ''


def _unfit_standby(group: model.GatewayGroup, chassis: str) -> bool:
    """Whether this chassis is a standby that could not announce the ports.

    An owner keeps its ports, because another candidate may be unfit, too.  A
    moving port has no chassis for some milliseconds (decision record 0009),
    which does not make its owner a standby.
    """
    if not group.unfit:
        return False
    owners = {port.chassis for port in group.ports}
    return chassis not in owners and (
        '' not in owners or not has_priority(group, chassis))


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
             now: float, held: frozenset[Key] = frozenset()
             ) -> tuple[frozenset[Key], tuple[str, ...],
                        float | None]:
        """The present state of the overlap.

        :param now: monotonic seconds
        :param held: the :func:`departure.key` of groups that wait for a relay
        :returns: keys of groups whose priorities have to stay for now; tunnel
            addresses of the next owners, empty without an overlap; monotonic
            seconds at which this changes by time alone, or None
        """
        leaving = [group for group in groups
                   if why(group, node, self._conf) and
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
                  held: frozenset[Key]) -> transitions.Progress:
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
               now: float, held: frozenset[Key]
               ) -> transitions.Progress | None:
        """Begin one if all gateway ports are to leave; what prevents it."""
        here = [group for group in groups if _here(group, node) and
                group.peers(node.chassis)]
        wanted = _keys(leaving)
        takers = [taker for group in here
                  for taker in group.takers(node.chassis)]
        if (not self._conf.gateway_drain.overlap or not here or
                any(key(group) not in wanted - held or
                    not has_priority(group, node.chassis)
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


def _keys(groups: Iterable[model.GatewayGroup]) -> frozenset[Key]:
    return frozenset(map(key, groups))
