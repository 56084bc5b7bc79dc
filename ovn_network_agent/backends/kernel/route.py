# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backend route: kernel routes of the agent's protocol, in any table.

The protocol number is the mark: a route without it is never touched.
"""

import collections
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Sequence
from typing import Any
from typing import NamedTuple
from typing import TypeAlias

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.backends import calls
from ovn_network_agent.common import notices
from ovn_network_agent.model import evpn_names
from ovn_network_agent.netlink import route_codec
from ovn_network_agent.netlink.objects import links
from ovn_network_agent.netlink.objects import routes
from ovn_network_agent.privileged.network import kernel_routes
from ovn_network_agent.privileged.routing import vtysh

_NAMES = (resources.KernelRoute.kind, resources.AnnouncedRoute.kind)


# (table, prefix)
_Place: TypeAlias = tuple[Any, ...]


class RouteBackend(base.KernelBackend):
    """Kernel routes that carry the protocol number of the agent."""

    name = 'route'
    kinds = (resources.KernelRoute, resources.AnnouncedRoute,
             resources.VniRoute, resources.EgressRoute)
    # With its last IPv4 address a device loses its IPv4 routes, without a
    # notification (fib_disable_ip()).
    doubted_by = (notices.kernel('link'), notices.kernel('address'),
                  notices.kernel('route'), notices.ZEBRA_KERNEL)

    def __init__(self, conf: Any) -> None:
        super().__init__(conf)
        self._memory = base.Memory[resources.KernelRoute]()
        # What the remembered resources rest on, with the announcements' table
        # and the unusual classes.
        self._last: routes.Seen | None = None
        self._classes: tuple[_Usual, frozenset[_Place]] | None = None

    def read(self, known: base.Known) -> Sequence[resources.Resource]:
        """Read the routes of the agent's protocol, one a (table, prefix).

        :param known: decides between the kinds where the place leaves several
        :raises base.BackendError: when the kernel does not answer
        """
        return self.reread(lambda: known, None)[0] or []

    def reread(self, known: Callable[[], base.Known], mark: Any
               ) -> base.Reading:
        """Likewise, unless the routes are the same as at a reading.

        :param mark: (table of the announcements, :class:`routes.Seen`) or None
        :raises base.BackendError: as :meth:`read`
        """
        table = self._announce_table()
        usual = _Usual(table, self.conf.evpn.table_base)
        previous = mark[1] if mark and mark[0] == table else None
        found, seen = self._read(previous)
        if found is None:
            return None, mark
        classes = usual, _unusual(known(), usual)
        if classes != self._classes and self._memory.keys:
            self._memory, self._last = base.Memory(), None
            found, seen = self._read(None)
        self._classes, self._last = classes, seen
        return self._memory.take(
            (digest, None if some is None else _resources(some, *classes))
            for digest, some in found), (table, seen)

    def _read(self, previous: routes.Seen | None) -> Any:
        return calls.reading(
            'routes', routes.read_again, ownership.ROUTE_PROTOCOL, previous,
            self._last, self._memory.keys)

    def _announce_table(self) -> int:
        """Of FRR's VRF; 0 while there is no VRF."""
        vrf = self.conf.frr.vrf_name
        if not vrf:
            return resources.MAIN_TABLE
        link = calls.reading('devices', links.read_all).get(vrf)
        return link.vrf_table if link else 0

    def apply(self, delta: base.Delta) -> base.Failures:
        """Set and delete routes."""
        wanted = resources.of_kind(resources.KernelRoute, delta.wanted)
        failures = calls.refused(
            kernel_routes.set_routes, wanted,
            [[r.table, r.dst, r.dev, r.via or '', r.metric or 0]
             for r in wanted])
        # The former route goes after the new one is there.
        moved = [new for old, new in resources.updates_of(
            resources.KernelRoute, delta)
                 if old.metric != new.metric and new.ref not in failures]
        return {
            **failures,
            **calls.refused(kernel_routes.keep_metrics, moved,
                            [[*r.key, r.metric or 0] for r in moved]),
            **_deleted(resources.of_kind(
                resources.KernelRoute, delta.delete))}

    def in_effect(self, announced: list[resources.Resource]
                  ) -> set[resources.Ref]:
        """The kernel routes that zebra knows.

        :raises base.BackendError: when FRR does not answer
        """
        # Only asked if static routes of FRR are to go, so there is an FRR.
        with calls.explained('kernel routes that FRR knows'):
            known = vtysh.read_known(self.conf.frr.vrf_name, 'kernel')
        return {
            r.ref for r in resources.of_kind(resources.KernelRoute, announced)
            if r.dst in known}


def _resources(found: Iterable[route_codec.Route], usual: '_Usual',
               unusual: Collection[_Place]) -> list[resources.KernelRoute]:
    """The resource of each place, see :meth:`RouteBackend.read`."""
    places: dict[_Place, route_codec.Route] = {}
    several: dict[_Place, int] = {}
    for route in found:
        if places.setdefault(route[:2], route) is not route:
            several[route[:2]] = resources.SEVERAL
    return [usual.made(place, place in unusual, *route[:4],
                       several.get(place) or route.own_metric or None)
            for place, route in places.items()]


def _deleted(unwanted: list[resources.KernelRoute]) -> base.Failures:
    """Delete routes, all of a place.

    :raises base.BackendError: when the routes of a place with several cannot
        be counted, or the daemon cannot be reached
    """
    # Each deletion takes one route of the place.
    several = {r.key for r in unwanted if r.metric == resources.SEVERAL}
    counts = collections.Counter[_Place](
        (route.table, route.dst) for route in calls.reading(
            'routes', routes.read_ours, ownership.ROUTE_PROTOCOL)
    ) if several else collections.Counter()
    unwanted = [r for r in unwanted for _route in range(
        counts[r.key] if r.key in several else 1)]
    return calls.refused(kernel_routes.delete_routes, unwanted,
                         [list(r.key) for r in unwanted])


class _Usual(NamedTuple):
    """What decides about the class of a route.

    A host route in FRR's table, and each route in the table of a VNI, is an
    announcement, so that an unwanted one goes first; a host route that is
    wanted as the other class is of that class. A route through the VRF of a
    VNI is the node's own, to be announced as long as others are.
    """

    # Table of the announcements.
    announcing: int
    # The option table_base.
    base: int

    def made(self, place: _Place, other: bool, table: int, dst: str, dev: str,
             via: str | None, metric: int | None) -> resources.KernelRoute:
        """Of a route that was read, or that is wanted as the other class."""
        if table in ownership.EGRESS_TABLES or (
                table == ownership.EGRESS_BACK_TABLE):
            return resources.EgressRoute(table, dst, dev, via, metric)
        vni = evpn_names.vni_of_table(self.base, table)
        if vni and table != self.announcing and dev != evpn_names.vrf(vni):
            return resources.VniRoute(table, dst, dev, via, metric, vni)
        return self.kind(place, other)(table, dst, dev, via, metric)

    def kind(self, place: _Place, other: bool = False
             ) -> type[resources.KernelRoute]:
        """The class of a place, but in the table of a VNI."""
        table, dst = place
        announced = (table == self.announcing and
                     dst.endswith(('/32', '/128'))) != other
        return (resources.AnnouncedRoute if announced
                else resources.KernelRoute)


def _unusual(known: base.Known, usual: '_Usual') -> frozenset[_Place]:
    """The keys of the routes that are wanted as the other class alone."""
    found: set[_Place] = set()
    others: set[_Place] = set()
    for ref in known:
        if ref.kind in _NAMES:
            (found if ref.kind == usual.kind(ref.key).kind
             else others).add(ref.key)
    return frozenset(others - found)
