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

import dataclasses

from ovn_network_agent import model
from ovn_network_agent import networks
from ovn_network_agent.ovn import directory
from ovn_network_agent.ovn import rows
from ovn_network_agent.ovn import segments
from ovn_network_agent.ovsdb import columns


class Routers:
    """Builds routers, and notes the rows that they are built from.

    :param find: function(database, table, name) that returns the
        :class:`indexes.Index` of that name
    :param follows: function(name of a chassisredirect port) that returns
        whether this agent handles the port
    :param located: :class:`segments.Segments`
    :param depends: dict of the UUID of a row to the set of the UUIDs of the
        routers that were built from the row, to add to
    """

    def __init__(self, find, follows, located, depends):
        self._find = find
        self._follows = follows
        self._segments = located
        self._users = segments.Users(find)
        self._depends = depends
        self._balanced = {}

    def forget(self):
        """Read everything anew the next time."""
        self._balanced.clear()

    def changed(self, uuid):
        """Note that a row is new, deleted or changed.

        :param uuid: UUID of the row
        """
        self._balanced.pop(uuid, None)

    def build(self, bindings, wiring, uuid, row):
        """A router without its NAT rows, and without what words say.

        :param bindings: dict of UUID to row of Port_Binding
        :param wiring: :class:`model.wiring.Wiring`
        :param uuid: UUID of the router
        :param row: its row of Logical_Router
        :returns: :class:`model.Router`
        """
        problems = []
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

    def _router_balanced(self, router, row, problems):
        found = []
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

    def _claimed(self, balanced, bindings, ports, router):
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

    def _default_routes(self, router, row):
        found = set()
        for route_row in columns.rows(row, 'static_routes'):
            self._depends[route_row.uuid].add(router)
            route = rows.default_route(route_row)
            if route is not None:
                found.add(route)
        return tuple(sorted(found, key=lambda r: (r.nexthop, r.output_port)))

    def _gateway_ports(self, bindings, wiring, router, lrp, problems):
        self._depends[lrp.uuid].add(router)
        name = columns.atom(lrp, 'name')
        redirect = self._find('sb', 'Port_Binding',
                               'redirect').first(name)
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
        located = self._segments.locate(bindings, wiring,
                                        name)
        used, rows_of_users = self._users.find_user(
            bindings, name, networks.virtual_gateway(nets))
        for row in (*located.depends, *rows_of_users):
            self._depends[row].add(router)
        yield model.GatewayPort(
            name, columns.atom(lrp, 'mac').lower(), nets, chassis,
            follows and (chassis == wiring.chassis or
                         not chassis and name in wiring.held),
            located.segment, located.nat_addresses, used)
