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

"""The networks of tenants that routers have, and what is announced.  Pure.

Each method for rows is a function in the sense of :mod:`ovn.queries`.
"""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses

from ovn_network_agent import iptext
from ovn_network_agent import model
from ovn_network_agent import networks
from ovn_network_agent import selection
from ovn_network_agent.ovn import addresses
from ovn_network_agent.ovn import claims
from ovn_network_agent.ovn import indexes
from ovn_network_agent.ovn import inputs
from ovn_network_agent.ovn import policies
from ovn_network_agent.ovn import prefixes
from ovn_network_agent.ovn import queries
from ovn_network_agent.ovn import routers
from ovn_network_agent.ovn import rows
from ovn_network_agent.ovn import segments
from ovn_network_agent.ovn import withholding
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb.columns import Uuid

_BINDING = 'Port_Binding'
_ROUTE = 'Logical_Router_Static_Route'
_ROUTER = 'Logical_Router'
_PORT = 'Logical_Router_Port'
# What ovn-northd copies from the port of Neutron, by family.
_SCOPE = {4: 'neutron:subnet_pool_addr_scope4',
          6: 'neutron:subnet_pool_addr_scope6'}
# The only IPv6 addresses that are global (RFC 4291, section 2.4).
_GLOBAL = iptext.network('2000::/3')
# The shortest prefixes, see privileged.reach.SHORTEST.
_SHORTEST = {4: 8, 6: 16}

Prefixes = Mapping[str, model.TenantPrefix]


@dataclasses.dataclass(frozen=True, slots=True)
class Network:
    """A prefix behind a router."""

    prefix: str
    datapath: Uuid
    # The name that a person knows.
    called: str
    # None for that of the gateway port, 0 for none.
    tag: int | None = None
    withheld: str = ''


@dataclasses.dataclass(frozen=True, slots=True)
class _Attached:
    """What the rows of a router port give."""

    networks: tuple[iptext.Network, ...] = ()
    datapath: Uuid | None = None
    switch: withholding.Network = withholding.Network()
    own: policies.Policy = policies.NONE
    # By family the address scope, '' for none.
    scopes: tuple[tuple[int, str], ...] = ()
    problems: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class _Contest:
    """A prefix, and who else has it."""

    network: Network
    provider: str = ''
    rivals: tuple[str, ...] = ()
    # Whether single addresses are announced; each, and why it is not, or ''.
    single: bool = False
    machines: tuple[tuple[str, str], ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class _Found:
    """The prefixes of a router."""

    contests: tuple[_Contest, ...] = ()
    problems: tuple[str, ...] = ()


class Tenants:
    """Keeps the prefixes of tenants up to date.

    :ivar present: see :class:`model.Snapshot`
    """

    def __init__(self, found: queries.Queries, known: inputs.Inputs,
                 located: segments.Segments,
                 frames: routers.Routers) -> None:
        self._rows = found
        self._inputs = known
        self._segments = located
        self._frames = frames
        self._withholding = withholding.Withholding(found, known, located)
        self._claims = claims.Claims()
        self._tracked: frozenset[Uuid] = frozenset()
        self._found: Mapping[Uuid, _Found] = {}
        self._judged: Mapping[claims.Key, model.Claim] = {}
        # What the prefixes were made of.
        self._completed: tuple[object, ...] = (None,) * 3
        # By router and prefix, what its single addresses were made of.
        self._wholes: dict[tuple[str, str], model.TenantPrefix] = {}
        self.present: dict[str, Prefixes] = {}

    @property
    def inhabited(self) -> frozenset[Uuid]:
        """The datapaths whose machines are announced."""
        options = self._inputs.chosen.tenants
        if options is None or not options.hosts:
            return frozenset()
        return frozenset(
            contest.network.datapath for each in self._found.values()
            for contest in each.contests if not contest.network.withheld)

    @property
    def problems(self) -> tuple[str, ...]:
        """What is malformed in the rows of routers' ports."""
        return tuple(sorted({problem for each in self._found.values()
                             for problem in each.problems}))

    # -- functions of rows ------------------------------------------------

    def networks(self, router: Uuid) -> tuple[Network, ...]:
        """The networks of tenants behind a router, withheld ones, too."""
        found = [self._rows.ask(self._attached, port)
                 for port in self._ports(router)]
        return tuple(sorted((
            each for attached in (*found, *self._behind(router, found))
            for each in self._judge(router, attached)),
            key=lambda each: each.prefix))

    def routed(self, router: Uuid) -> tuple[str, ...]:
        """The prefixes of those that may be announced."""
        return () if self._inputs.chosen.tenants is None else tuple(
            each.prefix for each in self._rows.ask(self.networks, router)
            if not each.withheld)

    def _behind(self, router: Uuid,
                found: Iterable[_Attached]) -> Iterator[_Attached]:
        """The prefixes of extra routes, as if they were at the port."""
        options = self._inputs.chosen.tenants
        if options is None or not options.routes:
            return
        for row in self._rows.rows(
                'nb', _ROUTE, self._rows.find('nb', _ROUTER,
                                              'route').keys_of(router)):
            route = rows.extra_route(row)
            for each in found if route else ():
                if route and networks.inside(route[1], each.networks) and (
                        not _too_wide(route[0])):
                    yield dataclasses.replace(
                        each, networks=(route[0],), problems=())

    def _ports(self, router: Uuid) -> Iterator[Uuid]:
        """The ports of a router that are no gateway ports."""
        frame = self._rows.ask(self._frames.frame, router)
        gateways = {port.lrp for port in frame.router.ports}
        names = self._rows.find('nb', _PORT, 'name')
        for port in self._rows.find('nb', _ROUTER, 'port').keys_of(router):
            if gateways and gateways.isdisjoint(names.keys_of(port)):
                yield port

    def _attached(self, port: Uuid) -> _Attached:
        row = self._rows.row('nb', _PORT, port)
        patch = row and self._segments.patch(columns.atom(row, 'name'))
        switch = patch and self._withholding.network(patch)
        # The other end may be a router, or not be there yet.
        if not switch or not switch.uuid:
            return _Attached()
        valid, problems = rows.networks(row)
        known = [net for version in networks.VERSIONS
                 for net in networks.of_version(version, valid)]
        name = columns.atom(row, 'name')
        (datapath,) = columns.referenced(patch, 'datapath')
        return _Attached(
            tuple(net for net in known if not _too_wide(net)), datapath,
            switch,
            next(iter(self._rows.find('nb', _PORT, 'policy').keys_of(port)),
                 policies.NONE),
            tuple((version, columns.entry(patch, 'external_ids', key) or '')
                  for version, key in _SCOPE.items()),
            (*problems, *(
                f'Logical_Router_Port {name}: network {net} is too wide for a '
                'network of a tenant, and left out'
                for net in known if _too_wide(net))))

    def _judge(self, router: Uuid, found: _Attached) -> Iterator[Network]:
        switch, chosen = found.switch, self._inputs.chosen.selected
        tag = chosen.tag((), switch.statement.tags, frozenset(), switch.names)
        if self._inputs.chosen.tenants and self._inputs.chosen.tenants.hosts:
            # Each address decides by itself.
            chosen = dataclasses.replace(chosen, include_cidrs=(),
                                         exclude_cidrs=())
        for net in found.networks:
            yield Network(
                str(net), found.datapath, switch.called or switch.uuid,
                tag.number if tag.where else None,
                self._condition(router, net, dict(found.scopes)) or
                chosen.objection(self._subject(router, found, str(net))))

    def _subject(self, router: Uuid, found: _Attached, address: str,
                 own: policies.Policy = policies.NONE) -> selection.Subject:
        """A prefix or address of a router's port, and what rows say of it.

        :param own: of the row of a machine
        """
        judgement = self._rows.ask(self._frames.frame, router).judgement
        return selection.Subject(
            address, own.own or found.own.own, judgement.router,
            found.switch.statement.own, (*own.native, *found.own.native),
            judgement.names, found.switch.names)

    def _condition(self, router: Uuid, net: iptext.Network,
                   scopes: Mapping[int, str]) -> str:
        """Why the options do not let a network be announced, or ''."""
        options = self._inputs.chosen.tenants
        if options is None:
            return 'the driver tenant_network is off'
        if net.version == 6 and not options.ipv6:
            return '[tenant_network] expose_ipv6_gua is false'
        if net.version == 6 and not _GLOBAL.overlaps(net):
            return 'its addresses are not global'
        scope = scopes[net.version]
        if options.scopes and scope not in options.scopes:
            return (f'[tenant_network] address_scopes does not have its '
                    f'address scope {scope}' if scope else
                    'it has no address scope, and [tenant_network] '
                    'address_scopes names those to announce')
        if options.without_snat:
            return self._translated(router, net)
        return ''

    def _translated(self, router: Uuid, net: iptext.Network) -> str:
        """Why a router translates what comes from a network, or ''."""
        for text in self._rows.ask(addresses.translated, self._rows, router):
            if networks.overlap(iptext.network(text), net):
                return (f'its router translates {text} (SNAT), so answers '
                        'leave with the address of the router')
        return ''

    # -- machines ---------------------------------------------------------

    def _single(self, router: Uuid, network: Network
                ) -> tuple[bool, tuple[tuple[str, str], ...]]:
        """Whether single addresses are announced, and those of machines.

        No row says which addresses are behind an extra route.
        """
        net = iptext.network(network.prefix)
        port = next((each for each in self._ports(router) if net in
                     self._rows.ask(self._attached, each).networks), None)
        if port is None or not (self._inputs.chosen.tenants and
                                self._inputs.chosen.tenants.hosts):
            return False, ()
        return True, tuple(
            (address, why) for uuid in self._rows.find(
                'sb', _BINDING, 'machines').find(network.datapath)
            for address, why in self._rows.ask(self._machine, router, port,
                                               uuid)
            if networks.inside(address, [net]))

    def _machine(self, router: Uuid, port: Uuid,
                 uuid: Uuid) -> tuple[tuple[str, str], ...]:
        row = self._rows.row('sb', _BINDING, uuid)
        if row is None:
            return ()
        own = next(iter(self._rows.find('sb', _BINDING,
                                        'policy').keys_of(uuid)),
                   policies.NONE)
        found = self._rows.ask(self._attached, port)
        return tuple(
            (address, self._floating(router, address) or
             self._inputs.chosen.selected.objection(
                 self._subject(router, found, address, own)))
            for address in rows.machine(row, False)[0])

    def _floating(self, router: Uuid, address: str) -> str:
        """Why a machine with a floating IP is not announced, or ''."""
        by_nat = self._rows.find('nb', _ROUTER, 'nat')
        for nat in sorted(self._rows.find('nb', 'NAT',
                                          'logical').find(address)):
            row = self._rows.row('nb', 'NAT', nat)
            if router in by_nat.find(nat) and row is not None:
                return ('its answers leave with its floating IP '
                        f'{columns.atom(row, "external_ip")}')
        return ''

    # -- overlaps ---------------------------------------------------------

    def _of_router(self, router: Uuid) -> _Found:
        known = self._rows.ask(self.networks, router)
        return _Found(
            tuple(_Contest(each) if each.withheld else self._rows.ask(
                self._contest, router, each) for each in known),
            tuple(problem for port in self._ports(router)
                  for problem in self._rows.ask(self._attached,
                                                port).problems))

    def _contest(self, router: Uuid, network: Network) -> _Contest:
        """Who else has a prefix, or a part of it."""
        key = prefixes.key(iptext.network(network.prefix))
        by_port = self._rows.find('nb', _ROUTER, 'port')
        rivals: set[str] = set()
        providers: set[str] = set()
        for port in self._rows.find('nb', _PORT, 'network').find(key):
            for other in by_port.find(port):
                if self._is_public(other, port):
                    providers.add(self._called(other))
                elif other != router:
                    rivals.update(self._overlaps(other, network.prefix))
        if self._inputs.chosen.tenants and self._inputs.chosen.tenants.routes:
            by_route = self._rows.find('nb', _ROUTER, 'route')
            for route in self._rows.find('nb', _ROUTE, 'network').find(key):
                for other in by_route.find(route) - {router}:
                    rivals.update(self._overlaps(other, network.prefix))
        return _Contest(network, min(providers, default=''),
                        tuple(sorted(rivals)),
                        *self._single(router, network))

    def _is_public(self, router: Uuid, port: Uuid) -> bool:
        """Whether a port is a gateway port on a provider network."""
        frame = self._rows.ask(self._frames.frame, router)
        names = self._rows.find('nb', _PORT, 'name').keys_of(port)
        return any(each.lrp in names and each.segment is not None
                   for each in frame.router.ports)

    def _overlaps(self, router: Uuid, prefix: str) -> Iterator[str]:
        wanted = iptext.network(prefix)
        for each in self._rows.ask(self.networks, router):
            net = iptext.network(each.prefix)
            if not each.withheld and networks.overlap(net, wanted):
                yield f'{each.prefix} of router {self._called(router)}'

    def _called(self, router: Uuid) -> str:
        return self._rows.ask(self._frames.frame, router).router.both_names

    # -- the view ---------------------------------------------------------

    def look(self, tracked: Iterable[Uuid]) -> None:
        """Look at the routers that are here or may come here.

        Those that may come here are remembered, too, because a gateway that
        moves must not lose what it had first.
        """
        now = frozenset(tracked)
        if now != self._tracked:
            self._tracked = now
            self._rows.outdate(('tenants', 'tracked'))
        found = self._rows.ask(self._all)
        if found is self._found:
            return
        self._found = found
        self._judged = self._claims.judge({
            (str(uuid), contest.network.prefix): contest.rivals
            for uuid, each in found.items() for contest in each.contests
            if not (contest.network.withheld or contest.provider)})

    def _all(self) -> dict[Uuid, _Found]:
        self._rows.note(('tenants', 'tracked'))
        return {uuid: self._rows.ask(self._of_router, uuid)
                for uuid in sorted(self._tracked)}

    def complete(self, present: tuple[model.Router, ...],
                 uuids: Iterable[Uuid]) -> None:
        """Make the prefixes of routers, which may have states.

        :param uuids: those of the rows of these routers
        """
        basis = present, self._found, self._judged
        if all(one is other for one, other
               in zip(basis, self._completed, strict=True)):
            return
        self._completed = basis
        made = {}
        for router, uuid in zip(present, uuids, strict=True):
            former = self.present.get(router.uuid, {})
            new = self._prefixes(router, self._found.get(uuid, _Found()),
                                 former)
            if new:
                made[router.uuid] = former if new == former else new
        self.present = made
        self._wholes = {place: whole for place, whole in self._wholes.items()
                        if place[0] in made}

    def _prefixes(self, router: model.Router, found: _Found,
                  former: Prefixes) -> dict[str, model.TenantPrefix]:
        made: dict[str, model.TenantPrefix] = {}
        gateways = {version: _gateway(router, version)
                    for version in networks.VERSIONS}
        for contest in found.contests:
            network = contest.network
            gateway = gateways[networks.family_of_valid(network.prefix)]
            if gateway is None:
                continue
            port, via = gateway
            whole = model.TenantPrefix(
                router.uuid, router.both_names, network.prefix,
                network.prefix, network.called, port, via,
                port.tag if network.tag is None else network.tag or None,
                network.withheld, contest.provider, contest.rivals,
                self._judged.get((router.uuid, network.prefix),
                                 model.Claim.SOLE))
            if contest.single and whole.announced:
                made.update(self._hosts(whole, contest, former))
            else:
                known = former.get(whole.prefix)
                made[whole.prefix] = known if known == whole else whole
        return made

    def _hosts(self, whole: model.TenantPrefix, contest: _Contest,
               former: Prefixes) -> Iterator[tuple[str, model.TenantPrefix]]:
        """The single addresses of a network."""
        place = whole.router, whole.prefix
        same = self._wholes.get(place) == whole
        self._wholes[place] = whole
        for address, why in contest.machines:
            prefix = networks.host_prefix(address)
            known = former.get(prefix)
            if not same or known is None or known.withheld != why:
                known = dataclasses.replace(whole, prefix=prefix,
                                            withheld=why)
            yield prefix, known


def indexed(made: dict[queries.Place, dict[str, indexes.Index]],
            behind: inputs.Tenants | None
            ) -> dict[queries.Place, dict[str, indexes.Index]]:
    """Add the indexes that tenants alone need."""
    if behind is not None:
        made['nb', _PORT]['network'] = prefixes.Overlapping(prefixes.of_port)
    if behind is not None and behind.routes:
        made['nb', _ROUTE]['network'] = prefixes.Overlapping(_route_keys)
    if behind is not None and behind.hosts:
        made['nb', 'NAT']['logical'] = indexes.Index(_floating_keys)
        made['sb', _BINDING]['machines'] = indexes.Index(
            lambda row: columns.referenced(row, 'datapath')
            if rows.hosts(row) and rows.answers_itself(row) else ())
    return made


def _route_keys(row: columns.Row) -> list[prefixes.Key]:
    route = rows.extra_route(row)
    return [prefixes.key(route[0])] if route else []


def _floating_keys(row: columns.Row) -> list[str]:
    return ([columns.atom(row, 'logical_ip')]
            if columns.atom(row, 'type') == 'dnat_and_snat' else [])


def _gateway(router: model.Router,
             version: int) -> tuple[model.GatewayPort, str] | None:
    """The gateway port here with an address of a family, and the address."""
    for port in router.served_ports:
        for text in port.networks:
            interface = networks.parse_interface(text)
            if interface and interface.version == version and not (
                    version == 6 and interface.is_link_local):
                return port, str(interface.ip)
    return None


def _too_wide(net: iptext.Network) -> bool:
    return net.prefixlen < _SHORTEST[net.version]
