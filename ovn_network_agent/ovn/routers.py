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

"""A router without its NAT rows, from the rows that it needs.

This part of :mod:`ovn.snapshot` is pure.  An event on a NAT row leaves it as
it is.
"""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses

from ovn_network_agent import model
from ovn_network_agent import networks
from ovn_network_agent.model import wiring as wirings
from ovn_network_agent.ovn import directory
from ovn_network_agent.ovn import indexes
from ovn_network_agent.ovn import rows
from ovn_network_agent.ovn import segments
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb.columns import Row
from ovn_network_agent.ovsdb.columns import Uuid


class Routers:
    """Builds routers, and notes the rows that they are built from.

    :param follows: whether this agent handles a chassisredirect port
    :param depends: by row the routers that were built from it, to add to
    """

    def __init__(self, find: indexes.Find, follows: Callable[[str], bool],
                 located: segments.Segments,
                 depends: dict[Uuid, set[Uuid]]) -> None:
        self._find = find
        self._follows = follows
        self._segments = located
        self._users = segments.Users(find)
        self._depends = depends
        self._balanced: dict[Uuid, tuple[
            tuple[model.BalancedAddress, ...], tuple[str, ...]]] = {}

    def forget(self) -> None:
        """Read everything anew the next time."""
        self._balanced.clear()

    def changed(self, uuid: Uuid) -> None:
        """Note that a row is new, deleted or changed."""
        self._balanced.pop(uuid, None)

    def build(self, bindings: indexes.Bindings, wiring: wirings.Wiring,
              uuid: Uuid, row: Row) -> model.Router:
        """A router without its NAT rows, and without what words say."""
        problems: list[str] = []
        ports = [port for lrp in columns.rows(row, 'ports')
                 for port in self._gateway_ports(
                     bindings, wiring, uuid, lrp, problems)]
        return model.Router(
            str(uuid), columns.atom(row, 'name'),
            tuple(sorted(ports, key=lambda p: p.lrp)),
            default_routes=self._default_routes(uuid, row),
            balanced=tuple(
                self._claimed(each, bindings, ports, uuid)
                for each in self._router_balanced(uuid, row, problems)),
            problems=tuple(problems),
            label=directory.neutron_name(row))

    def _router_balanced(self, router: Uuid, row: Row, problems: list[str]
                         ) -> tuple[model.BalancedAddress, ...]:
        found: list[model.BalancedAddress] = []
        by_uuid, used_groups = rows.load_balancers(row)
        for used in (*by_uuid, *used_groups):
            self._depends[used].add(router)
        for uuid, balancer in by_uuid.items():
            if uuid not in self._balanced:
                self._balanced[uuid] = rows.balanced(balancer)
            addresses, bad = self._balanced[uuid]
            found.extend(addresses)
            problems.extend(bad)
        return rows.merged(found)

    def _claimed(self, balanced: model.BalancedAddress,
                 bindings: indexes.Bindings,
                 ports: Sequence[model.GatewayPort],
                 router: Uuid) -> model.BalancedAddress:
        """A virtual IP that no other router has as the address of a NAT row.

        See decision record 0039.
        """
        other, used = self._users.claimant(
            bindings, [port.lrp for port in ports], balanced.address, router)
        for row in used:
            self._depends[row].add(router)
        return balanced if other is None else dataclasses.replace(
            balanced, unanswered='it is the address of a NAT row of router '
            f'{other}')

    def _default_routes(self, router: Uuid, row: Row
                        ) -> tuple[model.NbDefaultRoute, ...]:
        found = set()
        for route_row in columns.rows(row, 'static_routes'):
            self._depends[route_row.uuid].add(router)
            route = rows.default_route(route_row)
            if route is not None:
                found.add(route)
        return tuple(sorted(found, key=lambda r: (r.nexthop, r.output_port)))

    def _gateway_ports(self, bindings: indexes.Bindings,
                       wiring: wirings.Wiring, router: Uuid, lrp: Row,
                       problems: list[str]) -> Iterator[model.GatewayPort]:
        self._depends[lrp.uuid].add(router)
        name = columns.atom(lrp, 'name')
        redirect = self._find('sb', 'Port_Binding', 'redirect').first(name)
        _table, owner, members = rows.members(lrp)
        self._depends[owner.uuid].add(router)
        if redirect is None and not members:
            return
        chassis, follows = '', False
        if redirect is not None:
            binding = bindings[redirect]
            chassis = rows.chassis_name(binding)
            follows = self._follows(columns.atom(binding, 'logical_port'))
        nets, bad = rows.networks(lrp)
        problems.extend(bad)
        located = self._segments.locate(bindings, wiring, name)
        used, rows_of_users = self._users.find_user(
            bindings, name, networks.virtual_gateway(nets))
        for row in (*located.depends, *rows_of_users):
            self._depends[row].add(router)
        yield model.GatewayPort(
            name, columns.atom(lrp, 'mac').lower(), nets, chassis,
            follows and (chassis == wiring.chassis or
                         not chassis and name in wiring.held),
            located.segment, located.nat_addresses, used)
