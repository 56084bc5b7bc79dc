# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The typed view of this chassis, computed only where rows changed.  Pure."""

from collections.abc import Iterator
import dataclasses
import typing

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.common import networks
from ovn_network_agent.model.node import Wiring
from ovn_network_agent.ovn import cross_check
from ovn_network_agent.ovn import indexes
from ovn_network_agent.ovn import inputs
from ovn_network_agent.ovn import queries
from ovn_network_agent.ovn.chassis import groups
from ovn_network_agent.ovn.chassis import own_chassis
from ovn_network_agent.ovn.subjects import addresses
from ovn_network_agent.ovn.subjects import ports
from ovn_network_agent.ovn.subjects import provider_networks
from ovn_network_agent.ovn.subjects import routers
from ovn_network_agent.ovn.subjects import segments
from ovn_network_agent.ovn.subjects import tenant_hosts
from ovn_network_agent.ovn.subjects import tenant_networks
from ovn_network_agent.ovn.subjects import tenants
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb.columns import Uuid

_ROUTER = 'Logical_Router'
_OF_CHASSIS = frozenset({('sb', 'Chassis'), ('sb', 'Encap')})


class _Seen(typing.NamedTuple):
    """A router, and what its addresses are made from beside NAT rows."""

    uuid: Uuid
    router: model.Router
    frame: routers.Frame
    sent: tuple[tuple[str, frozenset[str]], ...]


class Builder:
    """Keeps the view up to date."""

    def __init__(self, gateway_port: str = '',
                 chosen: inputs.Choice = inputs.Choice()) -> None:
        self._rows = queries.Queries(
            tenants.indexed(indexes.make(), chosen.tenants))
        #: finds an index of the rows of the last view
        self.index = self._rows.index
        self._inputs = inputs.Inputs(gateway_port, chosen=chosen)
        located = segments.Segments(self._rows, self._inputs)
        self._addresses = addresses.Addresses(self._rows, self._inputs)
        places = provider_networks.ProviderNetworks(self._rows, self._inputs,
                                                    located)
        self._frames = routers.Routers(self._rows, self._inputs, located,
                                       places)
        behind = tenant_networks.TenantNetworks(self._rows, self._inputs,
                                                located, self._frames)
        vips = tenant_hosts.TenantVips(self._rows, self._inputs, located,
                                       self._frames, behind)
        self._tenants = tenants.Tenants(self._rows, self._inputs, behind,
                                        vips)
        self._groups = groups.Groups(self._rows, self._inputs, located,
                                     behind, vips, places)
        self._ports = ports.Ports(self._rows, self._inputs, located,
                                  places)
        self._vni_networks = provider_networks.VniNetworks(
            self._rows, self._inputs, located, places)
        # Of the last view; by UUID the addresses.
        self._seen: tuple[_Seen, ...] = ()
        self._routers: tuple[model.Router, ...] = ()
        self._completed: tuple[object, object] = (), ()
        self._by_router: dict[str, addresses.OfRouter] = {}
        self._candidates: tuple[model.GatewayGroup, ...] = ()
        self._every: tuple[model.GatewayGroup, ...] | None = None
        self._also: frozenset[str] = frozenset()
        self._marks: frozenset[ownership.Owner] = frozenset()
        self._hostname = ''
        self.own = own_chassis.OwnChassis('')
        # None since the rows of chassis have changed.
        self._identified: tuple[Wiring, str] | None = None
        self._filled = False
        #: whether the last view was not only built from reported changes
        self.whole = False

    @property
    def chosen(self) -> inputs.Choice:
        """What the options choose."""
        return self._inputs.chosen

    def due_in(self, now: float) -> float | None:
        """Seconds until a view changes by time alone, or None."""
        return self._ports.due_in(now)

    def choose(self, chosen: inputs.Choice) -> None:
        """Let another choice decide, from the next full view on."""
        self._inputs.chosen = chosen

    def network_of(self, binding: columns.Row) -> model.ProviderNetwork | None:
        """The provider network of a port, which may be on another chassis."""
        return self._ports.network_of(binding)

    def rows(self) -> Iterator[tuple[queries.Place, Uuid]]:
        """All rows that views are built from."""
        for place, index in self._rows.places():
            for uuid in index.rows():
                yield place, uuid

    def build(self, nb: columns.Tables, sb: columns.Tables,
              wiring: Wiring, dirty: queries.Dirty,
              phase: model.Phase, full: bool = False,
              also: frozenset[str] = frozenset(),
              batch: queries.RowBatch | None = None,
              previous: str = '', now: float = 0.0) -> model.Snapshot:
        """Bring the view up to date, but for the addresses of routers.

        An unchanged router stays the same object; see :meth:`complete`.

        :param also: UUIDs of routers that need not concern this chassis
        :param batch: rows of ``dirty`` to compute again even if the same
        :param previous: name of this chassis until now, '' if nobody knows
        :param now: monotonic seconds
        :raises own_chassis.Unknown: SB does not say which chassis this is
        """
        databases = {'nb': nb, 'sb': sb}
        self._inputs.has_advertised = 'Advertised_Route' in sb
        # After an exception, nobody knows which changes are in the indexes.
        filled, self._filled = self._filled, False
        self.whole = (full or not filled or self._renamed(sb, dirty) or
                      not self._rows.consistent(databases, dirty))
        self._rows.replace(databases)
        if self.whole:
            self._rows.rebuild()
            self._addresses.forget()
            self._ports.forget()
            self._identified = None
        else:
            self._apply_changes(dirty, batch.rows if batch else {})
        node = self._node(sb, wiring, phase, previous)
        if also != self._also:
            self._also = also
            self._rows.outdate('also')
        self._addresses.read()
        self._look()
        every = self._rows.ask(self._groups.all)
        if every is not self._every:
            self._candidates = tuple(self._groups.known(
                every, self._every is None))
            self._every = every
        problems = wiring.problems
        if self._inputs.chosen.machines is not None:
            self._ports.update(dirty.get(('sb', 'Port_Binding'), ()), now)
            problems = *problems, *self._ports.problems
            self._vni_networks.update(self._ports.networks, self._routers,
                                      self._candidates)
        if self._inputs.chosen.tenants is not None:
            self._look_at_tenants()
            problems = *problems, *self._tenants.problems
        self._filled = True
        if self.own.problem:
            problems = *problems, self.own.text
        return model.Snapshot(node, self._routers, self._candidates, problems,
                              networks=self._vni_networks.joined,
                              machines=self._ports.machines)

    def complete(self, view: model.Snapshot) -> model.Snapshot:
        """The last view with addresses; unchanged ones stay the same."""
        read = self._addresses.take_read()
        basis = self._seen, view.routers
        if basis != self._completed:
            self._completed, read = basis, {each.uuid for each in self._seen}
            self._by_router = {
                router.uuid: self._addresses.of(seen.uuid)
                for seen, router in zip(*basis, strict=True)}
        for seen, router in zip(*basis, strict=True):
            if seen.uuid in read:
                self._by_router[router.uuid].update(router, seen.frame,
                                                    seen.sent)
        if self._inputs.chosen.tenants is not None:
            self._tenants.complete(view.routers,
                                   (seen.uuid for seen in self._seen))
            view = dataclasses.replace(view, tenants=self._tenants.present)
        return dataclasses.replace(view, addresses={
            uuid: made.present for uuid, made in self._by_router.items()})

    def addresses(self, router: str) -> addresses.OfRouter:
        """The addresses of a router in the last view."""
        return self._by_router[router]

    # -- questions --------------------------------------------------------

    def behind(self, router: model.Router) -> Iterator[tenants.Whole]:
        """See :class:`tenants.Tenants`; of a router of the last view."""
        uuid = self.index('nb', _ROUTER, 'uuid').first(router.uuid)
        return self._tenants.behind(router, uuid) if uuid else iter(())

    @property
    def doubled(self) -> tuple[str, ...]:
        """The names in the options that several routers have, sorted."""
        labels = self.index('nb', 'Logical_Router', 'label')
        return tuple(sorted(name for name in self.chosen.selected.routers
                            if len(labels.find(name)) > 1))

    @property
    def chassis(self) -> str:
        """Name of this chassis in SB."""
        return self._inputs.wiring.chassis

    @property
    def distributed(self) -> bool:
        """Whether the cloud has distributed floating IPs."""
        return bool(self.index('nb', 'NAT', 'machine').keys())

    @property
    def inhabited(self) -> frozenset[Uuid]:
        """The datapaths of tenants whose machines are announced."""
        return (self._tenants.inhabited if self.chosen.tenants
                else frozenset())

    def own_chassis(self) -> Uuid | None:
        """UUID of the row of this chassis in SB."""
        return self.index('sb', 'Chassis', 'name').first(self.chassis)

    def ports_here(self) -> frozenset[str]:
        """Names of the router ports and machines' ports of this chassis."""
        return frozenset(
            name for bound, names in (('bound', 'redirect'),
                                      ('hosted', 'machine'))
            for uuid in self.index('sb', 'Port_Binding', bound).find(
                self.chassis)
            for name in self.index('sb', 'Port_Binding', names).keys_of(uuid))

    def cross_check(self, confirmed: frozenset[str]
                    ) -> cross_check.CrossCheck:
        """The cross-check of the present view."""
        return cross_check.CrossCheck(
            self.index, self.chassis, confirmed,
            self._inputs.chosen.machines is not None,
            self._vni_networks.domain)

    # -- keeping up -------------------------------------------------------

    def _renamed(self, sb: columns.Tables, dirty: queries.Dirty) -> bool:
        """Whether a chassis has another name; rows of ports do not say it."""
        names = self._rows.index('sb', 'Chassis', 'name')
        return any(
            not {columns.atom(sb['Chassis'][uuid], 'name')}.issuperset(
                names.keys_of(uuid))
            for uuid in dirty.get(('sb', 'Chassis'), ())
            if uuid in sb['Chassis'])

    def _apply_changes(self, dirty: queries.Dirty,
                       recomputed: queries.Dirty) -> None:
        if not _OF_CHASSIS.isdisjoint(dirty):
            self._identified = None
        for place, uuids in dirty.items():
            for uuid in uuids:
                changed = self._rows.apply_change(
                    place, uuid, uuid in recomputed.get(place, ()))
                self._addresses.note_change(place[1], uuid, changed)

    def _node(self, sb: columns.Tables, wiring: Wiring,
              phase: model.Phase, previous: str) -> model.Node:
        """This node; its row may be gone, its host name stays the same."""
        if self._identified != (wiring, previous):
            self.own = own_chassis.find(self.index, wiring, previous)
            self._identified = wiring, previous
        if not self.own.name:
            raise own_chassis.Unknown(self.own.text)
        if self.own.name != wiring.chassis:
            wiring = wiring._replace(chassis=self.own.name)
        if wiring != self._inputs.wiring:
            self._rows.forget()
            self._addresses.forget()
            self._ports.forget()
        self._inputs.wiring = wiring
        own, hostname = self.own_chassis(), self._hostname
        if own is not None:
            hostname = sb['Chassis'][own].hostname
        self._hostname = hostname or wiring.hostname
        node = model.Node(
            wiring.chassis, self._hostname, phase, wiring.devices,
            wiring.mappings, wiring.relays, wiring.drains,
            overlapping=wiring.overlapping, namesakes=self._namesakes(),
            tunnel=wiring.tunnel, links=wiring.links, egress=wiring.egress)
        if node.marks != self._marks:
            self._marks = node.marks
            self._rows.outdate('marks')
        return node

    def _namesakes(self) -> tuple[str, ...]:
        """Names of the other chassis with the host name of this one."""
        names = self.index('sb', 'Chassis', 'name')
        return tuple(sorted({
            name for uuid in self.index('sb', 'Chassis', 'hostname').find(
                self._hostname)
            for name in names.keys_of(uuid)} - {self.chassis}))

    # -- routers ----------------------------------------------------------

    def _look(self) -> None:
        """Bring the routers up to date."""
        seen = self._rows.ask(self._all)
        if seen is not self._seen:
            for uuid in ({each.uuid for each in self._seen} -
                         {each.uuid for each in seen}):
                self._addresses.drop(uuid)
            self._seen = seen
            self._routers = tuple(each.router for each in seen)

    def _look_at_tenants(self) -> None:
        """Bring the networks of tenants up to date."""
        by_text = self.index('nb', _ROUTER, 'uuid')
        self._tenants.look({
            *(each.uuid for each in self._seen),
            *(uuid for group in self._candidates for text in group.routers
              for uuid in by_text.find(text))})

    def _all(self) -> tuple[_Seen, ...]:
        for look in ('also', 'marks'):
            self._rows.note(look)
        by_text = self._rows.find('nb', 'Logical_Router', 'uuid')
        found = set(self._here())
        for text in self._also:
            found |= by_text.find(text)
        return tuple(self._rows.ask(self._one, uuid)
                     for uuid in sorted(found))

    def _here(self) -> Iterator[Uuid]:
        """The routers that concern this chassis."""
        wiring = self._inputs.wiring
        redirects = self._rows.find('sb', 'Port_Binding', 'redirect')
        for uuid in self._rows.find('sb', 'Port_Binding',
                                    'bound').find(wiring.chassis):
            for lrp in redirects.keys_of(uuid):
                if self._inputs.follows(model.REDIRECT + lrp):
                    yield from self._with_port(lrp)
        for lrp in wiring.held:
            yield from self._with_port(lrp)
        yield from self._addresses.routers_here()
        tagged = self._rows.find('nb', 'Logical_Router_Static_Route', 'tag')
        by_route = self._rows.find('nb', 'Logical_Router', 'route')
        for mark in self._marks:
            for route in tagged.find(mark):
                yield from by_route.find(route)

    def _with_port(self, lrp: str) -> Iterator[Uuid]:
        """The routers with a port of that name."""
        by_port = self._rows.find('nb', 'Logical_Router', 'port')
        for port in self._rows.find('nb', 'Logical_Router_Port',
                                    'name').find(lrp):
            yield from by_port.find(port)

    def _one(self, uuid: Uuid) -> _Seen:
        return _Seen(uuid, self._rows.ask(self._router, uuid),
                     self._rows.ask(self._frames.frame, uuid),
                     self._rows.ask(self._frames.sent, uuid))

    def _router(self, uuid: Uuid) -> model.Router:
        router = self._rows.ask(self._frames.frame, uuid).router
        facts = self._rows.ask(self._addresses.facts, uuid)
        hosting = {networks.owner_of(nat, router.ports)
                   for nat in facts.residents}
        return dataclasses.replace(
            router, ports=tuple(
                port._replace(hosting=True)
                if port in hosting and self._inputs.follows(
                    model.REDIRECT + port.lrp) else port
                for port in router.ports),
            default_routes=self._rows.ask(self._frames.default_routes, uuid),
            problems=tuple(sorted({*router.problems, *facts.problems})),
            tenants=facts.tenants, distributed=facts.distributed)
