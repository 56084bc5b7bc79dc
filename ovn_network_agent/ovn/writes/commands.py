# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Idempotent writes to the OVN Northbound database.

A command reads the rows on the IDL thread, and its transaction verifies the
columns that decide: if another writer was faster, it is built again.  One that
must not act sets ``refused``, so that the others still succeed.
"""

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any
from typing import Generic
from typing import TypeVar
import uuid

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.common import networks
from ovn_network_agent.common import normal_wait
from ovn_network_agent.ovn import rows
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb import command
from ovn_network_agent.ovsdb.columns import Row


def managed(nb: columns.Tables,
            owners: Collection[ownership.Owner] | None = None
            ) -> Iterator[tuple[str, columns.Row, model.NbDefaultRoute]]:
    """Managed default routes: UUID of the router, row and route.

    python-ovs makes new objects at each reading of a column; tags first and
    routers only for tagged routes take a fifth of the time with 2,000 routers.

    :param owners: None for all
    """
    found = {key: row for key, row in
             nb['Logical_Router_Static_Route'].items()
             if _is_of(row.external_ids, owners)}
    for key, router in nb['Logical_Router'].items() if found else ():
        for reference in columns.referenced(router, 'static_routes'):
            row = found.get(reference)
            route = rows.default_route(row) if row is not None else None
            if route is not None:
                yield str(key), row, route


def _is_of(external_ids: Mapping[str, str],
           owners: Collection[ownership.Owner] | None) -> bool:
    return ownership.is_managed(external_ids) and (
        owners is None or ownership.owner(external_ids) in owners)


_Resource = TypeVar('_Resource', bound=resources.Resource)


class NorthboundCommand(command.Command):
    """Base of the commands that write to OVN NB."""

    def router(self, key: str) -> Row:
        """The row of the router with a UUID, None without it."""
        return self.rows('Logical_Router').get(uuid.UUID(key))

    def mac_bindings(self, txn: Any) -> dict[tuple[str, str], Row]:
        """The rows of Static_MAC_Binding by their port and IP address.

        All commands of a transaction share the dict and note what they change:
        a search by each would look at the rows of all other routers.
        """
        return self.shared(txn, 'Static_MAC_Binding', lambda: {
            (columns.atom(row, 'logical_port'), columns.atom(row, 'ip')): row
            for row in self.rows('Static_MAC_Binding').values()})

    def managed_routes(self, key: str
                       ) -> list[tuple[Row, model.NbDefaultRoute]]:
        """The managed default routes of a router; none without the router."""
        router = self.router(key)
        found = [(row, rows.default_route(row))
                 for row in (router.static_routes if router else ())]
        return [(row, route) for row, route in found
                if route is not None and route.managed]


class ResourceCommand(NorthboundCommand, Generic[_Resource]):
    """Base of the commands that write or remove one resource.

    :param doubt: why this chassis must not take another's row over now, or ''
    """

    def __init__(self, api: Any, resource: _Resource, doubt: str = '') -> None:
        super().__init__(api)
        self.resource = resource
        self._doubt = doubt


class SetDefaultRoute(ResourceCommand[resources.DefaultRoute]):
    """Give the managed default route of a router the tag of this chassis."""

    def run_idl(self, txn: Any) -> None:
        """Take over the router's managed route, or insert a row.

        Refused without the router, beside somebody else's route, in doubt.
        """
        self.refused = ''
        router = self.router(self.resource.router)
        if router is None:
            self.refused = normal_wait.Reason('the router is gone')
            return
        command.verify(txn, router, 'static_routes')
        ours = None
        for row in router.static_routes:
            route = rows.default_route(row)
            if route is None or route.prefix != self.resource.prefix:
                continue
            if not route.managed:
                self.refused = ('the router has a default route via '
                                f'{route.nexthop} that is not ours')
                return
            if ours is None or route.owner == self.resource.owner:
                ours = row
        if ours is None:
            ours = txn.insert(
                self.api.idl.tables['Logical_Router_Static_Route'])
            self._fill(ours)
            router.addvalue('static_routes', ours.uuid)
            return
        owner, own = ownership.owner(ours.external_ids), self.resource.owner
        if self._doubt and owner.hostname and (
                owner not in (own, own._replace(chassis=''))):
            self.refused = normal_wait.like(
                self._doubt, f'{owner} has the default route, and '
                f'{self._doubt}')
            return
        ours.verify('external_ids')
        self._fill(ours)

    def _fill(self, row: Row) -> None:
        values = {
            'ip_prefix': self.resource.prefix,
            'nexthop': self.resource.nexthop,
            'output_port': self.resource.lrp}
        for column, value in values.items():
            present = getattr(row, column, None)
            if present != value and present != [value]:
                setattr(row, column, value)
        present = getattr(row, 'external_ids', None) or {}
        wanted = {**present, **ownership.marks(self.resource.owner)}
        if (ownership.owner(present) != self.resource.owner or
                present.get(ownership.EXT_ID_ADVERTISED) !=
                self.resource.owner.hostname):
            # The proof is of an earlier owner.
            wanted.pop(ownership.EXT_ID_ADVERTISED, None)
        if wanted != present:
            row.external_ids = wanted


class RemoveDefaultRoute(ResourceCommand[resources.DefaultRoute]):
    """Remove a managed default route that still has this chassis' tag."""

    def run_idl(self, txn: Any) -> None:
        """Delete the managed routes of the family with this chassis' tag."""
        router = self.router(self.resource.router)
        for row, route in self.managed_routes(self.resource.router):
            if (route.prefix == self.resource.prefix and
                    route.owner == self.resource.owner):
                row.verify('external_ids')
                router.delvalue('static_routes', row)
                row.delete()


class RemoveStaleRoute(ResourceCommand[resources.StaleRoute]):
    """Remove a managed default route that a dead chassis has left.

    So too the next hop's MAC binding, unless a living chassis has a managed
    route through the port.
    """

    def __init__(self, api: Any, unwanted: resources.StaleRoute,
                 dead: Collection[ownership.Owner]) -> None:
        super().__init__(api, unwanted)
        self._dead = dead

    def run_idl(self, txn: Any) -> None:
        """Delete the route, and the binding that nobody else needs."""
        stale = self.resource
        router, removed = self.router(stale.router), False
        for row, route in self.managed_routes(stale.router):
            if (route.owner, route.output_port, route.nexthop) == (
                    stale.owner, stale.lrp, stale.nexthop):
                row.verify('external_ids')
                router.verify('static_routes')
                router.delvalue('static_routes', row)
                row.delete()
                removed = True
        if not removed or self._in_use():
            return
        binding = self.mac_bindings(txn).pop((stale.lrp, stale.nexthop), None)
        if binding is not None:
            binding.verify('mac')
            binding.delete()

    def _in_use(self) -> bool:
        """Whether a living chassis has such a route through the port."""
        family = networks.family(self.resource.nexthop)
        routes_left = map(rows.default_route, self.rows(
            'Logical_Router_Static_Route').values())
        return any(route is not None and route.managed and
                   route.output_port == self.resource.lrp and
                   networks.family(route.prefix) == family and
                   route.owner not in self._dead for route in routes_left)


class SetAdvertised(ResourceCommand[resources.Advertised]):
    """Put the proof of announcement onto this chassis' own managed route."""

    def run_idl(self, txn: Any) -> None:
        """Write the proof; without the route, a normal wait.

        Another gateway or Neutron may be ahead of this agent's view.
        """
        routes = self.managed_routes(self.resource.router)
        if self.router(self.resource.router) is None:
            self.refused = normal_wait.Reason('the router is gone')
            return
        others = {str(route.owner) for _row, route in routes} - {''}
        # The view follows: SB tells of a move, and NB may be faster.
        self.refused = (normal_wait.Reason(
            f'{", ".join(sorted(others))} has taken the default route over')
            if others else 'the router has no default route of ours')
        for row, route in routes:
            if route.owner == self.resource.owner:
                self.refused = ''
                row.verify('external_ids')
                mark = {ownership.EXT_ID_ADVERTISED: route.owner.hostname}
                if not mark.items() <= row.external_ids.items():
                    row.external_ids = {**row.external_ids, **mark}


class SetMacBinding(ResourceCommand[resources.MacBinding]):
    """Bind the virtual gateway of a router port to the MAC of this node.

    It overrides what OVN learned, which outlives a move of the port.
    """

    def run_idl(self, txn: Any) -> None:
        """Correct the row of (port, address), or insert one.

        Refused without the table, and in doubt about another MAC.
        """
        if 'Static_MAC_Binding' not in self.api.idl.tables:
            self.refused = ('this version of OVN has no table '
                            'Static_MAC_Binding; that of 23.03 has it')
            return
        bindings = self.mac_bindings(txn)
        place = self.resource.lrp, self.resource.ip
        row = bindings.get(place)
        if row is None:
            row = txn.insert(self.api.idl.tables['Static_MAC_Binding'])
            bindings[place] = row
            row.logical_port, row.ip = place
            self._fill(row)
        elif self._doubt and row.mac != self.resource.mac:
            self.refused = normal_wait.like(
                self._doubt, f'the next hop has the MAC {row.mac} already, '
                f'and {self._doubt}')
        elif (row.mac, row.override_dynamic_mac) != (self.resource.mac, True):
            row.verify('mac')
            self._fill(row)

    def _fill(self, row: Row) -> None:
        row.override_dynamic_mac = True
        row.mac = self.resource.mac


class RemoveMacBinding(ResourceCommand[resources.MacBinding]):
    """Remove the virtual gateway's binding if it has this node's MAC."""

    def run_idl(self, txn: Any) -> None:
        """Delete the row, also one that does not override learned bindings."""
        bindings = self.mac_bindings(txn)
        place = self.resource.lrp, self.resource.ip
        row = bindings.get(place)
        if row is not None and self.resource.mac in (
                row.mac, '' if not row.override_dynamic_mac else None):
            del bindings[place]
            row.verify('mac')
            row.delete()
