# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backends northbound and stale_route: rows of NB that belong to a router.

The agent's own are the managed default routes with the host name of this
chassis, and the MAC bindings for (port, next hop) of such a route. A managed
route with the tag of another chassis is taken over when a driver wants it
here. A proof of another chassis on a route of this one means nothing, and is
removed.

Without SB, the agent does not know whether a gateway port is still here. So
the rows of another chassis stay: two agents must not take rows from each
other. The same holds for rows that another chassis has just taken, until a
view is newer than an answer of SB (:mod:`ovn.confirmation`).

No driver wants a route of a chassis that is gone for good, so the ordinary
difference removes it. The view decides which chassis are gone, and the
Southbound server is asked once more, because a replica may lack rows.
"""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
from typing import Any
from typing import TypeAlias

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.backends import ovsdb_writer
from ovn_network_agent.common import normal_wait
from ovn_network_agent.common import notices
from ovn_network_agent.ovn import confirmation
from ovn_network_agent.ovn.chassis import absent_chassis
from ovn_network_agent.ovn.writes import commands
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb import connection

_EVERYTHING = ('0.0.0.0/0', '::/0')
_COMMANDS = {
    resources.DefaultRoute.kind: (commands.SetDefaultRoute,
                                  commands.RemoveDefaultRoute),
    resources.OnLinkRoute.kind: (commands.SetDefaultRoute,
                                 commands.RemoveDefaultRoute),
    resources.MacBinding.kind: (commands.SetMacBinding,
                                commands.RemoveMacBinding)}

_Row: TypeAlias = resources.DefaultRoute | resources.MacBinding


class NorthboundBackend(ovsdb_writer.NbWriter):
    """Managed default routes and MAC bindings of this chassis."""

    name = 'northbound'
    kinds = (resources.DefaultRoute, resources.OnLinkRoute,
             resources.MacBinding)
    doubted_by = (notices.STATIC_ROUTES, notices.MAC_BINDINGS,
                  notices.IDENTITY)
    revived_by = (notices.connected('nb'), notices.connected('sb'))
    reads_only_rows = True

    def attach(self, context: base.Context) -> None:
        """Receive the databases, of which SB is also asked."""
        super().attach(context)
        # Rows that this chassis had at the last reading, or has written since.
        self._had: set[resources.Ref] = set()
        # Taken by another chassis; the last reading's view may not know why.
        self._held = frozenset[resources.Ref]()
        self._barrier = confirmation.Barrier(
            context.databases['sb'], self._sb_has_answered)

    def read(self, known: base.Known) -> list[_Row]:
        """Read the rows of this chassis, and note the lost ones.

        :param known: such a binding counts even if its router and route are
            gone
        :raises base.BackendError: when the replica of NB is not usable
        """
        with self.tables() as nb:
            found = self._read(nb, known)
        refs = {resource.ref for resource in found}
        lost = (self._had & known) - refs
        if lost:
            self._barrier.ask(lost)
        self._had = refs
        # The work of this pass goes by its view, even if SB answers meanwhile.
        self._held = self._barrier.held(self._context.viewed())
        return found

    def reread(self, known: Callable[[], base.Known], mark: Any
               ) -> base.Reading:
        """See :meth:`ovsdb_writer.Writer.reread`."""
        answer = super().reread(known, mark)
        self._held = self._barrier.held(self._context.viewed())
        return answer

    def apply(self, delta: base.Delta) -> base.Failures:
        """Write and remove rows, see :class:`ovsdb_writer.Writer`.

        A row that another chassis has is refused while SB is in doubt.
        """
        failures = super().apply(delta)
        self._had |= {resource.ref for resource in delta.create
                      if resource.ref not in failures}
        return failures

    def taken_over(self, lost: list[resources.Ref]) -> set[resources.Ref]:
        """See :meth:`base.Backend.taken_over`."""
        try:
            with self._context.databases['nb'].rows() as nb:
                foreign = list(self._of_others(nb))
        except connection.Unavailable:
            # Only the count of the drift is at stake.
            return set()
        bindings = {resources.Ref(resources.MacBinding.kind,
                                  (route.lrp, route.nexthop))
                    for route in foreign}
        return bindings.union(
            route.ref for route in foreign).intersection(lost)

    def _of_others(self, nb: columns.Tables
                   ) -> Iterator[resources.DefaultRoute]:
        """The managed routes that have the tag of another chassis."""
        return (route for route in self._managed_routes(nb)
                if route.owner not in {ownership.Owner()} |
                self._context.marks())

    def _sb_has_answered(self) -> None:
        if self._context.wake is not None:
            self._context.wake('OVN SB has answered', revived=(self.name,))

    def _read(self, nb: columns.Tables, known: base.Known) -> list[_Row]:
        routed = list(self._managed_routes(nb, self._context.marks()))
        found: list[_Row] = [*routed]
        ours = {(r.lrp, r.nexthop) for r in routed}
        # A binding belongs to the agent that has the route. A known one stays
        # this agent's if its router and route are gone.
        places = {ref.key for ref in known
                  if ref.kind == resources.MacBinding.kind} - ours
        if places:
            places -= {(r.lrp, r.nexthop)
                       for r in self._managed_routes(nb)}
        places |= ours
        for row in nb.get('Static_MAC_Binding', {}).values():
            if (row.logical_port, row.ip) in places:
                # Else a binding that OVN learned wins over this row.
                found.append(resources.MacBinding(
                    row.logical_port, row.ip,
                    row.mac if row.override_dynamic_mac else ''))
        return found

    def _managed_routes(self, nb: columns.Tables,
                        owners: Collection[ownership.Owner] | None = None
                        ) -> Iterator[resources.DefaultRoute]:
        for router, _row, route in commands.managed(nb, owners):
            outdated = (None if route.advertised in ('', route.owner.hostname)
                        else route.advertised)
            kind = (resources.DefaultRoute if route.prefix in _EVERYTHING
                    else resources.OnLinkRoute)
            yield kind(
                router, route.output_port, route.nexthop, route.owner,
                outdated, route.prefix)

    def command(self, verb: str, resource: _Row) -> ovsdb_writer.Make:
        """The command for a route or a binding."""
        set_, remove = _COMMANDS[resource.kind]
        if verb == 'remove':
            return lambda api: remove(api, resource)
        doubt = self._doubt(resource.ref)
        return lambda api: set_(api, resource, doubt)

    def _doubt(self, ref: resources.Ref) -> str:
        """The reason why rows of another chassis have to stay, or ''."""
        reason = self._context.databases['sb'].problem
        if not reason and ref in self._held:
            reason = normal_wait.Reason('OVN_Southbound has not answered '
                                        'since then')
        return reason and normal_wait.like(
            reason, f'whether its port is still here is not known: {reason}')


class StaleRouteBackend(ovsdb_writer.NbWriter):
    """Managed default routes of chassis that are gone for good."""

    name = 'stale_route'
    kinds = (resources.StaleRoute,)
    doubted_by = (notices.STATIC_ROUTES, notices.CHASSIS_DELETED)
    revived_by = (notices.connected('nb'),)
    reads_only_rows = True

    def __init__(self, conf: Any,
                 timeout: float = ovsdb_writer.TIMEOUT) -> None:
        super().__init__(conf)
        self._timeout = timeout

    def read(self, known: base.Known) -> list[resources.StaleRoute]:
        """Read the managed routes of chassis that are gone for good.

        :raises base.BackendError: when the replica of NB is not usable
        """
        dead = self._context.dead()
        with self.tables() as nb:
            return [resources.StaleRoute(router, route.output_port,
                                         route.nexthop, route.owner)
                    for router, _row, route in (
                        commands.managed(nb, dead) if dead else ())]

    def command(self, verb: str, resource: resources.StaleRoute
                ) -> ovsdb_writer.Make:
        """The command that removes a route; only 'remove' occurs."""
        dead = self._context.dead()
        return lambda api: commands.RemoveStaleRoute(api, resource, dead)

    def apply(self, delta: base.Delta) -> base.Failures:
        """Remove the routes of chassis that SB does not have, either.

        :param delta: only its deletions are looked at
        :returns: :class:`base.Kept` for the route of a chassis that is there
        :raises base.BackendError: when SB or NB does not answer
        """
        present = ovsdb_writer.ask_chassis(self._context, self.conf,
                                           self._timeout)
        back = {r.ref for r in resources.of_kind(
            resources.StaleRoute, delta.delete)
                if absent_chassis.known(r.owner, present)}
        failures = {ref: base.Kept('its chassis is there') for ref in back}
        rest = tuple(r for r in delta.delete if r.ref not in back)
        return failures | (super().apply(base.Delta(delete=rest))
                           if rest else {})
