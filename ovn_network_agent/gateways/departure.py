# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""The groups that this chassis is to leave, and their wait for a relay.

A port must not leave before the relay to the next owner answers, because this
chassis could not serve it afterwards.  Right after the start of the next
owner's agent, BFD of the relay needs some seconds, as when gateway nodes are
restarted one after another.
"""

from collections.abc import Iterable
import operator
import typing

from ovn_network_agent import model
from ovn_network_agent.conf.options import bridges

# Most seconds to wait for a relay: the agent of the other end may have none.
# BFD begins with one packet a second (RFC 5880, section 6.8.3) and is up after
# three.
PATIENCE = 5.0


#: Of a group: its table and its key there.
Key = tuple[str, str]


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
