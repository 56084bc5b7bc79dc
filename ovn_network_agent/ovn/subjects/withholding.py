# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Which announcements of a router rows and options withhold or tag.  Pure.

For a router that OVN routes itself, ovn-northd of OVN 25.03 and later writes
SB's Advertised_Route: host routes of
NAT and load balancers, and networks of connected ports.
"""

from collections.abc import Iterable
from collections.abc import Iterator
import typing

from ovn_network_agent.common import ip_text
from ovn_network_agent.model import selection
from ovn_network_agent.ovn import inputs
from ovn_network_agent.ovn import queries
from ovn_network_agent.ovn.chassis import directory
from ovn_network_agent.ovn.subjects import policies
from ovn_network_agent.ovn.subjects import segments
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb.columns import Uuid

_SWITCH = 'logical-switch'
_ROUTER = 'Logical_Router'


class Advertised(typing.NamedTuple):
    """The advertised prefixes of one router."""

    # Those of one address, and the others.
    hosts: frozenset[ip_text.Network]
    networks: frozenset[ip_text.Network]

    def objection(self, address: str) -> str:
        """Why OVN does not advertise an address, '' if OVN does."""
        if ip_text.network(address) in self.hosts:
            return ''
        ip = ip_text.address(address)
        return ('' if any(ip in network for network in self.networks)
                else selection.NOT_ADVERTISED)


def read(found: queries.Queries, lrps: tuple[str, ...]) -> Advertised:
    """What OVN advertises by gateway ports' names; a function of rows."""
    by_port = found.find('sb', 'Port_Binding', 'redirect')
    by_datapath = found.find('sb', 'Advertised_Route', 'datapath')
    by_prefix = found.find('sb', 'Advertised_Route', 'prefix')
    redirects = filter(None, map(by_port.first, lrps))
    datapaths = {
        datapath for row in found.rows('sb', 'Port_Binding', redirects)
        for datapath in columns.referenced(row, 'datapath')}
    prefixes = {
        prefix for datapath in datapaths
        for row in by_datapath.find(datapath)
        for prefix in by_prefix.keys_of(row)}
    hosts = frozenset(prefix for prefix in prefixes
                      if prefix.prefixlen == prefix.max_prefixlen)
    return Advertised(hosts, frozenset(prefixes - hosts))


class Network(typing.NamedTuple):
    """A provider network."""

    # UUID of the Logical_Switch row, and the name that a person knows.
    uuid: str = ''
    called: str = ''
    statement: policies.Policy = policies.NONE
    names: frozenset[str] = frozenset()  # empty while the network is unknown


class Judgement(typing.NamedTuple):
    """What decides about all addresses of one router."""

    chosen: selection.Selection
    # Words of the row of the router, and all its names.
    router: tuple[selection.Word, ...]
    names: frozenset[str]
    networks: tuple[tuple[str, Network], ...]  # by gateway port
    # What the rows of load balancers and ports say, by address.
    own: tuple[tuple[str, policies.Policy], ...]
    # What OVN advertises, None for a router that OVN does not route.
    by_ovn: Advertised | None = None
    # By gateway port; only ports with a tag.
    tags: tuple[tuple[str, int], ...] = ()
    routed_by_ovn: bool = False  # whether the router is left to OVN
    problems: tuple[str, ...] = ()  # words of rows that cannot be read
    # Whether no row and no option here is about any address.
    silent: bool = False

    def objection(self, address: str, lrp: str,
                  nats: policies.Policy) -> str:
        """Why an address is not announced on purpose, or ''."""
        if self.routed_by_ovn:
            return selection.BY_OVN
        own = sum((each for of, each in self.own if of == address), nats)
        network = dict(self.networks).get(lrp, Network())
        return self.chosen.objection(selection.Subject(
            address, own.own, self.router, network.statement.own, own.native,
            self.names, network.names,
            self.by_ovn.objection(address) if self.by_ovn else ''))


class Withholding:
    """Judges routers; a function of rows, see :mod:`ovn.queries`."""

    def __init__(self, found: queries.Queries, known: inputs.Inputs,
                 located: segments.Segments) -> None:
        self._rows = found
        self._inputs = known
        self._segments = located

    def judge(self, uuid: Uuid, lrps: tuple[str, ...]) -> Judgement:
        """Judge a router by its row and its gateway ports."""
        chosen = self._inputs.chosen.selected
        own = list(self._own(uuid))
        router = self._statement(_ROUTER, uuid)
        places = {lrp: self._rows.ask(self._network, lrp) for lrp in lrps}
        (name, label), = self._rows.find('nb', _ROUTER, 'called').keys_of(uuid)
        problems = [problem for statement in (
            *(each for _addresses, each in own), router,
            *(place.statement for place in places.values()))
            for problem in statement.problems]
        by_ovn = None
        routed = bool(self._rows.find('nb', _ROUTER, 'routed').keys_of(uuid))
        if routed and chosen.advertised_routes:
            if self._inputs.has_advertised:
                by_ovn = self._rows.ask(read, self._rows, lrps)
            else:
                problems.append(
                    f'router {name}: it is left to OVN in spite of '
                    '[announce] advertised_routes, because OVN SB has no '
                    'table Advertised_Route; upgrade OVN to 25.03 or later, '
                    'or set the option to false')
        names = selection.names(directory.NEUTRON_PREFIX, str(uuid), name,
                                label)
        tags = ((lrp, chosen.tag(router.tags, place.statement.tags, names,
                                 place.names).number)
                for lrp, place in places.items())
        return Judgement(
            chosen, router.own, names, tuple(places.items()),
            tuple((address, statement) for addresses, statement in own
                  for address in addresses), by_ovn,
            tuple((lrp, tag) for lrp, tag in tags if tag),
            routed and self._inputs.leaves, tuple(dict.fromkeys(problems)),
            chosen == selection.Selection() and not (
                routed or own or router.own or
                any(place.statement.own for place in places.values())))

    def _own(self, router: Uuid) -> Iterator[
            tuple[tuple[str, ...], policies.Policy]]:
        """What rows of load balancers and ports say about their addresses."""
        tables: tuple[tuple[str, Iterable[Uuid]], ...] = (
            ('Load_Balancer', balancers(self._rows, router)),
            ('Logical_Router_Port', self._rows.find(
                'nb', _ROUTER, 'port').keys_of(router)))
        for table, uuids in tables:
            for uuid in uuids:
                for part in self._rows.find('nb', table,
                                            'policy').keys_of(uuid):
                    yield self._rows.find('nb', table,
                                          'address').keys_of(uuid), part

    def _statement(self, table: str, key: Uuid) -> policies.Policy:
        return policies.of(self._rows.find('nb', table, 'policy'), key)

    def _network(self, lrp: str) -> Network:
        patch = self._segments.patch(lrp)
        return Network() if patch is None else self.network(patch)

    def network(self, binding: columns.Row) -> Network:
        """The network of a row of Port_Binding."""
        for datapath in self._rows.referred(binding, 'datapath'):
            text = columns.entry(datapath, 'external_ids', _SWITCH) or ''
            # The row may follow, because NB and SB are two servers.
            switch = self._rows.find('nb', 'Logical_Switch',
                                     'uuid').first(text)
            row = self._rows.row('nb', 'Logical_Switch', switch)
            return Network(
                text, '' if row is None else directory.network_name(row),
                self._statement('Logical_Switch', switch),
                frozenset(self._rows.find('nb', 'Logical_Switch',
                                          'names').keys_of(switch)))
        return Network()


def balancers(found: queries.Queries, router: Uuid) -> Iterator[Uuid]:
    """The load balancers of a router, those of groups, too; each once."""
    groups = found.rows('nb', 'Load_Balancer_Group', found.find(
        'nb', _ROUTER, 'group').keys_of(router))
    yield from dict.fromkeys((
        *found.find('nb', _ROUTER, 'balancer').keys_of(router),
        *(uuid for group in groups
          for uuid in columns.referenced(group, 'load_balancer'))))
