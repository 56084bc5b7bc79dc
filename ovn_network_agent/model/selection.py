# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The selection: which addresses are announced.  Pure.

Rows come before options, and the row of the address before those of router and
network, so a row can make an exception of any rule.
"""

from collections.abc import Callable
from collections.abc import Iterable
import re
import typing

from ovn_network_agent.common import ip_text

_UUID = re.compile('[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}', re.IGNORECASE)
BY_OVN = ('OVN routes the router itself (dynamic-routing=true in its options '
          'in OVN NB)')
NO_BACKEND = ('the health checks of OVN say that none of its backends is '
              'online ([load_balancer] withdraw_without_backends)')
NOT_ADVERTISED = ('OVN does not advertise it (no row of Advertised_Route in '
                  'OVN SB; dynamic-routing-redistribute of the router says '
                  'what OVN advertises)')


class Word(typing.NamedTuple):
    """One row's statement about the announcement of addresses."""

    announce: bool  # whether the addresses are to be announced
    where: str  # the row and its key with the value, for messages


class Tag(typing.NamedTuple):
    """One row's tag for the routes of its addresses."""

    number: int  # one of :data:`ownership.TAGS`, 0 for no tag
    where: str  # the row and its key with the value, for messages


class Subject(typing.NamedTuple):
    """One address, and all that decides; silent rows are in no tuple."""

    address: str  # IP address, or a prefix, which a network has as a whole
    # External_ids of the address (NAT, load balancer, port), router, network.
    own: tuple[Word, ...] = ()
    router: tuple[Word, ...] = ()
    network: tuple[Word, ...] = ()
    # From OVN's own options of rows of the address.
    native: tuple[Word, ...] = ()
    router_names: frozenset[str] = frozenset()  # all names of the router
    # All names of the provider network, empty while the network is unknown.
    network_names: frozenset[str] = frozenset()
    # Why OVN does not advertise it for a router that OVN routes, or ''.
    left_out: str = ''


class Selection(typing.NamedTuple):
    """The options of section [announce].

    An empty inclusion includes everything; an exclusion wins.
    """

    # Of IPv4, as exclude_cidrs.
    include_cidrs: tuple[ip_text.Network, ...] = ()
    exclude_cidrs: tuple[ip_text.Network, ...] = ()
    include_routers: frozenset[str] = frozenset()
    exclude_routers: frozenset[str] = frozenset()
    # Provider networks, as exclude_networks.
    include_networks: frozenset[str] = frozenset()
    exclude_networks: frozenset[str] = frozenset()
    # (name, tag), sorted; network_tags of provider networks, too.
    router_tags: tuple[tuple[str, int], ...] = ()
    network_tags: tuple[tuple[str, int], ...] = ()
    # Whether to announce what OVN advertises of routers that OVN routes.
    advertised_routes: bool = False

    @property
    def routers(self) -> frozenset[str]:
        """All names of routers in the options."""
        return (self.include_routers | self.exclude_routers |
                {name for name, _tag in self.router_tags})

    def tag(self, router: Iterable[Tag], network: Iterable[Tag],
            router_names: frozenset[str],
            network_names: frozenset[str]) -> Tag:
        """A router's tag in a provider network: router, network, options.

        :param router_names: all names of the router; likewise network_names
        """
        for found in (*router, *network):
            return found
        for option, known, entries in (
                ('router_tags', router_names, self.router_tags),
                ('network_tags', network_names, self.network_tags)):
            for name, number in entries:
                if name in known:
                    return Tag(number, f'[announce] {option} has {name}')
        return Tag(0, '')

    def objection(self, subject: Subject) -> str:
        """The reason why an address is not announced, or ''.

        Of contradictory rows of a rank, the one for the announcement wins:
        nothing is withdrawn in doubt.
        """
        for statements in (subject.own, subject.router, subject.network):
            if any(word.announce for word in statements):
                return ''
            if statements:
                return statements[0].where
        # OVN announces by default, so such a word is no exception.
        if subject.native and not any(w.announce for w in subject.native):
            return subject.native[0].where
        if subject.left_out:
            return subject.left_out
        return (self._by_cidr(subject.address) or
                _by_name('router', subject.router_names,
                         self.include_routers, self.exclude_routers) or
                _by_name('network', subject.network_names,
                         self.include_networks, self.exclude_networks))

    def _by_cidr(self, address: str) -> str:
        has = _having(address)
        for network in self.exclude_cidrs:
            if has(network):
                return f'[announce] exclude_cidrs has {network}'
        if self.include_cidrs and not any(map(has, self.include_cidrs)):
            return 'no network of [announce] include_cidrs has it'
        return ''


def _having(text: str) -> Callable[[ip_text.Network], bool]:
    """Whether a network has an address or prefix."""
    if '/' not in text:
        ip = ip_text.address(text)
        return lambda network: ip in network
    prefix = ip_text.network(text)
    return lambda network: (
        network.version == prefix.version and
        prefix.subnet_of(network))  # type: ignore[arg-type]


def read(options: typing.Any) -> Selection:
    """The selection of the options of section [announce]."""
    return Selection(
        include_cidrs=tuple(map(ip_text.network, options.include_cidrs)),
        exclude_cidrs=tuple(map(ip_text.network, options.exclude_cidrs)),
        include_routers=frozenset(options.include_routers),
        exclude_routers=frozenset(options.exclude_routers),
        include_networks=frozenset(options.include_networks),
        exclude_networks=frozenset(options.exclude_networks),
        router_tags=tags(options.router_tags),
        network_tags=tags(options.network_tags),
        advertised_routes=options.advertised_routes)


def tags(texts: Iterable[str]) -> tuple[tuple[str, int], ...]:
    """The sorted (name, tag) of an option's texts like 'name:4400001'."""
    parts = (text.rpartition(':') for text in texts)
    return tuple(sorted((name, int(number)) for name, _colon, number in parts))


def names(prefix: str, uuid: str, row: str, label: str) -> frozenset[str]:
    """All names by which an operator may know a router or network.

    :param prefix: Neutron's, before the UUID in the name of a row
    :param label: name in Neutron, perhaps ''; see :func:`is_free`
    """
    return frozenset({
        uuid, row, row.removeprefix(prefix),
        label if is_free(prefix, label) else ''}) - {''}


def is_free(prefix: str, label: str) -> bool:
    """Whether a name in Neutron cannot be taken for the UUID of another row.

    Tenants choose it: a router named with another's UUID would be included,
    excluded or drained in its place.
    """
    return not _UUID.fullmatch(label.removeprefix(prefix))


def _by_name(kind: str, known: frozenset[str], include: frozenset[str],
             exclude: frozenset[str]) -> str:
    """Why options exclude a router or network, '' if not, or if unknown."""
    if not known:
        return ''
    excluded = sorted(known & exclude)
    if excluded:
        return f'[announce] exclude_{kind}s has {excluded[0]}'
    if include and not known & include:
        return f'[announce] include_{kind}s does not have its {kind}'
    return ''
