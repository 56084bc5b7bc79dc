# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""Gateway ports that leave: this chassis serves them until the next one does.

OVN shows the chassis of a port, but not whether it announces the port already.
So this chassis announces and relays until the new owner's proof is there or
the time is up.  Then it withdraws the addresses, and forwards the last packets
for a moment.

No I/O.  Only this module and :mod:`gateways.membership` remember anything from
one view to the next, beside the inputs of the views.
"""

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import operator
import time
from typing import Any

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.conf import plugins
from ovn_network_agent.gateways import membership
from ovn_network_agent.gateways import transitions

# Seconds between the withdrawal and the end of forwarding.  In the lab with
# two gateway nodes, the fabric acted on a withdrawal after 0.1 to 0.4 s, and
# northd and ovn-controller after about the same time.
SETTLE = 0.5
# Seconds until a port without a new proof counts as taken over: no managed
# default route leads through it, or its route had the proof before.  In the
# lab, a takeover is announced after 0.5 to 1 s.
_WITHOUT_PROOF = 3.0


# As Handovers._local, of all ports of a view; None for one that has left.
_Present = dict[str, tuple[str, frozenset[ownership.Owner]] | None]


@dataclasses.dataclass(slots=True)
class _Leaving:
    router: str  # UUID of the port's router
    lrp: str  # name of the port
    left: float  # monotonic seconds at which the port left
    # They say nothing about this move.
    old_proofs: frozenset[ownership.Owner] = frozenset()
    # Monotonic seconds of the first view with the proof.
    proved: float | None = None
    let_go: float | None = None  # monotonic seconds of the withdrawal
    state: model.Handover = model.Handover.NONE


class Handovers:
    """Adds to each view the state of handovers."""

    def __init__(self, conf: Any,
                 clock: Callable[[], float] = time.monotonic) -> None:
        # UUIDs for the next view; the same object while they are the same.
        self.routers: frozenset[str] = frozenset()
        self._conf = conf
        self._clock = clock
        # By name of a port here, the UUID of its router, and proofs.
        self._local: dict[str, tuple[str, frozenset[ownership.Owner]]] = {}
        self._leaving: dict[str, _Leaving] = {}
        self._memberships = membership.Memberships(conf)
        self._due: float | None = None
        # As OVN has it, and its groups with their states.
        self._input: model.Snapshot | None = None
        self._groups: tuple[model.GatewayGroup, ...] = ()
        # Whether the same node, routers and groups have the same states, so
        # that update() need not be called.
        self.settled = False

    def due_in(self) -> float | None:
        """Seconds until the view changes by time alone, or None."""
        return (None if self._due is None else
                max(0.0, self._due - self._clock()))

    def update(self, snapshot: model.Snapshot) -> model.Snapshot:
        """A view as OVN has it with the state of handovers added."""
        unchanged = (self._input is not None and
                     _same_view(snapshot, self._input))
        seen = self._compute(snapshot)
        self._include()
        # Once more the same result: no table leads on from a state without
        # another condition.
        self.settled = (unchanged and self._at_rest(snapshot, seen) and
                        seen.groups == self._groups)
        self._input, self._groups = snapshot, seen.groups
        return seen

    def _include(self) -> None:
        routers = frozenset(
            router for router, _proofs in self._local.values()) | {
                leaving.router for leaving in self._leaving.values()}
        if routers != self.routers:
            self.routers = routers

    def _at_rest(self, snapshot: model.Snapshot, seen: model.Snapshot) -> bool:
        """Whether nothing but the states of groups was added to a view."""
        return (self._due is None and not self._leaving and
                seen.node is snapshot.node and
                all(map(operator.is_, seen.routers, snapshot.routers)))

    def _compute(self, snapshot: model.Snapshot) -> model.Snapshot:
        self._due = None
        if not self._wanted(snapshot.node.phase):
            self._local.clear()
            self._leaving.clear()
            self._memberships.clear()
            return snapshot
        now = self._clock()
        groups, addresses, self._due = self._memberships.update(
            snapshot.groups, snapshot.node, now)
        node = (snapshot.node._replace(overlap=addresses)
                if addresses else snapshot.node)
        by_port = {port.redirect: group for group in groups
                   for port in group.ports}
        present: _Present = {}
        routers = tuple(
            self._router(router, snapshot.node, by_port, present, now)
            for router in snapshot.routers)
        self._leaving = {lrp: leaving for lrp, leaving
                         in self._leaving.items() if lrp in present}
        self._local = {lrp: seen for lrp, seen in present.items()
                       if lrp not in self._leaving and seen}
        return dataclasses.replace(snapshot, node=node, routers=routers,
                                   groups=groups)

    def _wanted(self, phase: model.Phase) -> bool:
        return (plugins.requested(self._conf, plugins.RANKING) and
                phase in (model.Phase.RUNNING, model.Phase.DRAINING))

    def _wake_at(self, when: float) -> None:
        self._due = when if self._due is None else min(self._due, when)

    # -- ports --------------------------------------------------------------

    def _router(self, router: model.Router, node: model.Node,
                by_port: Mapping[str, model.GatewayGroup], present: _Present,
                now: float) -> model.Router:
        ports = tuple(self._port(port, router, node, by_port, present, now)
                      for port in router.ports)
        if all(new is old for new, old in zip(ports, router.ports)):
            return router
        return dataclasses.replace(router, ports=ports)

    def _port(self, port: model.GatewayPort, router: model.Router,
              node: model.Node, by_port: Mapping[str, model.GatewayGroup],
              present: _Present, now: float) -> model.GatewayPort:
        group = by_port.get(model.REDIRECT + port.lrp)
        if port.local:
            self._leaving.pop(port.lrp, None)
            present[port.lrp] = (router.uuid,
                                 _proofs(router, port.lrp, node))
            if group is None or not (transitions.relays(group) or
                                     router.uuid in node.drains):
                return port
            relay = _relay(port, group, node,
                           self._memberships.previous_owner(group))
            return port._replace(relay=relay) if relay else port
        if port.lrp in self._local and port.lrp not in self._leaving:
            self._leaving[port.lrp] = _Leaving(
                router.uuid, port.lrp, now, self._local[port.lrp][1])
        leaving = self._leaving.get(port.lrp)
        if leaving is None:
            return port
        present[port.lrp] = None
        relay = _relay(port, group, node) if group is not None else 0
        state = self._state(leaving, router, node, relay, now)
        if state is model.Handover.NONE:
            del self._leaving[port.lrp]
            return port
        return port._replace(handover=state, relay=relay)

    def _state(self, leaving: _Leaving, router: model.Router, node: model.Node,
               relay: int, now: float) -> model.Handover:
        leaving.state = transitions.PORT.after(leaving.state, self._passage(
            leaving, router, node, relay, now))
        return leaving.state

    def _passage(self, leaving: _Leaving, router: model.Router,
                 node: model.Node, relay: int,
                 now: float) -> transitions.Passage:
        if leaving.let_go is None:
            if not self._over(leaving, router, node, relay, now):
                return transitions.Passage.AWAITED
            leaving.let_go = now
        if now >= leaving.let_go + SETTLE:
            return transitions.Passage.SETTLED
        self._wake_at(leaving.let_go + SETTLE)
        return transitions.Passage.ENOUGH

    def _over(self, leaving: _Leaving, router: model.Router, node: model.Node,
              relay: int, now: float) -> bool:
        """Whether this chassis has to stop to announce a port."""
        if not relay:
            # This chassis cannot deliver packets of the port.
            return True
        proofs = _proofs(router, leaving.lrp, node)
        if leaving.proved is None and proofs - leaving.old_proofs:
            leaving.proved = now
        ends = []
        if leaving.proved is not None:
            ends.append(leaving.proved +
                        self._conf.gateway_drain.drain_settle_delay)
        elif proofs or not _routes(router, leaving.lrp):
            ends.append(leaving.left + _WITHOUT_PROOF)
        if node.phase is model.Phase.RUNNING:
            ends.append(leaving.left +
                        self._conf.gateway_drain.handover_timeout)
        if ends and now < min(ends):
            self._wake_at(min(ends))
        return bool(ends) and now >= min(ends)


def _same_view(snapshot: model.Snapshot, other: model.Snapshot) -> bool:
    return (snapshot.node == other.node and
            # Whether a relay answers is no part of its value.
            [relay.alive for relay in snapshot.node.relays] ==
            [relay.alive for relay in other.node.relays] and
            snapshot.groups == other.groups and
            len(snapshot.routers) == len(other.routers) and
            all(_same_router(*pair) for pair in [
                (router, previous) for router, previous
                in zip(snapshot.routers, other.routers, strict=True)
                if router is not previous]))


def _same_router(router: model.Router, other: model.Router) -> bool:
    """Whether two routers differ at most in their addresses."""
    return (router.uuid == other.uuid and router.ports == other.ports and
            router.default_routes == other.default_routes)


def _routes(router: model.Router, lrp: str) -> list[model.NbDefaultRoute]:
    """Managed routes of a router whose proof would be about a port.

    A router has one default route, and its ports may be on several chassis.
    """
    return [route for route in router.default_routes
            if route.managed and route.output_port in ('', lrp)]


def _proofs(router: model.Router, lrp: str,
            node: model.Node) -> frozenset[ownership.Owner]:
    """The other chassis that are proved to announce a port.

    An agent that takes a route over removes the proof of the former owner.
    """
    return frozenset(
        route.owner for route in _routes(router, lrp)
        if route.advertised == route.owner.hostname != '' and
        route.owner not in node.marks)


def _relay(port: model.GatewayPort, group: model.GatewayGroup,
           node: model.Node, only: str = '') -> int:
    """OpenFlow port of the relay to the present or next owner, or 0.

    The VRF of a VNI needs none: it forwards by the route of the next owner.

    :param only: name of the chassis that it has to be, or ''
    """
    if port.vni:
        return 0
    relays = {relay.address: relay.port for relay in node.relays
              if relay.alive and (port.segment is None or
                                  relay.bridge == port.segment.bridge)}
    for candidate in sorted(group.candidates, reverse=True,
                            key=operator.attrgetter('rank')):
        if candidate.chassis == node.chassis or not candidate.known:
            continue
        if port.chassis not in ('', node.chassis, candidate.chassis) or (
                only not in ('', candidate.chassis)):
            continue
        if candidate.address in relays:
            return relays[candidate.address]
    return 0
