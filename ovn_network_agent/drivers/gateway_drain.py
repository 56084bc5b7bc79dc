# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""Driver gateway_drain: the order in gateway groups, their relays and BFD.

The owner of a gateway port keeps the lead: a return to the former owner would
cost packets.  A drained candidate is a standby again when its agent starts.

Each function returns the candidates to change with their wanted values.  The
priorities stay small: a group gets new ones before one exceeds
:data:`HIGHEST`, and when there is no room between two.
"""

from collections.abc import Collection
from collections.abc import Sequence
import typing

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.common import bridges
from ovn_network_agent.conf import plugins
from ovn_network_agent.drivers import base
from ovn_network_agent.drivers.common import announcing
from ovn_network_agent.drivers.common import relays
from ovn_network_agent.gateways import departure
from ovn_network_agent.gateways import transitions

# So a peer that becomes a standby, with 1, never ties with the lead; after a
# tie, OVN decides by the names.
LEAST_LEAD = 2
STANDBY = 1
# Beyond it, the group gets new priorities.  The schema ends at 32767, and some
# groups of Neutron begin there.
HIGHEST = 100

_Changes: typing.TypeAlias = tuple[model.Candidate, ...]


def lowered(own: model.Candidate, why: str) -> _Changes:
    """The change of a candidate that must not take any port.

    :param why: as :attr:`model.Candidate.drained`
    """
    if own.priority:
        return (own._replace(priority=0, drained=why, earlier=own.priority),)
    if not own.drained:
        # Somebody else has lowered it, for a reason of their own.
        return ()
    if own.drained == model.MAINTENANCE and why == model.SHUTDOWN:
        why = own.drained
    return (own._replace(drained=why),)


def lead(own: model.Candidate, peers: Sequence[model.Candidate]) -> _Changes:
    """The changes that give a candidate the lead over at least one peer."""
    highest = max(c.priority for c in peers)
    if own.priority > highest and own.priority >= LEAST_LEAD:
        return unmarked(own)
    number = max(highest + 1, LEAST_LEAD)
    if number <= HIGHEST:
        return (_with_priority(own, number),)
    return _numbered(own, peers)


def unmarked(own: model.Candidate) -> _Changes:
    """The change of a candidate that has a priority and still a mark."""
    return (_with_priority(own, own.priority),) if own.drained else ()


def standby(own: model.Candidate, peers: Sequence[model.Candidate],
            owners: Collection[str], number: int) -> _Changes:
    """The changes that make a drained candidate a standby again.

    The owner keeps the lead, and the order of the others stays.

    :param owners: names of the chassis that have the ports
    :param number: the wanted priority, if there is room for it
    """
    back = _with_priority(own, number)
    leaders = [c for c in peers if c.chassis in owners and c.priority]
    if not leaders:
        return (back,)
    below = min(c.priority for c in leaders) - 1
    capped = _with_priority(own, min(number, below))
    others = [c for c in peers if c not in leaders]
    if capped.priority >= STANDBY and not any(
            capped.priority <= _ordered_by(c) < number for c in others):
        return (capped,)
    if len(leaders) > 1 or any(
            c.known and c.rank > leaders[0].rank for c in others):
        # The ports are about to move, which this agent must not influence.
        return (_with_priority(own, max(capped.priority, STANDBY)),)
    return _numbered(leaders[0], [back, *others])


def _ordered_by(candidate: model.Candidate) -> int:
    return candidate.priority or candidate.earlier


def _with_priority(candidate: model.Candidate,
                   priority: int) -> model.Candidate:
    return candidate._replace(priority=priority, drained='', earlier=0)


def _numbered(leader: model.Candidate,
              others: Sequence[model.Candidate]) -> _Changes:
    """The same order with small priorities, and one candidate before all.

    A drained candidate stays drained, and gets a new earlier priority.
    """
    ranks = {rank: number for number, rank in enumerate(
        sorted({_ordered_by(c) for c in others} - {0}), STANDBY)}
    number = max(len(ranks) + 1, LEAST_LEAD)
    return (_with_priority(leader, number), *(
        c._replace(priority=ranks[c.priority]) if c.priority
        else c._replace(earlier=ranks[c.earlier])
        for c in others if _ordered_by(c)))


_PHASES = (model.Phase.RUNNING, model.Phase.DRAINING)


class GatewayDrainDriver(base.Driver):
    """Wants the priorities and the relays of gateway groups."""

    ASKS = (plugins.RANKING,)
    # The core has the other options of the section.
    OTHER_OPTIONS = ('gateway_drain.relay', 'gateway_drain.relay_candidates',
                     'gateway_drain.restore',
                     'gateway_drain.drain_on_shutdown', 'ovn.bfd_min_rx',
                     'ovn.bfd_min_tx', 'ovn.bfd_mult', announcing.METHOD)
    SUBJECTS = (model.Node, model.GatewayGroup)

    def resources(self, subject: model.Node | model.GatewayGroup,
                  node: model.Node) -> base.Wanted:
        """Overlap and timers; priorities and relays of groups."""
        if isinstance(subject, model.Node):
            return self._node(node)
        return self._group(subject, node)

    def _node(self, node: model.Node) -> base.Wanted:
        if node.phase not in _PHASES:
            return
        if node.overlap:
            yield resources.Overlap(node.overlap)
        timers = self.settings.ovn
        if timers.bfd_mult and node.chassis:
            yield resources.BfdTimers(node.chassis, timers.bfd_min_rx,
                                      timers.bfd_min_tx, timers.bfd_mult)

    def _group(self, group: model.GatewayGroup,
               node: model.Node) -> base.Wanted:
        if self.settings.gateway_drain.relay:
            yield from self._relays(group, node)
        wanted, owned = self._order(group, node)
        before = tuple((c.chassis, c.priority) for c in group.candidates)
        after = tuple(sorted((c.chassis, c.priority) for c in wanted))
        for candidate in sorted(wanted, key=lambda c: c.chassis):
            yield resources.GatewayPriority(
                group.table, group.key, candidate.chassis,
                candidate.priority, candidate.drained, candidate.earlier,
                owned=owned, before=before, after=after)

    def _relays(self, group: model.GatewayGroup,
                node: model.Node) -> base.Wanted:
        served = bridges.served(self.settings)
        for bridge in served:
            if bridge in group.bridges(served):
                yield from relays.ports(
                    group, node, bridge,
                    relays.network_of(bridge, node, served[0]),
                    self.settings.gateway_drain.relay_candidates)
                yield from relays.arriving(group, node, bridge)
            else:
                yield from relays.kept(group, node, bridge)

    def _order(self, group: model.GatewayGroup, node: model.Node
               ) -> tuple[tuple[model.Candidate, ...], tuple[str, ...]]:
        """(candidates with the wanted values, ports that must be here).

        The state of the group decides (:mod:`gateways.transitions`).
        """
        own = group.candidate(node.chassis)
        if own is None or node.phase not in _PHASES:
            return (), ()
        peers = [c for c in group.candidates if c is not own]
        match transitions.GROUP.wants[group.state].order:
            case transitions.Order.ZERO:
                why = departure.why(group, node, self.settings)
                return lowered(own, why) if why else (), ()
            case transitions.Order.LEAD:
                return lead(own, peers), tuple(
                    port.redirect for port in group.ports if port.chassis)
            case transitions.Order.UNMARK:
                return unmarked(own), ()
            case transitions.Order.STANDBY:
                owners = {port.chassis for port in group.ports} - {''}
                ordered = self.settings.gateway_drain.restore == 'ordered'
                return standby(
                    own, peers, owners,
                    ordered and own.earlier or STANDBY), ()
        return (), ()
