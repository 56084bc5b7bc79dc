# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The kernel's state that concerns an address, its look-ups, nftables."""

import collections
from collections.abc import Iterable
import socket
import typing

from ovn_network_agent import ownership
from ovn_network_agent.common import networks
from ovn_network_agent.common import wording
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.netlink import connection
from ovn_network_agent.netlink import route_codec
from ovn_network_agent.netlink.objects import addresses
from ovn_network_agent.netlink.objects import links
from ovn_network_agent.netlink.objects import lookups
from ovn_network_agent.netlink.objects import neighbours
from ovn_network_agent.netlink.objects import routes
from ovn_network_agent.netlink.objects import rules
from ovn_network_agent.nft import filters
from ovn_network_agent.nft import listing

# In the class, the name is that of the field.
_Rule: typing.TypeAlias = rules.Rule
#: (protocol, VIP, port, destination, its port)
Target: typing.TypeAlias = tuple[str, str, int, str, int]

_FAMILIES = {4: 'ip', 6: 'ip6'}
# Seconds.
_TIMEOUT = 5


class Kernel(typing.NamedTuple):
    """The objects of the kernel for one address."""

    links: dict[str, links.Link]  # by name, without devices that are missing
    # 'address/length' by device.
    addresses: dict[str, tuple[str, ...]]
    # (MAC, name of the state) by (device, address).
    neighbours: dict[tuple[str, str], tuple[str, str]]
    # By path below /proc/sys, None when missing.
    sysctls: dict[str, str | None]
    rules: tuple[_Rule, ...]  # those that the agent could have made
    routes: dict[int, tuple[route_codec.Route, ...]]
    # By question: 'here' (default VRF), 'in' (arrives from the pair), 'vrf'
    # (provider VRF), 'out' (arrives from the bridge with the address as its
    # source), 'out vrf' (the same in the provider VRF). A VIP has 'out vrf',
    # and 'marked' (an answer of a destination, with its packet mark).
    lookups: dict[str, lookups.Lookup]
    # All rules with a destination, whatever they do.
    towards: tuple[_Rule, ...] = ()
    # (device, address) of the wanted neighbour proxies that are there.
    proxies: frozenset[tuple[str, str]] = frozenset()


class Wanted(typing.NamedTuple):
    """The objects to read for one address."""

    address: str
    client: str  # an address outside, for the way back
    device: str  # device of the provider segment, or of VIPs
    vrf: str = ''  # name of the VRF, '' for none
    pair: bool = False  # whether there is a veth pair
    # Whether to ask about packets to the address, and not only about answers.
    ask: bool = True
    neighbours: tuple[tuple[str, str], ...] = ()
    sysctls: tuple[str, ...] = ()  # paths below /proc/sys
    # Ids of small routing tables to read as a whole.
    tables: tuple[int, ...] = ()
    proxies: bool = False


def read(wanted: Wanted) -> Kernel:
    """Read from the kernel."""
    names = {wanted.device, wanted.vrf, *(
        ownership.VETH_ENDS if wanted.pair else ())} - {''}
    with readers.unread('kernel'), connection.Connection() as kernel:
        found = links.named(kernel, sorted(names))
        listed = rules.listed(kernel)
        return Kernel(
            found, {name: tuple(each.address for each in addresses.read(
                kernel, link.index)) for name, link in found.items()},
            _neighbours(kernel, wanted, found),
            {path: sysctl(path) for path in wanted.sysctls},
            tuple(rule for rule, exact in listed if exact),
            {table: tuple(routes.read(kernel, table=table))
             for table in wanted.tables},
            _lookups(kernel, wanted, found),
            tuple(rule for rule, _exact in listed if rule.dst),
            _proxies(kernel, wanted.device, found)
            if wanted.proxies else frozenset())


def _neighbours(kernel: connection.Connection, wanted: Wanted,
                found: dict[str, links.Link]
                ) -> dict[tuple[str, str], tuple[str, str]]:
    read_ = {}
    for device, address in wanted.neighbours:
        if device in found:
            entry = neighbours.look_up(kernel, found[device].index, address)
            if entry is not None:
                read_[device, address] = entry[0].mac, entry[1]
    return read_


def _proxies(kernel: connection.Connection, device: str,
             found: dict[str, links.Link]) -> frozenset[tuple[str, str]]:
    return frozenset(
        (device, entry.dst)
        for entry in neighbours.read_proxies(kernel, socket.AF_INET6)
        if device in found and entry.index == found[device].index)


def sysctl(path: str) -> str | None:
    """The value of a path below /proc/sys, None when it is missing."""
    try:
        with open('/proc/sys/' + path, encoding='ascii') as opened:
            return opened.read().strip()
    except FileNotFoundError:
        return None


def _lookups(kernel: connection.Connection, wanted: Wanted,
             found: dict[str, links.Link]) -> dict[str, lookups.Lookup]:
    """The answers that can be had with the devices that are there."""
    def index(name: str) -> int:
        return found[name].index if name in found else 0

    if not wanted.ask:
        # With the address on a device of the VRF, only the end of the pair
        # accepts the VIP as a source (accept_local).
        return _of_vip(kernel, wanted, index(ownership.VETH_PROVIDER)
                       if wanted.pair else index(wanted.vrf))
    questions = {'here': (wanted.address, '', 0, 0)}
    bridge, vrf = index(wanted.device), index(wanted.vrf)
    default = index(ownership.VETH_DEFAULT) if wanted.pair else 0
    if default:
        questions['in'] = wanted.address, wanted.client, default, 0
    if vrf:
        questions['vrf'] = wanted.address, '', 0, vrf
        questions['out vrf'] = wanted.client, wanted.address, vrf, 0
    if bridge:
        questions['out'] = wanted.client, wanted.address, bridge, 0
    return {name: lookups.look_up(kernel, *question)
            for name, question in questions.items()}


def _of_vip(kernel: connection.Connection, wanted: Wanted, vrf_index: int
            ) -> dict[str, lookups.Lookup]:
    """The answers about the way from the destinations to the client.

    The packet mark alone decides about that way, so the question has neither
    device nor source.  Behind the pair, the source is the VIP again.
    """
    if networks.family(wanted.address) != networks.family(wanted.client):
        return {}
    found = {'marked': lookups.look_up(
        kernel, wanted.client,
        mark=ownership.MARK_REPLY if wanted.vrf else 0)}
    if wanted.vrf and vrf_index:
        found['out vrf'] = lookups.look_up(kernel, wanted.client,
                                           wanted.address, vrf_index)
    return found


class _Missing(readers.Unread):
    """What nft was to list does not exist."""


class Translation(typing.NamedTuple):
    """The agent's table of one family."""

    # See listing.Listed.targets.
    targets: frozenset[Target]
    altered: bool  # whether the table is another one than the agent has loaded
    # Number of present connections by target.
    connections: dict[Target, int] | readers.Unread


def read_translation(version: int, zone: int, targets: Iterable[Target]
                     ) -> Translation | None:
    """The agent's table, with the connections of targets in its zone."""
    family = _FAMILIES[version]
    found = _nft_table(family)
    if found is not None and found.digest == listing.ALTERED:
        # The agent marks a table as loaded a moment after the load.
        found = _nft_table(family)
    if found is None:
        return None
    return Translation(found.targets, found.digest == listing.ALTERED,
                       _connections(family, zone, targets))


def _nft_table(family: str) -> listing.Listed | None:
    try:
        return listing.parse(_list_nft('table', family, ownership.NFT_TABLE))
    except _Missing:
        return None
    except listing.Unreadable as error:
        raise readers.Unread(wording.error(error)) from error


def _list_nft(*what: str) -> str:
    # The privileged side takes long to import, and is rarely needed here.
    from ovn_network_agent.privileged.daemon import command
    with readers.unread('nft'):
        done = command.run(['nft', '-j', '-n', 'list', *what], _TIMEOUT)
    if done.status:
        kind = _Missing if 'No such file' in done.stderr else readers.Unread
        raise kind(f'nft: {done.messages}')
    return done.stdout


def _connections(family: str, zone: int, targets: Iterable[Target]
                 ) -> dict[Target, int] | readers.Unread:
    from ovn_network_agent.netlink import connection
    from ovn_network_agent.netlink.objects import conntrack
    from ovn_network_agent.nft import elements
    numbers: dict[tuple[typing.Any, ...], Target] = {
        (elements.PROTOCOLS[target[0]], *target[1:]): target
        for target in targets}
    try:
        with connection.Connection(
                True, connection.NETLINK_NETFILTER) as kernel:
            found = conntrack.read(kernel, family, zone, set(numbers))
    except OSError as error:
        return readers.Unread(f'kernel: {wording.error(error)}')
    return dict(collections.Counter(numbers[one[:5]] for one in found))


def read_filters() -> filters.Found:
    """Read what other programs drop by address."""
    try:
        return filters.parse(_list_nft('ruleset'))
    except listing.Unreadable as error:
        raise readers.Unread(wording.error(error)) from error


def culprit(one: filters.Filter) -> tuple[str, str]:
    """A rule in words, and the command that shows the rule."""
    sets = ''.join(f', by the set {name}' for name in one.sets)
    return (f'rule {one.handle:d} of the chain "{one.chain}"{sets}',
            f'nft -a list chain {one.chain}')
