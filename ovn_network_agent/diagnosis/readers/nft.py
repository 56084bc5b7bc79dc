# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""nftables: the agent's table and its connections, and filters of others."""

import collections
from collections.abc import Iterable
import dataclasses
import typing

from ovn_network_agent import ownership
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.nft import filters
from ovn_network_agent.nft import listing

#: (protocol, VIP, port, destination, its port)
Target: typing.TypeAlias = tuple[str, str, int, str, int]

_FAMILIES = {4: 'ip', 6: 'ip6'}
# Seconds.
_TIMEOUT = 5


class _Missing(readers.Unread):
    """What nft was to list does not exist."""


@dataclasses.dataclass(frozen=True, slots=True)
class Translation:
    """The agent's table of one family."""

    # See listing.Listed.targets.
    targets: frozenset[Target]
    altered: bool  # whether the table is another one than the agent has loaded
    # Number of present connections by target.
    connections: dict[Target, int] | readers.Unread


def read(version: int, zone: int, targets: Iterable[Target]
         ) -> Translation | None:
    """The agent's table, with the connections of targets in its zone."""
    family = _FAMILIES[version]
    found = _table(family)
    if found is not None and found.digest == listing.ALTERED:
        # The agent marks a table as loaded a moment after the load.
        found = _table(family)
    if found is None:
        return None
    return Translation(found.targets, found.digest == listing.ALTERED,
                       _connections(family, zone, targets))


def _table(family: str) -> listing.Listed | None:
    try:
        return listing.parse(_list('table', family, ownership.NFT_TABLE))
    except _Missing:
        return None
    except listing.Unreadable as error:
        raise readers.Unread(readers.reason(error)) from error


def _list(*what: str) -> str:
    # The privileged side takes long to import, and is rarely needed here.
    from ovn_network_agent.privileged.daemon import command
    try:
        done = command.run(['nft', '-j', '-n', 'list', *what], _TIMEOUT)
    except OSError as error:
        raise readers.Unread(f'nft: {readers.reason(error)}') from error
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
        return readers.Unread(f'kernel: {readers.reason(error)}')
    return dict(collections.Counter(numbers[one[:5]] for one in found))


def read_filters() -> filters.Found:
    """Read what other programs drop by address."""
    try:
        return filters.parse(_list('ruleset'))
    except filters.Unreadable as error:
        raise readers.Unread(readers.reason(error)) from error


def culprit(one: filters.Filter) -> tuple[str, str]:
    """A rule in words, and the command that shows the rule."""
    sets = ''.join(f', by the set {name}' for name in one.sets)
    return (f'rule {one.handle:d} of the chain "{one.chain}"{sets}',
            f'nft -a list chain {one.chain}')
