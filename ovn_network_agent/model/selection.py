# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The selection: which addresses are announced.  Pure.

The rows of OVN come before the options, and the row of the address comes
before the rows of its router and of its network.  So a row can make an
exception of any rule.
"""

from collections.abc import Callable
from collections.abc import Iterable
import dataclasses
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


@dataclasses.dataclass(frozen=True, slots=True)
class Word:
    """One row's statement about the announcement of addresses."""

    announce: bool  # whether the addresses are to be announced
    where: str  # the row and its key with the value, for messages


@dataclasses.dataclass(frozen=True, slots=True)
class Tag:
    """One row's tag for the routes of its addresses."""

    number: int  # one of :data:`ownership.TAGS`, 0 for no tag
    where: str  # the row and its key with the value, for messages


@dataclasses.dataclass(frozen=True, slots=True)
class Subject:
    """One address, and all that decides about its announcement.

    Rows without a statement are in none of the tuples.
    """

    address: str  # IP address, or a prefix, which a network has as a whole
    # From the external_ids of rows: of the address (NAT rows, load balancers,
    # the router port), of the router, of the provider network.
    own: tuple[Word, ...] = ()
    router: tuple[Word, ...] = ()
    network: tuple[Word, ...] = ()
    # From OVN's own options of rows of the address.
    native: tuple[Word, ...] = ()
    router_names: frozenset[str] = frozenset()  # all names of the router
    # All names of the provider network, empty while the network is unknown.
    network_names: frozenset[str] = frozenset()
    # The reason why OVN does not advertise the address of a router that OVN
    # routes, or ''.
    left_out: str = ''


@dataclasses.dataclass(frozen=True, slots=True)
class Selection:
    """The options of section [announce].

    An empty inclusion includes everything, and an exclusion wins over an
    inclusion.
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
    # Whether the agent announces the routers that OVN routes, as far as OVN
    # advertises them.
    advertised_routes: bool = False

    @property
    def routers(self) -> frozenset[str]:
        """All names of routers in the options."""
        return (self.include_routers | self.exclude_routers |
                {name for name, _tag in self.router_tags})

    def tag(self, router: Iterable[Tag], network: Iterable[Tag],
            router_names: frozenset[str],
            network_names: frozenset[str]) -> Tag:
        """The tag of the routes of a router in a provider network.

        The nearest wins, as in :meth:`objection`: the row of the router, the
        row of the network, the options.

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
        """The reason why an address is not announced.

        Of contradictory rows with the same rank, the row wins that wants the
        announcement: nothing is withdrawn in doubt.

        :returns: '' when the address is announced
        """
        for statements in (subject.own, subject.router, subject.network):
            if any(word.announce for word in statements):
                return ''
            if statements:
                return statements[0].where
        # Announcement is the default of OVN, so such a word is no exception
        # of the options.
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
    """The selection of the options.

    :param options: the options of section [announce], by attributes, which
        oslo.config makes at run time
    """
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
    """The tags of an option.

    :param texts: texts like 'name:4400001'
    :returns: (name, tag), sorted
    """
    parts = (text.rpartition(':') for text in texts)
    return tuple(sorted((name, int(number)) for name, _colon, number in parts))


def names(prefix: str, uuid: str, row: str, label: str) -> frozenset[str]:
    """All names by which an operator may know a router or network.

    :param prefix: the text that Neutron puts before the UUID in the name of
        a row
    :param label: name in Neutron, perhaps ''; see :func:`is_free`
    """
    return frozenset({
        uuid, row, row.removeprefix(prefix),
        label if is_free(prefix, label) else ''}) - {''}


def is_free(prefix: str, label: str) -> bool:
    """Whether a name in Neutron cannot be taken for the UUID of another row.

    A tenant chooses this name.  A router with the UUID of another router as
    its name would otherwise be included, excluded or drained in its place.

    :param prefix: as for :func:`names`
    :param label: name in Neutron
    """
    return not _UUID.fullmatch(label.removeprefix(prefix))


def _by_name(kind: str, known: frozenset[str], include: frozenset[str],
             exclude: frozenset[str]) -> str:
    """The reason from the options about routers or networks, '' for none.

    :param known: names; nothing is decided about an unknown one
    """
    if not known:
        return ''
    excluded = sorted(known & exclude)
    if excluded:
        return f'[announce] exclude_{kind}s has {excluded[0]}'
    if include and not known & include:
        return f'[announce] include_{kind}s does not have its {kind}'
    return ''
