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


"""What is to be drained, and when: first what leaves has to be relayed.

Right after the start of the next owner's agent, as when gateways are restarted
one after another, its relay does not answer yet: BFD needs some seconds.  A
port that left now could not be served from here.
"""

import operator

from ovn_network_agent import model

# Seconds that a group is held back for the relay at the most: there may be an
# agent without relays at the other end.  BFD begins with one packet a second
# (RFC 5880, 6.8.3) and is up after three of them.
PATIENCE = 5.0


class Holding:
    """Remembers since when each group is held back.

    :param conf: the oslo.config ConfigOpts
    """

    def __init__(self, conf):
        self._conf = conf
        self._since = {}

    def held(self, groups, node, now):
        """The groups that are not to be lowered yet.

        A stop leaves all groups at once or none.  So of two chassis that
        stop at the same time one is before the other in every group, and
        they never wait for each other.

        :param groups: iterable of :class:`model.GatewayGroup`
        :param node: :class:`model.Node`
        :param now: monotonic seconds
        :returns: (frozenset of the :func:`key` of these, when the first of
            them is not held back any longer, or None)
        """
        self._since = {key(group): self._since.get(key(group), now)
                       for group in groups if self._unanswered(group, node)}
        ends = {found: begun + PATIENCE
                for found, begun in self._since.items()
                if now < begun + PATIENCE}
        return frozenset(
            key(group) for group in groups if key(group) in ends or
            ends and why(group, node, self._conf) == model.SHUTDOWN
            ), min(ends.values(), default=None)

    def _unanswered(self, group, node):
        """Whether it is to leave, and the relay to the next owner is silent.
        """
        if (not self._conf.gateway_drain.relay or
                not why(group, node, self._conf)):
            return False
        own, takers = group.candidate(node.chassis), group.takers(
            node.chassis)
        if not own.priority or not takers or not any(
                port.chassis == node.chassis for port in group.ports):
            return False
        first = max(takers, key=operator.attrgetter('rank'))
        return bool(first.address) and not any(
            relay.alive and relay.address == first.address
            for relay in node.relays)


def key(group):
    """What a group is remembered by, a tuple.

    :param group: :class:`model.GatewayGroup`
    """
    return group.table, group.key


def why(group, node, conf):
    """Why this chassis is to leave a group.

    :param group: :class:`model.GatewayGroup`
    :param node: :class:`model.Node`
    :param conf: the oslo.config ConfigOpts
    :returns: :data:`model.MAINTENANCE`, :data:`model.SHUTDOWN`,
        :data:`model.UNFIT`, or '' when it is not
    """
    if not node.drains.isdisjoint({model.ALL, *group.routers}):
        return model.MAINTENANCE
    if (node.phase is model.Phase.DRAINING and
            conf.gateway_drain.drain_on_shutdown):
        return model.SHUTDOWN
    if node.phase is model.Phase.RUNNING and _unfit_standby(group,
                                                            node.chassis):
        return model.UNFIT
    return ''


def _unfit_standby(group, chassis):
    """Whether it could not announce the ports, and has none of them.

    Whoever has one keeps it: another candidate need not be better off.  A
    port that is moving is nowhere for some milliseconds (decision record
    0009), and that makes no standby of its owner.
    """
    owners = {port.chassis for port in group.ports}
    return group.unfit and chassis not in owners and (
        '' not in owners or not group.candidate(chassis).priority)
