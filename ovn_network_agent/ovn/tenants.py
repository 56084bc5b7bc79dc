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
    # The name that a person knows.
    called: str
    # None for that of the gateway port, 0 for none.
    tag: int | None = None
    withheld: str = ''


@dataclasses.dataclass(frozen=True, slots=True)
class _Attached:
    """What the rows of a router port give."""

    networks: tuple[iptext.Network, ...] = ()
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
        self.present: dict[str, Prefixes] = {}

    @property
    def problems(self) -> tuple[str, ...]:
        """What is malformed in the rows of routers' ports."""
        return tuple(sorted({problem for each in self._found.values()
                             for problem in each.problems}))

    # -- functions of rows ------------------------------------------------

    def networks(self, router: Uuid) -> tuple[Network, ...]:
        """The networks of tenants behind a router, withheld ones, too."""
        return tuple(sorted((
            each for port in self._ports(router)
            for each in self._judge(router, self._rows.ask(
                self._attached, port))), key=lambda each: each.prefix))

    def routed(self, router: Uuid) -> tuple[str, ...]:
        """The prefixes of those that may be announced."""
        return () if self._inputs.chosen.tenants is None else tuple(
            each.prefix for each in self._rows.ask(self.networks, router)
            if not each.withheld)

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
        return _Attached(
            tuple(net for net in known if not _too_wide(net)), switch,
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
        frame = self._rows.ask(self._frames.frame, router)
        tag = chosen.tag((), switch.statement.tags, frozenset(), switch.names)
        for net in found.networks:
            yield Network(
                str(net), switch.called or switch.uuid,
                tag.number if tag.where else None,
                self._condition(router, net, dict(found.scopes)) or
                chosen.objection(selection.Subject(
                    str(net), found.own.own, frame.judgement.router,
                    switch.statement.own, found.own.native,
                    frame.judgement.names, switch.names)))

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
        return _Contest(network, min(providers, default=''),
                        tuple(sorted(rivals)))

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

    def _prefixes(self, router: model.Router, found: _Found,
                  former: Prefixes) -> dict[str, model.TenantPrefix]:
        made = {}
        gateways = {version: _gateway(router, version)
                    for version in networks.VERSIONS}
        for contest in found.contests:
            network = contest.network
            gateway = gateways[networks.family_of_valid(network.prefix)]
            if gateway is None:
                continue
            port, via = gateway
            new = model.TenantPrefix(
                router.uuid, router.both_names, network.prefix,
                network.prefix, network.called, port, via,
                port.tag if network.tag is None else network.tag or None,
                network.withheld, contest.provider, contest.rivals,
                self._judged.get((router.uuid, network.prefix),
                                 model.Claim.SOLE))
            known = former.get(new.prefix)
            made[new.prefix] = known if known == new else new
        return made


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
