# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The prefixes of tenants that are announced, or are not and why.  Pure.

OVN does not say which of several routers had an overlapping prefix first, so
this module remembers.
"""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import typing

from ovn_network_agent import model
from ovn_network_agent.common import networks
from ovn_network_agent.ovn import indexes
from ovn_network_agent.ovn import inputs
from ovn_network_agent.ovn import queries
from ovn_network_agent.ovn import rows
from ovn_network_agent.ovn.subjects import prefixes
from ovn_network_agent.ovn.subjects import tenant_hosts
from ovn_network_agent.ovn.subjects import tenant_networks
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb.columns import Uuid

_BINDING = 'Port_Binding'
_ROUTE = 'Logical_Router_Static_Route'
_ROUTER = 'Logical_Router'
_PORT = 'Logical_Router_Port'

Prefixes = Mapping[str, model.TenantPrefix]
#: A network, and its single addresses if these are announced in its place.
Whole = tuple[model.TenantPrefix, tuple[tenant_hosts.Host, ...] | None]


class _Contest(typing.NamedTuple):
    """A prefix, and who else has it."""

    network: tenant_networks.Network
    provider: str = ''
    rivals: tuple[str, ...] = ()
    # See tenant_hosts.TenantHosts.of_network.
    hosts: tuple[tenant_hosts.Host, ...] | None = None
    # Likewise those of virtual IPs, which come before machines.
    vips: tuple[tenant_hosts.Host, ...] = ()
    # Where the prefix is unique, see TenantNetworks.domains.
    domains: tuple[int, ...] = ()

    @property
    def key(self) -> str:
        """What the router may be the first with."""
        return ' '.join((self.network.prefix, *map(str, self.domains)))


class _Found(typing.NamedTuple):
    """The prefixes of a router."""

    contests: tuple[_Contest, ...] = ()
    problems: tuple[str, ...] = ()


class Tenants:
    """Keeps the prefixes of tenants up to date."""

    def __init__(self, found: queries.Queries, known: inputs.Inputs,
                 behind: tenant_networks.TenantNetworks,
                 vips: tenant_hosts.TenantVips) -> None:
        self._rows = found
        self._inputs = known
        self._networks = behind
        self._hosts = tenant_hosts.TenantHosts(found, known, behind)
        self._vips = vips
        # By router; whether nobody has looked yet.
        self._claims: dict[Uuid, Claims] = {}
        self._starts = True
        self._tracked: frozenset[Uuid] = frozenset()
        self._found: Mapping[Uuid, _Found] = {}
        self._judged: dict[Uuid, Mapping[str, model.Claim]] = {}
        # By router what its prefixes were made of.
        self._completed: dict[Uuid, tuple[object, ...]] = {}
        #: model.Snapshot.tenants
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
        alone = self._rows.ask(self._vips.alone, router)
        contests = tuple(
            _Contest(each) if each.withheld else self._rows.ask(
                ask, router, each) for ask, found in (
                    (self._contest, known), (self._alone, alone))
            for each in found)
        return _Found(
            contests,
            tuple(problem for port in self._networks.ports(router)
                  for problem in self._rows.ask(self._networks.attached,
                                                port).problems) + tuple(
                f'router {self._networks.called(router)}: {address} is a '
                'virtual IP of a load balancer, and of a machine; it is '
                'announced as the virtual IP; give one of them another '
                'address' for each in contests for address in sorted(
                    dict(each.hosts or ()).keys() & dict(each.vips).keys())))

    def _contest(self, router: Uuid,
                 network: tenant_networks.Network) -> _Contest:
        """Who else has a prefix, or a part of it."""
        rivals: set[str] = set()
        providers: set[str] = set()
        for other, public in self._networks.overlapping(
                router, network.prefix):
            called = self._networks.called(other)
            if public:
                providers.add(called)
            elif other != router:
                rivals.update(
                    f'{each} of router {called}' for each in
                    self._networks.overlaps(other, network.prefix))
        found = _Contest(
            network, min(providers, default=''), tuple(sorted(rivals)),
            domains=self._domains(router, network))
        hosts = self._hosts.of_network(router, network)
        return found if hosts is None else found._replace(
            hosts=hosts, vips=self._vips.in_network(router, network))

    def _alone(self, router: Uuid,
               network: tenant_networks.Network) -> _Contest:
        """Who else has a virtual IP that is announced without its network."""
        return _Contest(network, rivals=self._vips.rivals(router, network),
                        domains=self._domains(router, network))

    def _domains(self, router: Uuid,
                 network: tenant_networks.Network) -> tuple[int, ...]:
        return self._networks.domains(
            router, networks.family_of_valid(network.prefix))

    # -- the view ---------------------------------------------------------

    def look(self, tracked: Iterable[Uuid]) -> None:
        """Look at the routers that are here or may come here.

        A gateway that moves must not lose what it had first.
        """
        now = frozenset(tracked)
        if now != self._tracked:
            self._tracked = now
            self._rows.outdate(('tenants', 'tracked'))
        found = self._rows.ask(self._all)
        if found is self._found:
            return
        for removed in self._found.keys() - found.keys():
            del self._claims[removed], self._judged[removed]
        for uuid, each in found.items():
            if each is not self._found.get(uuid):
                self._judged[uuid] = self._claims.setdefault(
                    uuid, Claims(self._starts)).judge({
                        contest.key: contest.rivals
                        for contest in each.contests
                        if not (contest.network.withheld or
                                contest.provider)})
        self._found, self._starts = found, False

    def _all(self) -> dict[Uuid, _Found]:
        self._rows.note(('tenants', 'tracked'))
        return {uuid: self._rows.ask(self._of_router, uuid)
                for uuid in sorted(self._tracked)}

    def complete(self, present: tuple[model.Router, ...],
                 uuids: Iterable[Uuid]) -> None:
        """Make the prefixes of routers, which may have states."""
        made, previous = {}, self._completed
        self._completed = {}
        for router, uuid in zip(present, uuids, strict=True):
            found = self._found.get(uuid, _Found())
            judged = self._judged.get(uuid, {})
            known = self.present.get(router.uuid, {})
            self._completed[uuid] = basis = router, found, judged
            new = (known if previous.get(uuid) == basis else
                   self._prefixes(router, found, judged, known))
            if new:
                made[router.uuid] = known if new == known else new
        if made != self.present:
            self.present = made

    @staticmethod
    def _prefixes(router: model.Router, found: _Found,
                  judged: Mapping[str, model.Claim],
                  previous: Prefixes) -> dict[str, model.TenantPrefix]:
        made: dict[str, model.TenantPrefix] = {}
        for whole, hosts in _wholes(router, found, judged,
                                    router.served_ports):
            if hosts is not None:
                made.update(tenant_hosts.prefixes(whole, hosts, previous))
            else:
                known = previous.get(whole.prefix)
                made[whole.prefix] = known if known == whole else whole
        return made

    def behind(self, router: model.Router, uuid: Uuid) -> Iterator[Whole]:
        """The networks behind a router, wherever its gateway is."""
        return _wholes(router, self._found.get(uuid, _Found()),
                       self._judged.get(uuid, {}), router.ports)


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


def _wholes(router: model.Router, found: _Found,
            judged: Mapping[str, model.Claim],
            ports: Iterable[model.GatewayPort]) -> Iterator[Whole]:
    gateways = {version: _gateway(ports, version)
                for version in networks.VERSIONS}
    for contest in found.contests:
        network = contest.network
        gateway = gateways[networks.family_of_valid(network.prefix)]
        if gateway is None:
            continue
        port, via = gateway
        whole = model.TenantPrefix(
            router.uuid, router.both_names, network.prefix,
            network.within or network.prefix, network.called, port, via,
            port.tag if network.tag is None else network.tag or None,
            network.withheld, contest.provider, contest.rivals,
            judged.get(contest.key, model.Claim.UNCONTESTED),
            vip=bool(network.within), alone=bool(network.within))
        yield whole, contest.hosts if whole.announced else None
        if contest.vips and whole.announced:
            yield whole._replace(vip=True), contest.vips


def _route_keys(row: columns.Row) -> list[prefixes.Key]:
    route = rows.extra_route(row)
    return [prefixes.key(route[0])] if route else []


def _floating_keys(row: columns.Row) -> list[str]:
    return ([columns.atom(row, 'logical_ip')]
            if columns.atom(row, 'type') == 'dnat_and_snat' else [])


def _gateway(ports: Iterable[model.GatewayPort],
             version: int) -> tuple[model.GatewayPort, str] | None:
    """The first gateway port with an address of a family, and the address."""
    for port in ports:
        for text in port.networks:
            interface = networks.parse_interface(text)
            if interface and interface.version == version and not (
                    version == 6 and interface.is_link_local):
                return port, str(interface.ip)
    return None


#: The other routers with prefixes that overlap.
Rivals = tuple[str, ...]


class Claims:
    """Remembers a router's sole prefixes; at the start nobody knows before."""

    def __init__(self, start: bool) -> None:
        self._first: set[str] = set()
        # The conflicts that were there at the start, None before it.
        self._unknown: dict[str, Rivals] | None = None if start else {}

    def judge(self, found: Mapping[str, Rivals]) -> dict[str, model.Claim]:
        """How the router stands with all prefixes that may be announced."""
        judged = {key: self._judge(key, rivals)
                  for key, rivals in found.items()}
        self._first = {key for key, claim in judged.items() if claim in (
            model.Claim.UNCONTESTED, model.Claim.FIRST)}
        self._unknown = {key: found[key] for key, claim in judged.items()
                         if claim is model.Claim.UNKNOWN}
        return judged

    def _judge(self, key: str, rivals: Rivals) -> model.Claim:
        if not rivals:
            return model.Claim.UNCONTESTED
        if key in self._first:
            return model.Claim.FIRST
        # After any change of the conflict, whoever came is not the first.
        return (model.Claim.UNKNOWN
                if self._unknown is None or self._unknown.get(key) == rivals
                else model.Claim.REFUSED)
