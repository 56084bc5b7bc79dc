# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The parts of a snapshot that drivers silently leave alone, as text.

Pure.
"""

from collections.abc import Collection
from collections.abc import Iterator

from ovn_network_agent import model
from ovn_network_agent.common import wording
from ovn_network_agent.drivers.common import segments

_NAMED = 5  # most groups in one message


class SnapshotProblems:
    """Finds the problems of snapshots; looks only at what has changed."""

    def __init__(self) -> None:
        # Of the last view.
        self._routers: tuple[
            tuple[model.Router, ...], Collection[str]] = (), ()
        self._texts: set[str] = set()
        # Likewise.
        self._drains: tuple[
            model.Node | None, tuple[model.GatewayGroup, ...],
            tuple[str, ...]] = None, (), ()

    def problems(self, snapshot: model.Snapshot, bridges: Collection[str],
                 ranked: bool) -> tuple[str, ...]:
        """The problems of a snapshot, each with its effect.

        :param ranked: whether a driver writes the priorities of gateways
        """
        if (snapshot.routers, bridges) != self._routers:
            self._routers = snapshot.routers, bridges
            self._texts = {text for router in snapshot.routers
                           for text in _of_router(router, bridges)}
        found = {*snapshot.problems, *self._texts}
        if not ranked:
            found.update(self._about_drains(snapshot))
        return tuple(sorted(found))

    def _about_drains(self, snapshot: model.Snapshot) -> tuple[str, ...]:
        """A NAT row changes no group."""
        node, groups, messages = self._drains
        if groups is not snapshot.groups or node != snapshot.node:
            messages = tuple(_left_drained(snapshot))
            self._drains = snapshot.node, snapshot.groups, messages
        return messages


def _of_router(router: model.Router, bridges: Collection[str]
               ) -> Iterator[str]:
    for problem in router.problems:
        yield f'router {router.called}: {problem}'
    for port in router.ports:
        if not port.local and not port.hosting or router.routed_by_ovn:
            continue
        reason = segments.objection(port.segment, bridges)
        if reason:
            yield (f'router {router.called}, port {port.lrp}: {reason}; its '
                   'addresses stay as they are')


def _left_drained(snapshot: model.Snapshot) -> Iterator[str]:
    if snapshot.node.drains:
        yield ('a drain of this node is asked for (ovn-network-agent-ctl), '
               'which has no effect without the driver gateway_drain')
    lowered = sorted(
        group.name for group in snapshot.groups
        if (own := group.candidate(snapshot.node.chassis)) and own.drained)
    if lowered:
        some = ', '.join(lowered[:_NAMED])
        yield ('this chassis has priority 0 in '
               f'{wording.count(len(lowered), "gateway group")} ({some}), '
               'as its agent drained them, and without the driver '
               'gateway_drain it stays so; add that to [DEFAULT] drivers, or '
               'set the priorities (ovn-nbctl)')
