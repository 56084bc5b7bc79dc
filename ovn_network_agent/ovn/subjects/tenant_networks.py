# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The networks of tenants behind routers, as functions of rows.  Pure."""

import collections
from collections.abc import Iterable
from collections.abc import Iterator
import typing

from ovn_network_agent import model
from ovn_network_agent.common import ip_text
from ovn_network_agent.common import networks
from ovn_network_agent.model import selection
from ovn_network_agent.ovn import inputs
from ovn_network_agent.ovn import queries
from ovn_network_agent.ovn import rows
from ovn_network_agent.ovn.subjects import addresses
from ovn_network_agent.ovn.subjects import policies
from ovn_network_agent.ovn.subjects import prefixes
from ovn_network_agent.ovn.subjects import routers
from ovn_network_agent.ovn.subjects import segments
from ovn_network_agent.ovn.subjects import withholding
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb.columns import Uuid

_ROUTE = 'Logical_Router_Static_Route'
_ROUTER = 'Logical_Router'
_PORT = 'Logical_Router_Port'
# What ovn-northd copies from the port of Neutron, by family.
_SCOPE = {4: 'neutron:subnet_pool_addr_scope4',
          6: 'neutron:subnet_pool_addr_scope6'}
# The only IPv6 addresses that are global (RFC 4291, section 2.4).
_GLOBAL = ip_text.network('2000::/3')


class Network(typing.NamedTuple):
    """A prefix behind a router."""

    prefix: str
    # Of the router; None behind an extra route.
    port: Uuid | None
    datapath: Uuid
    called: str  # the name that a person knows
    tag: int | None = None  # None for that of the gateway port, 0 for none
    withheld: str = ''
    # The network of a virtual IP that is announced without its network, ''.
    within: str = ''


class Attached(typing.NamedTuple):
    """What the rows of a router port give."""

    networks: tuple[ip_text.Network, ...] = ()
    port: Uuid | None = None
    datapath: Uuid | None = None
    switch: withholding.Network = withholding.Network()
    own: policies.Policy = policies.NONE
    # By family the address scope, '' for none.
    scopes: tuple[tuple[int, str], ...] = ()
    problems: tuple[str, ...] = ()


class TenantNetworks:
    """The prefixes behind routers that may be announced."""

    def __init__(self, found: queries.Queries, known: inputs.Inputs,
                 located: segments.Segments,
                 frames: routers.Routers) -> None:
        self._rows = found
        self._inputs = known
        self._segments = located
        self._frames = frames
        self._withholding = withholding.Withholding(found, known, located)
        self._needs = segments.OwnNeeds(found, known)

    def networks(self, router: Uuid) -> tuple[Network, ...]:
        """The networks of tenants behind a router, withheld ones, too."""
        ports = tuple(self.ports(router))
        return tuple(sorted((
            *(each for port in ports
              for each in self._rows.ask(self.at, router, port)),
            *self._behind(router, ports)), key=lambda each: each.prefix))

    def routed(self, router: Uuid) -> tuple[str, ...]:
        """The prefixes of those that may be announced."""
        return () if self._inputs.chosen.tenants is None else tuple(
            each.prefix for each in self._rows.ask(self.networks, router)
            if not each.withheld)

    def at(self, router: Uuid, port: Uuid) -> tuple[Network, ...]:
        """Those at a port."""
        return tuple(self._judge(router, self._rows.ask(self.attached, port)))

    def _behind(self, router: Uuid,
                ports: Iterable[Uuid]) -> Iterator[Network]:
        """The prefixes of extra routes, as if they were at the port."""
        options = self._inputs.chosen.tenants
        if options is None or not options.routes:
            return
        found = [self._rows.ask(self.attached, port) for port in ports]
        for row in self._rows.rows(
                'nb', _ROUTE, self._rows.find('nb', _ROUTER,
                                              'route').keys_of(router)):
            route = rows.extra_route(row)
            for each in found if route else ():
                if route and networks.inside(route[1], each.networks) and (
                        not networks.unusable(route[0])):
                    yield from self._judge(router, each._replace(
                        networks=(route[0],), port=None))

    def ports(self, router: Uuid) -> Iterator[Uuid]:
        """The ports of a router that are no gateway ports."""
        frame = self._rows.ask(self._frames.frame, router)
        gateways = {port.lrp for port in frame.router.ports}
        names = self._rows.find('nb', _PORT, 'name')
        for port in self._rows.find('nb', _ROUTER, 'port').keys_of(router):
            if gateways and gateways.isdisjoint(names.keys_of(port)):
                yield port

    def attached(self, port: Uuid) -> Attached:
        """What the rows of a router port give, nothing without a switch."""
        row = self._rows.row('nb', _PORT, port)
        patch = row and self._segments.patch(columns.atom(row, 'name'))
        switch = patch and self._withholding.network(patch)
        # The other end may be a router, or not be there yet.
        if not switch or not switch.uuid:
            return Attached()
        valid, problems = rows.networks(row)
        (datapath,) = columns.referenced(patch, 'datapath')
        return Attached(
            tuple(net for version in networks.VERSIONS
                  for net in networks.of_version(version, valid)), port,
            datapath, switch,
            policies.of(self._rows.find('nb', _PORT, 'policy'), port),
            tuple((version, columns.entry(patch, 'external_ids', key) or '')
                  for version, key in _SCOPE.items()),
            problems)

    def _judge(self, router: Uuid, found: Attached) -> Iterator[Network]:
        switch, chosen = found.switch, self._inputs.chosen.selected
        tag = chosen.tag((), switch.statement.tags, frozenset(), switch.names)
        if self._inputs.chosen.tenants and self._inputs.chosen.tenants.hosts:
            # Each address decides by itself.
            chosen = chosen._replace(include_cidrs=(), exclude_cidrs=())
        for net in found.networks:
            yield Network(
                str(net), found.port, found.datapath,
                switch.called or switch.uuid,
                tag.number if tag.where else None,
                self._withheld(router, net, found) or
                chosen.objection(self.subject(router, found, str(net))))

    def subject(self, router: Uuid, found: Attached, address: str,
                 own: policies.Policy = policies.NONE) -> selection.Subject:
        """A prefix or address of a router's port, and what rows say of it."""
        judgement = self._rows.ask(self._frames.frame, router).judgement
        return selection.Subject(
            address, own.own or found.own.own, judgement.router,
            found.switch.statement.own, (*own.native, *found.own.native),
            judgement.names, found.switch.names)

    def condition(self, router: Uuid, net: ip_text.Network,
                  found: Attached) -> str:
        """Why a network is not announced whatever its router does, or ''."""
        options = self._inputs.chosen.tenants
        if options is None:
            return 'the driver tenant_network is off'
        if net.version == 6 and not options.ipv6:
            return '[tenant_network] expose_ipv6_gua is false'
        if net.version == 6 and not _GLOBAL.overlaps(net):
            return 'its addresses are not global'
        scope = dict(found.scopes)[net.version]
        if options.scopes and scope not in options.scopes:
            return (f'[tenant_network] address_scopes does not have its '
                    f'address scope {scope}' if scope else
                    'it has no address scope, and [tenant_network] '
                    'address_scopes names those to announce')
        return (self._needs.objection(net)
                if 0 in self.domains(router, net.version) else '')

    def _withheld(self, router: Uuid, net: ip_text.Network,
                  found: Attached) -> str:
        translated = self.translated(router, net)
        return self.condition(router, net, found) or translated and (
            f'its router translates {translated} (SNAT), so answers leave '
            'with the address of the router')

    def translated(self, router: Uuid, net: ip_text.Network) -> str:
        """What a router translates of a network that this withholds, or ''."""
        options = self._inputs.chosen.tenants
        if options is None or not options.without_snat:
            return ''
        for text in self._rows.ask(addresses.translated, self._rows, router):
            if networks.overlap(ip_text.network(text), net):
                return text
        return ''

    # -- who else has a prefix --------------------------------------------

    def domains(self, router: Uuid, version: int) -> tuple[int, ...]:
        """Where prefixes are unique: gateway ports' VNIs, 0: the underlay."""
        frame = self._rows.ask(self._frames.frame, router)
        return tuple(sorted({
            port.domain for port in frame.router.ports
            if port.announced and networks.of_version(version,
                                                      port.networks)}))

    def overlapping(self, router: Uuid, prefix: str
                    ) -> set[tuple[Uuid, bool]]:
        """Routers with an overlapping network; whether it is a provider's."""
        found = self._rows.ask(self.sharing, prefix)
        return {each for domain in self.domains(
            router, networks.family_of_valid(prefix))
            for each in found.get(domain, ())}

    def sharing(self, prefix: str) -> dict[int, set[tuple[Uuid, bool]]]:
        """By domain those with a network that overlaps with a prefix.

        The same for all routers: thousands of tenants may have one network.
        """
        key = prefixes.key(ip_text.network(prefix))
        tables = [(_PORT, 'port')]
        if self._inputs.chosen.tenants and self._inputs.chosen.tenants.routes:
            tables.append((_ROUTE, 'route'))
        version, found = networks.family_of_valid(prefix), (
            collections.defaultdict[int, set[tuple[Uuid, bool]]](set))
        for table, column in tables:
            for uuid in self._rows.find('nb', table, 'network').find(key):
                for router in self._rows.find('nb', _ROUTER,
                                              column).find(uuid):
                    public = self._public(router, uuid)
                    for domain in (self.domains(router, version)
                                   if public is None else
                                   [public.domain] * public.announced):
                        found[domain].add((router, public is not None))
        return found

    def overlaps(self, router: Uuid, prefix: str) -> Iterator[str]:
        """The networks of a router that overlap with a prefix."""
        wanted = ip_text.network(prefix)
        for each in self._rows.ask(self.networks, router):
            if not each.withheld and networks.overlap(
                    ip_text.network(each.prefix), wanted):
                yield each.prefix

    def called(self, router: Uuid) -> str:
        """The names of a router."""
        return self._rows.ask(self._frames.frame, router).router.both_names

    def _public(self, router: Uuid, port: Uuid) -> model.GatewayPort | None:
        """The gateway port on a provider network that a port is, or None."""
        frame = self._rows.ask(self._frames.frame, router)
        names = self._rows.find('nb', _PORT, 'name').keys_of(port)
        return next((each for each in frame.router.ports
                     if each.lrp in names and each.segment is not None), None)
