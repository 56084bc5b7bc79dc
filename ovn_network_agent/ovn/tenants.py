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

"""The prefixes of tenants that are announced, or are not and why.  Pure."""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses

from ovn_network_agent import iptext
from ovn_network_agent import model
from ovn_network_agent import networks
from ovn_network_agent.ovn import claims
from ovn_network_agent.ovn import indexes
from ovn_network_agent.ovn import inputs
from ovn_network_agent.ovn import prefixes
from ovn_network_agent.ovn import queries
from ovn_network_agent.ovn import routers
from ovn_network_agent.ovn import rows
from ovn_network_agent.ovn import tenant_hosts
from ovn_network_agent.ovn import tenant_networks
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb.columns import Uuid

_BINDING = 'Port_Binding'
_ROUTE = 'Logical_Router_Static_Route'
_ROUTER = 'Logical_Router'
_PORT = 'Logical_Router_Port'

Prefixes = Mapping[str, model.TenantPrefix]


@dataclasses.dataclass(frozen=True, slots=True)
class _Contest:
    """A prefix, and who else has it."""

    network: tenant_networks.Network
    provider: str = ''
    rivals: tuple[str, ...] = ()
    # See tenant_hosts.TenantHosts.of_network.
    hosts: tuple[tenant_hosts.Host, ...] | None = None


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
                 frames: routers.Routers,
                 behind: tenant_networks.TenantNetworks) -> None:
        self._rows = found
        self._inputs = known
        self._frames = frames
        self._networks = behind
        self._hosts = tenant_hosts.TenantHosts(found, known, behind)
        self._claims = claims.Claims()
        self._tracked: frozenset[Uuid] = frozenset()
        self._found: Mapping[Uuid, _Found] = {}
        self._judged: Mapping[claims.Key, model.Claim] = {}
        # What the prefixes were made of.
        self._completed: tuple[object, ...] = (None,) * 3
        self.present: dict[str, Prefixes] = {}

    @property
    def inhabited(self) -> frozenset[Uuid]:
        """The datapaths whose machines are announced."""
        return frozenset(
            contest.network.datapath for each in self._found.values()
            for contest in each.contests if contest.hosts is not None)

    @property
    def problems(self) -> tuple[str, ...]:
        """What is malformed in the rows of routers' ports."""
        return tuple(sorted({problem for each in self._found.values()
                             for problem in each.problems}))

    # -- overlaps ---------------------------------------------------------

    def _of_router(self, router: Uuid) -> _Found:
        known = self._rows.ask(self._networks.networks, router)
        return _Found(
            tuple(_Contest(each) if each.withheld else self._rows.ask(
                self._contest, router, each) for each in known),
            tuple(problem for port in self._networks.ports(router)
                  for problem in self._rows.ask(self._networks.attached,
                                                port).problems))

    def _contest(self, router: Uuid,
                 network: tenant_networks.Network) -> _Contest:
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
                        self._hosts.of_network(router, network))

    def _is_public(self, router: Uuid, port: Uuid) -> bool:
        """Whether a port is a gateway port on a provider network."""
        frame = self._rows.ask(self._frames.frame, router)
        names = self._rows.find('nb', _PORT, 'name').keys_of(port)
        return any(each.lrp in names and each.segment is not None
                   for each in frame.router.ports)

    def _overlaps(self, router: Uuid, prefix: str) -> Iterator[str]:
        wanted = iptext.network(prefix)
        for each in self._rows.ask(self._networks.networks, router):
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
            if contest.hosts is not None and whole.announced:
                made.update(tenant_hosts.prefixes(whole, contest.hosts,
                                                  former))
            else:
                known = former.get(whole.prefix)
                made[whole.prefix] = known if known == whole else whole
        return made


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
