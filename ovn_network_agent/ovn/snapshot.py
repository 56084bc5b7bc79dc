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
from ovn_network_agent import ownership
from ovn_network_agent.ovn import concerns
from ovn_network_agent.ovn import evidence
from ovn_network_agent.ovn import groups
from ovn_network_agent.ovn import indexes
from ovn_network_agent.ovn import nats
from ovn_network_agent.ovn import own_chassis
from ovn_network_agent.ovn import routers
from ovn_network_agent.ovn import segments
from ovn_network_agent.ovn import withholding
from ovn_network_agent.ovsdb import columns

_NAT = ('nb', 'NAT')
_OF_CHASSIS = frozenset({('sb', 'Chassis'), ('sb', 'Encap')})
# The indexes of each table by which routers are found for a view.
_MEMBERSHIP = {'Port_Binding': ('bound', 'redirect', 'hosted'),
               'NAT': ('machine',),
               'Logical_Router_Port': ('name',),
               'Logical_Router': ('port', 'route', 'uuid'),
               'Logical_Router_Static_Route': ('tag',)}


@dataclasses.dataclass(frozen=True, slots=True)
class _Frame:
    """A router without what its NAT rows say.

    :ivar said: the columns of its row but for the NAT rows, see
        :func:`ovsdb.columns.others`
    :ivar router: :class:`model.Router` without NAT rows and withheld
        addresses
    :ivar judged: :class:`withholding.Judgement` of the last build
    """

    said: dict
    router: model.Router
    judged: withholding.Judgement


class Builder:
    """Keeps the view up to date.

    :param gateway_port: name of the only chassisredirect port to follow,
        '' for all
    :param selected: :class:`selection.Selection`
    :ivar whole: whether the last view was built from whole tables, and not
        only from the changes that the servers reported
    :ivar own: :class:`own_chassis.OwnChassis` of the last view
    :ivar alike: whether the last view differs from the view before in the
        addresses of its routers alone
    """

    def __init__(self, gateway_port='', selected=None):
        self._gateway_port = gateway_port
        self._indexes = indexes.make()
        self._wiring = None
        self._hostname = ''
        self._machines = nats.Machines(self._index)
        self._nats = nats.Nats(self._machines.is_here)
        self._routers = {}
        self._frames = {}
        # The routers of the last view: their number in the view by UUID, None
        # while others may belong to it, and those that are to be built again.
        self._places = None
        self._current = []
        self._outdated = set()
        self._also = frozenset()
        # From the UUID of a row to the routers that were built from it.  The
        # second one has the NAT rows of a router itself.
        self._depends = collections.defaultdict(set)
        # Most NAT rows have one router, in a tuple: a set takes four times the
        # memory.
        self._holders = {}
        self._segments = segments.Segments(self._index)
        self._users = segments.Users(self._index)
        self._bare = routers.Routers(self._index, self._follows,
                                     self._segments, self._depends)
        self._concerns = concerns.Concerns(self._index, self._follows,
                                           self._depends)
        self._withholding = withholding.Withholding(self._index)
        self._groups = groups.Groups(self._index, self._follows,
                                     self._segments,
                                     self._withholding.leaves)
        if selected is not None:
            self.select(selected)
        # The gateway groups of the last view, and whether they may be others.
        self._candidates, self._regrouped = (), True
        self._node = None
        self.own = own_chassis.OwnChassis('')
        # What that follows from beside the rows of chassis, None since these
        # have changed.
        self._identified = None
        self._filled = False
        self.whole = self.alike = False

    def select(self, selected):
        """Let other options decide, from the next full view on.

        :param selected: :class:`selection.Selection`
        """
        self._withholding.selection = selected

    @property
    def selected(self):
        """The :class:`selection.Selection` in force."""
        return self._withholding.selection

    def rows(self):
        """All rows that views are built from, an iterator.

        The NAT rows come last, those of one router together: each router is
        built again with few pieces.

        :returns: of (('nb'|'sb', table), UUID)
        """
        for place, named in self._indexes.items():
            if place != _NAT:
                for uuid in next(iter(named.values())).rows():
                    yield place, uuid
        references = self._index('nb', 'Logical_Router', 'nat')
        known = self._index('nb', 'NAT', 'address').rows()
        theirs = dict.fromkeys(
            nat for router in references.rows()
            for nat in references.keys_of(router))
        for uuid in (*theirs, *(known - theirs.keys())):
            yield _NAT, uuid

    def build(self, nb, sb, wiring, dirty, phase, full=False,
              also=frozenset(), again=None, former=''):
        """Bring the view up to date.

        :param nb: dict of table name to dict of UUID to row; likewise sb
        :param wiring: :class:`model.wiring.Wiring`
        :param dirty: dict of ('nb'|'sb', table) to set of changed UUIDs
        :param phase: :class:`model.Phase`
        :param full: build everything anew
        :param also: frozenset of UUIDs of routers to include even when they
            do not concern this chassis
        :param again: :class:`pieces.Piece` whose rows, which are in DIRTY,
            may be the same; what comes of them is built anew nevertheless
        :param former: name of this chassis until now, '' if nobody knows
        :returns: :class:`model.Snapshot`, in which an unchanged router is
            the same object as last time
        :raises own_chassis.Unknown: when SB does not say which chassis this
            node is
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
            if again is not None:
                self._forget_piece(again)
            self._take_in(databases, dirty)
        wiring = self._set_node(sb, wiring, former)
        node = model.Node(
            wiring.chassis, self._hostname, phase, wiring.devices,
            wiring.mappings, wiring.relays, wiring.drains,
            overlapping=wiring.overlapping, namesakes=self._namesakes())
        self.alike = not self.whole and _alike_nodes(node, self._node)
        self._node = node
        current = self._current_routers(nb, sb, also)
        if self._regrouped:
            former, self._candidates = self._candidates, (
                self._groups.candidate_groups(nb, sb, wiring))
            self.alike = self.alike and former == self._candidates
            self._regrouped = False
        self._filled = True
        problems = wiring.problems
        if self.own.problem:
            problems = *problems, self.own.text
        return model.Snapshot(node, current, self._candidates, problems)

    def hosts(self):
        """The owners of managed rows, and all chassis.

        :returns: two sets of :class:`ownership.Owner`: those in the marks of
            managed routes and in the requests for BFD; those of all chassis,
            empty while SB does not have this chassis
        """
        names = self._index('sb', 'Chassis', 'name')
        hosts = self._index('sb', 'Chassis', 'hostname')
        left = {*self._index('nb', 'Logical_Router_Static_Route',
                             'tag').keys(),
                *(ownership.Owner(chassis=name) for name in
                  self._index('nb', 'NB_Global', 'request').keys())}
        if names.first(self._wiring.chassis) is None:
            return left, set()
        return left, {ownership.Owner(host, name) for host in hosts.keys()
                      for uuid in hosts.find(host)
                      for name in names.keys_of(uuid)}

    @property
    def doubled(self):
        """The names in the options that several routers have, sorted."""
        labels = self._index('nb', 'Logical_Router', 'label')
        return tuple(sorted(name for name in self.selected.routers
                            if len(labels.find(name)) > 1))

    def _namesakes(self):
        """Names of the other chassis with the host name of this one."""
        names = self._index('sb', 'Chassis', 'name')
        return tuple(sorted({
            name for uuid in self._index('sb', 'Chassis', 'hostname').find(
                self._hostname) for name in names.keys_of(uuid)} -
            {self._wiring.chassis}))

    @property
    def chassis(self):
        """Name of this chassis in SB."""
        return self._wiring.chassis

    @property
    def distributed(self):
        """Whether the cloud has distributed floating IPs."""
        return self._machines.wanted

    def own_chassis(self):
        """UUID of the row of this chassis in SB, or None."""
        return self._index('sb', 'Chassis', 'name').first(
            self._wiring.chassis)

    def ports_here(self):
        """Names of the router ports and machines' ports of this chassis.

        :returns: frozenset of text
        """
        return frozenset(
            name for bound, names in (('bound', 'redirect'),
                                      ('hosted', 'machine'))
            for uuid in self._index('sb', 'Port_Binding', bound).find(
                self._wiring.chassis)
            for name in self._index('sb', 'Port_Binding', names).keys_of(uuid))

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
            # The tables of python-ovs are slow to go through.
            table_rows = dict(databases[database].get(table, {}))
            for each_index in named.values():
                each_index.rebuild(table_rows)

    def _forget(self):
        self._identified = None
        self._bare.forget()
        self._forget_routers()
        self._groups.forget()
        self._regrouped = True

    def _forget_piece(self, piece):
        """Forget what does not go by the rows of one piece alone."""
        if piece.first:
            self._bare.forget()
            self._groups.forget()
            self._regrouped = True
            self._places = None
        for uuid in piece.rows.get(('nb', 'Logical_Router'), ()):
            self._frames.pop(uuid, None)

    def _forget_routers(self):
        self._nats.forget()
        self._routers.clear()
        self._frames.clear()
        self._depends.clear()
        self._holders.clear()
        self._places = None

    def _take_in(self, databases, dirty):
        if not _OF_CHASSIS.isdisjoint(dirty):
            self._identified = None
        for (database, table), uuids in dirty.items():
            table_rows = databases[database].get(table, {})
            for uuid in uuids:
                row = table_rows.get(uuid)
                frame = (self._frames.get(uuid)
                         if table == 'Logical_Router' else None)
                if frame is not None and row is not None and (
                        columns.others(row, 'nat') == frame.said):
                    self._take_in_nats(uuid, row)
                    continue
                self._invalidate(table, uuid)
                changed = {
                    name: each_index.update(uuid, row)
                    for name, each_index in self._indexes.get(
                        (database, table), {}).items()}
                self._invalidate(table, uuid)
                if table in segments.REFERRING:
                    for user in self._users.concerned(table, uuid, changed):
                        self._outdate(self._depends.get(user, ()))
                if table == 'Logical_Router' and uuid not in table_rows:
                    self._nats.drop(uuid)
                if (any(changed[name]
                        for name in _MEMBERSHIP.get(table, ())) or
                        self._machines.any_of(changed.get('nat', ()))):
                    self._places = None

    def _take_in_nats(self, uuid, row):
        """Take in a row of Logical_Router with other NAT rows alone."""
        changed = self._index('nb', 'Logical_Router', 'nat').update(uuid, row)
        self._outdate_nats((uuid,))
        for nat in changed:
            # Another router may see in it a user of an address.
            self._outdate(self._depends.get(nat, ()))
        if any(map(self._index('nb', 'NAT', 'tenant').keys_of, changed)):
            self._regroup('Logical_Router', uuid)
        if self._machines.any_of(changed):
            self._places = None

    def _regroup(self, table, uuid):
        """Have the groups built again that a row concerns."""
        self._groups.changed(table, uuid)
        self._regrouped = True

    def _invalidate(self, table, uuid):
        """Drop the routers that a row concerns, by the row's present keys."""
        if table == 'NAT':
            self._invalidate_nat(uuid)
        else:
            self._regroup(table, uuid)
        if table == 'Load_Balancer':
            self._bare.changed(uuid)
        self._outdate({*self._depends.pop(uuid, ()),
                       *self._concerned(table, uuid)})

    def _invalidate_nat(self, uuid):
        """Likewise for the routers that have a NAT row."""
        holders = self._holders.pop(uuid, ())
        self._nats.changed(uuid, holders)
        self._outdate_nats(holders)
        if self._index('nb', 'NAT', 'tenant').keys_of(uuid):
            self._regroup('NAT', uuid)

    def _concerned(self, table, uuid):
        """UUIDs of the other routers that a row concerns, an iterator."""
        if table == 'Logical_Router':
            yield uuid
        elif table == 'Logical_Router_Static_Route':
            yield from self._index('nb', 'Logical_Router', 'route').find(uuid)
        elif table in ('NAT', 'Load_Balancer', 'Logical_Router_Port'):
            for address in self._index('nb', table, 'address').keys_of(uuid):
                yield from self._of_address(address)
        elif table == 'Advertised_Route':
            for datapath in self._index('sb', table, 'datapath').keys_of(uuid):
                yield from self._depends.get(datapath, ())
        elif table == 'Logical_Switch':
            yield from self._depends.pop(str(uuid), ())
        elif table == 'Port_Binding':
            yield from self._of_binding(uuid)

    def _of_address(self, address):
        """UUIDs of the routers that a user of an address concerns."""
        if self._index('nb', 'Load_Balancer', 'address').find(address):
            yield from self._users.balancing(address)
        if self._index('nb', 'Logical_Router_Port', 'nexthop').find(address):
            yield from self._concerns.via(address)

    def _of_binding(self, uuid):
        """UUIDs of the routers that a row of Port_Binding concerns."""
        if self._index('sb', 'Port_Binding', 'localnet').keys_of(uuid):
            yield from self._frames
        yield from self._concerns.bound(uuid)
        yield from self._routers_hosted(uuid)

    def _outdate(self, routers):
        """Have routers built again.

        :param routers: iterable of UUIDs
        """
        self._outdate_nats(routers)
        for router in routers:
            self._frames.pop(router, None)

    def _outdate_nats(self, routers):
        """Have routers built again whose NAT rows alone may differ."""
        self._outdated.update(routers)
        for router in routers:
            self._routers.pop(router, None)

    def _routers_hosted(self, uuid):
        """UUIDs of the routers with a floating IP for a machine's port.

        :param uuid: of a row of Port_Binding
        """
        found = set()
        for nat in self._machines.nat_rows(uuid):
            routers = self._holders.get(nat, ())
            self._nats.changed(nat, routers)
            found.update(routers)
        return found

    def _set_node(self, sb, wiring, former):
        """Find the chassis and the host name of this node.

        :returns: the :class:`model.wiring.Wiring` with this chassis
        """
        if self._identified != (wiring, former):
            self.own = own_chassis.find(self._index, sb['Chassis'], wiring,
                                        former)
            self._identified = wiring, former
        if not self.own.name:
            raise own_chassis.Unknown(self.own.text)
        if self.own.name != wiring.chassis:
            wiring = dataclasses.replace(wiring, chassis=self.own.name)
        uuid = self._index('sb', 'Chassis', 'name').first(wiring.chassis)
        # ovn-controller deletes its row at an orderly end; the host name of
        # the node is still the same.
        hostname = self._hostname or wiring.hostname
        if uuid is not None:
            hostname = sb['Chassis'][uuid].hostname or wiring.hostname
        if wiring != self._wiring or hostname != self._hostname:
            self._forget_routers()
            self._regrouped = True
        self._wiring, self._hostname = wiring, hostname
        self._machines.chassis = wiring.chassis
        self._machines.held = wiring.held
        return wiring

    # -- routers ----------------------------------------------------------

    def _current_routers(self, nb, sb, also):
        if self._places is None or also != self._also:
            self._places, former = None, self._current
            # Of the others, some may be gone.
            found = sorted(uuid for uuid in self._concerns.here(
                sb['Port_Binding'], self._wiring, self._node.marks,
                self._machines) | also
                           if uuid in nb['Logical_Router'])
            self._current = [self._router(nb, sb, uuid) for uuid in found]
            self._places = {uuid: at for at, uuid in enumerate(found)}
            self._also = also
            self.alike = (self.alike and len(former) == len(found) and
                          all(map(_alike_routers, former, self._current)))
        for uuid in self._outdated:
            if uuid in self._places:
                at = self._places[uuid]
                former, self._current[at] = (self._current[at],
                                             self._router(nb, sb, uuid))
                self.alike = self.alike and _alike_routers(
                    former, self._current[at])
        self._outdated.clear()
        return tuple(self._current)

    def _router(self, nb, sb, uuid):
        if uuid not in self._routers:
            self._routers[uuid] = self._build_router(nb, sb, uuid)
        return self._routers[uuid]

    def _follows(self, redirect_port):
        return self._gateway_port in ('', redirect_port)

    def _build_router(self, nb, sb, uuid):
        row = nb['Logical_Router'][uuid]
        found, bad, read = self._nats.of_router(
            uuid, self._index('nb', 'Logical_Router', 'nat').keys_of(uuid),
            nb['NAT'])
        for nat in read:
            held = self._holders.get(nat, ())
            if uuid not in held:
                self._holders[nat] = (*held, uuid)
        frame = self._frames.get(uuid)
        bare = (self._bare.build(sb['Port_Binding'], self._wiring, uuid, row)
                if frame is None else frame.router)
        judged = frame.judged if frame is not None else None
        said = self._index('nb', 'NAT', 'words').keys_of
        if judged is None or not judged.silent or any(map(said, read)):
            judged = self._withholding.judge(
                sb['Port_Binding'], row, bare.ports,
                {each.external_ip for each in found} |
                {each.address for each in bare.balanced})
            for used in judged.depends:
                self._depends[used].add(uuid)
            self._frames[uuid] = _Frame(columns.others(row, 'nat'), bare,
                                        judged)
        return dataclasses.replace(
            bare, nats=found, ports=self._with_machines(uuid, judged.ports),
            problems=tuple(sorted({*bare.problems, *bad, *judged.problems})),
            withheld=judged.withheld, routed_by_ovn=judged.routed_by_ovn)

    def _with_machines(self, router, ports):
        """Tell the ports which of them have floating IPs of machines here.

        :returns: tuple of :class:`model.GatewayPort`
        """
        residents = self._nats.residents(router)
        if not residents:
            return ports
        hosting = {networks.owner_of(nat, ports) for nat in residents}
        return tuple(dataclasses.replace(port, hosting=True)
                     if port in hosting and self._follows(
                         model.REDIRECT + port.lrp) else port
                     for port in ports)


def _alike_nodes(node, other):
    """Whether two nodes are the same, and the same relays answer."""
    # Whether a relay answers is no part of its value.
    return node == other and [relay.alive for relay in node.relays] == [
        relay.alive for relay in other.relays]


def _alike_routers(router, other):
    """Whether two states of a router differ at most in its addresses."""
    return router is other or (
        router.uuid == other.uuid and router.ports == other.ports and
        router.default_routes == other.default_routes)
