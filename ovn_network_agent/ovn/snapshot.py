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

"""The typed view of this chassis, rebuilt only where rows changed.

The builder is pure: it works on rows that the caller passes in.  Each router
is remembered with the rows that it was built from, and is built again only
when such a row changed.
"""

import collections
import dataclasses

from ovn_network_agent import model
from ovn_network_agent import networks
from ovn_network_agent.ovn import directory
from ovn_network_agent.ovn import evidence
from ovn_network_agent.ovn import groups
from ovn_network_agent.ovn import indexes
from ovn_network_agent.ovn import nats
from ovn_network_agent.ovn import rows
from ovn_network_agent.ovn import segments
from ovn_network_agent.ovn import withholding
from ovn_network_agent.ovsdb import columns

# The indexes of each table by which routers are found for a view.
_MEMBERSHIP = {'Port_Binding': ('bound', 'redirect', 'hosted'),
               'NAT': ('machine',),
               'Logical_Router_Port': ('name',),
               'Logical_Router': ('port', 'route', 'uuid'),
               'Logical_Router_Static_Route': ('tag',)}


class Builder:
    """Keeps the view up to date.

    :param gateway_port: name of the only chassisredirect port to follow,
        '' for all
    :param selected: :class:`selection.Selection`
    :ivar whole: whether the last view was built from whole tables, and not
        only from the changes that the servers reported
    """

    def __init__(self, gateway_port='', selected=None):
        self._gateway_port = gateway_port
        self._indexes = indexes.make()
        self._wiring = None
        self._hostname = ''
        self._machines = nats.Machines(self._index)
        self._nats = nats.Nats(self._machines.is_here)
        self._balanced = {}
        self._routers = {}
        # The routers of the last view: their number in the view by UUID, None
        # while others may belong to it, and those that are to be built again.
        self._places = None
        self._current = []
        self._outdated = set()
        self._also = frozenset()
        self._depends = collections.defaultdict(set)
        self._segments = segments.Segments(self._index)
        self._users = segments.Users(self._index)
        self._withholding = withholding.Withholding(self._index)
        self._groups = groups.Groups(self._index, self._follows,
                                     self._segments,
                                     self._withholding.leaves)
        if selected is not None:
            self.select(selected)
        self._filled = False
        self.whole = False

    def select(self, selected):
        """Let other options decide, from the next full view on.

        :param selected: :class:`selection.Selection`
        """
        self._withholding.selection = selected

    def build(self, nb, sb, wiring, dirty, phase, full=False,
              also=frozenset()):
        """Bring the view up to date.

        :param nb: dict of table name to dict of UUID to row; likewise sb
        :param wiring: :class:`model.wiring.Wiring`
        :param dirty: dict of ('nb'|'sb', table) to set of changed UUIDs
        :param phase: :class:`model.Phase`
        :param full: build everything anew
        :param also: frozenset of UUIDs of routers to include even when they
            do not concern this chassis
        :returns: :class:`model.Snapshot`, in which an unchanged router is
            the same object as last time
        """
        databases = {'nb': nb, 'sb': sb}
        self._withholding.has_advertised = 'Advertised_Route' in sb
        self.whole = False
        # After an exception, nobody knows what has been taken in.
        filled, self._filled = self._filled, False
        if full or not filled or not self._consistent(databases, dirty):
            self._rebuild_indexes(databases)
            self._forget()
            self.whole = True
        else:
            self._take_in(databases, dirty)
        self._set_node(sb, wiring)
        node = model.Node(
            wiring.chassis, self._hostname, phase, wiring.devices,
            wiring.mappings, wiring.relays, wiring.drains,
            overlapping=wiring.overlapping)
        seen = model.Snapshot(node, self._current_routers(nb, sb, also),
                              self._groups.candidate_groups(nb, sb, wiring),
                              wiring.problems)
        self._filled = True
        return seen

    def hosts(self):
        """Host names of the managed rows, and host names of all chassis.

        :returns: two set-like objects: the host names in the tags of managed
            routes and in the requests for BFD of other chassis; the host
            names of all chassis, empty while SB does not have this chassis
        """
        chassis = self._index('sb', 'Chassis', 'name')
        here = chassis.first(self._wiring.chassis) is not None
        left = (self._index('nb', 'Logical_Router_Static_Route',
                            'tag').keys() |
                self._index('nb', 'NB_Global', 'request').keys())
        return (left - {self._hostname},
                self._index('sb', 'Chassis', 'hostname').keys()
                if here else frozenset())

    @property
    def distributed(self):
        """Whether the cloud has distributed floating IPs."""
        return self._machines.wanted

    def own_chassis(self):
        """UUID of the row of this chassis in SB, or None."""
        return self._index('sb', 'Chassis', 'name').first(
            self._wiring.chassis)

    def gateway_chassis(self):
        """Names of all chassis that a gateway port is bound to, set-like."""
        return self._index('sb', 'Port_Binding', 'bound').keys()

    def evidence(self, chassis, confirmed):
        """The evidence about lost addresses in the present view.

        :param chassis: name of this chassis
        :param confirmed: frozenset of subjects, see
            :class:`ovn.evidence.Evidence`
        """
        return evidence.Evidence(self._index, chassis, confirmed)

    # -- keeping up -------------------------------------------------------

    def _index(self, database, table, name):
        return self._indexes[database, table][name]

    def _consistent(self, databases, dirty):
        """Whether the indexes have as many rows as the replicas.

        A reconnection may replace a replica without an event for the rows
        that are gone; then the counts differ.
        """
        for (database, table), named in self._indexes.items():
            table_rows = databases[database].get(table, {})
            known = len(next(iter(named.values())))
            changed = dirty.get((database, table), ())
            first = next(iter(named.values()))
            for uuid in changed:
                known += (uuid in table_rows) - first.covers(uuid)
            if known != len(table_rows):
                return False
        return True

    def _rebuild_indexes(self, databases):
        for (database, table), named in self._indexes.items():
            for each_index in named.values():
                each_index.rebuild(databases[database].get(table, {}))

    def _forget(self):
        self._nats.forget()
        self._balanced.clear()
        self._routers.clear()
        self._depends.clear()
        self._groups.forget()
        self._places = None

    def _take_in(self, databases, dirty):
        for (database, table), uuids in dirty.items():
            table_rows = databases[database].get(table, {})
            for uuid in uuids:
                self._invalidate(database, table, uuid)
                changed = {
                    name: each_index.update(uuid, table_rows.get(uuid))
                    for name, each_index in self._indexes.get(
                        (database, table), {}).items()}
                self._invalidate(database, table, uuid)
                for row in self._users.concerned(table, uuid, changed):
                    self._outdate(self._depends.get(row, ()))
                if table == 'Logical_Router' and uuid not in table_rows:
                    self._nats.drop(uuid)
                if (any(changed[name]
                        for name in _MEMBERSHIP.get(table, ())) or
                        self._machines.any_of(changed.get('nat', ()))):
                    self._places = None

    def _invalidate(self, database, table, uuid):
        """Drop the routers that a row concerns, by the row's present keys."""
        self._balanced.pop(uuid, None)
        self._groups.changed(table, uuid)
        stale = set(self._depends.pop(uuid, ()))
        if table == 'NAT':
            self._nats.changed(uuid, stale)
        if table == 'Logical_Router':
            stale.add(uuid)
        elif table == 'Logical_Router_Static_Route':
            stale.update(self._index('nb', 'Logical_Router',
                                     'route').find(uuid))
        elif table in ('NAT', 'Load_Balancer', 'Logical_Router_Port'):
            for address in self._index('nb', table, 'address').keys_of(uuid):
                stale.update(self._routers_via(address))
        elif table == 'Advertised_Route':
            for datapath in self._index('sb', table, 'datapath').keys_of(uuid):
                stale.update(self._depends.get(datapath, ()))
        elif table == 'Logical_Switch':
            stale.update(self._depends.pop(str(uuid), ()))
        elif table == 'Port_Binding':
            stale.update(self._routers_bound(uuid))
            stale.update(self._routers_hosted(uuid))
        self._outdate(stale)

    def _outdate(self, routers):
        """Have routers built again.

        :param routers: iterable of UUIDs
        """
        self._outdated.update(routers)
        for router in routers:
            self._routers.pop(router, None)

    def _routers_bound(self, uuid):
        """UUIDs of the routers that a row of Port_Binding concerns."""
        if self._index('sb', 'Port_Binding', 'localnet').keys_of(uuid):
            yield from self._routers
        for name in ('redirect', 'peer'):
            for lrp in self._index('sb', 'Port_Binding', name).keys_of(uuid):
                yield from self._routers_of(lrp)
                for port in self._index('nb', 'Logical_Router_Port',
                                        'name').find(lrp):
                    yield from self._depends.get(port, ())

    def _routers_hosted(self, uuid):
        """UUIDs of the routers with a floating IP for a machine's port.

        :param uuid: of a row of Port_Binding
        """
        found = set()
        for nat in self._machines.nat_rows(uuid):
            routers = self._depends.get(nat, ())
            self._nats.changed(nat, routers)
            found.update(routers)
        return found

    def _routers_of(self, lrp):
        """UUIDs of the routers with a port of that name."""
        by_name = self._index('nb', 'Logical_Router_Port', 'name')
        by_port = self._index('nb', 'Logical_Router', 'port')
        return {router for port in by_name.find(lrp)
                for router in by_port.find(port)}

    def _routers_via(self, address):
        """UUIDs of the routers whose virtual gateway would be an address."""
        by_nexthop = self._index('nb', 'Logical_Router_Port', 'nexthop')
        by_port = self._index('nb', 'Logical_Router', 'port')
        return {router for port in by_nexthop.find(address)
                for router in by_port.find(port)}

    def _set_node(self, sb, wiring):
        uuid = self._index('sb', 'Chassis', 'name').first(wiring.chassis)
        # ovn-controller deletes its row at an orderly end; the host name of
        # the node is still the same.
        hostname = self._hostname or wiring.hostname
        if uuid is not None:
            hostname = sb['Chassis'][uuid].hostname or wiring.hostname
        if wiring != self._wiring or hostname != self._hostname:
            self._routers.clear()
            self._depends.clear()
            self._nats.forget()
            self._places = None
        self._wiring, self._hostname = wiring, hostname
        self._machines.chassis = wiring.chassis

    # -- routers ----------------------------------------------------------

    def _current_routers(self, nb, sb, also):
        if self._places is None or also != self._also:
            self._places = None
            # Of the others, some may be gone.
            found = sorted(uuid for uuid in self._concerned(sb) | also
                           if uuid in nb['Logical_Router'])
            self._current = [self._router(nb, sb, uuid) for uuid in found]
            self._places = {uuid: at for at, uuid in enumerate(found)}
            self._also = also
        for uuid in self._outdated:
            if uuid in self._places:
                self._current[self._places[uuid]] = self._router(nb, sb, uuid)
        self._outdated.clear()
        return tuple(self._current)

    def _router(self, nb, sb, uuid):
        if uuid not in self._routers:
            self._routers[uuid] = self._build_router(nb, sb, uuid)
        return self._routers[uuid]

    def _concerned(self, sb):
        """UUIDs of the routers that concern this chassis."""
        bindings = sb['Port_Binding']
        bound = self._index('sb', 'Port_Binding', 'bound')
        concerned = set()
        for uuid in bound.find(self._wiring.chassis):
            if self._follows(bindings[uuid].logical_port):
                for lrp in self._index('sb', 'Port_Binding',
                                       'redirect').keys_of(uuid):
                    concerned.update(self._routers_of(lrp))
        concerned.update(self._machines.routers_here(bindings))
        tagged = self._index('nb', 'Logical_Router_Static_Route', 'tag')
        by_route = self._index('nb', 'Logical_Router', 'route')
        for uuid in tagged.find(self._hostname) if self._hostname else ():
            concerned.update(by_route.find(uuid))
        return concerned

    def _follows(self, redirect_port):
        return self._gateway_port in ('', redirect_port)

    def _build_router(self, nb, sb, uuid):
        row = nb['Logical_Router'][uuid]
        problems = []
        ports = [port for lrp in row.ports
                 for port in self._gateway_ports(sb, uuid, lrp, problems)]
        found, bad, read = self._nats.of_router(
            uuid, columns.referenced(row, 'nat'), nb['NAT'])
        problems.extend(bad)
        for nat in read:
            self._depends[nat].add(uuid)
        balanced = self._router_balanced(uuid, row, problems)
        ports = self._with_machines(uuid, sorted(ports, key=lambda p: p.lrp))
        judged = self._withholding.judge(
            sb['Port_Binding'], row, ports,
            {each.external_ip for each in found} |
            {each.address for each in balanced})
        for used in judged.depends:
            self._depends[used].add(uuid)
        return model.Router(
            str(uuid), row.name, judged.ports, found,
            self._default_routes(uuid, row),
            tuple(sorted({*problems, *judged.problems})), balanced,
            row.external_ids.get(directory.NEUTRON_NAME, ''), judged.withheld,
            judged.routed_by_ovn)

    def _with_machines(self, router, ports):
        """Tell the ports which of them have floating IPs of machines here.

        :returns: tuple of :class:`model.GatewayPort`
        """
        hosting = {networks.owner_of(nat, ports)
                   for nat in self._nats.residents(router)}
        return tuple(dataclasses.replace(port, hosting=True)
                     if port in hosting and self._follows(
                         model.REDIRECT + port.lrp) else port
                     for port in ports)

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

    def _default_routes(self, router, row):
        found = set()
        for route_row in row.static_routes:
            self._depends[route_row.uuid].add(router)
            route = rows.default_route(route_row)
            if route is not None:
                found.add(route)
        return tuple(sorted(found, key=lambda r: (r.nexthop, r.output_port)))

    def _gateway_ports(self, sb, router, lrp, problems):
        self._depends[lrp.uuid].add(router)
        redirect = self._index('sb', 'Port_Binding',
                               'redirect').first(lrp.name)
        _table, owner, members = rows.members(lrp)
        self._depends[owner.uuid].add(router)
        if redirect is None and not members:
            return
        chassis, follows = '', False
        if redirect is not None:
            binding = sb['Port_Binding'][redirect]
            chassis = rows.chassis_name(binding)
            follows = self._follows(binding.logical_port)
        nets, bad = rows.networks(lrp)
        problems.extend(bad)
        located = self._segments.locate(sb['Port_Binding'], self._wiring,
                                        lrp.name)
        user, rows_of_users = self._users.find_user(
            sb['Port_Binding'], lrp.name, networks.virtual_gateway(nets))
        for used in (*located.depends, *rows_of_users):
            self._depends[used].add(router)
        yield model.GatewayPort(
            lrp.name, lrp.mac.lower(), nets, chassis,
            follows and chassis == self._wiring.chassis != '',
            located.segment, located.nat_addresses, user)
