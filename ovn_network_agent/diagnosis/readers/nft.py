# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""nftables: the agent's table and its connections, and filters of others."""

import collections
import dataclasses

from ovn_network_agent import ownership
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.nft import filters
from ovn_network_agent.nft import listing

_FAMILIES = {4: 'ip', 6: 'ip6'}
# Seconds.
_TIMEOUT = 5
# The agent marks a table as loaded a moment after the load.
_READINGS = 2
_ARGV = ('nft', '-j', '-n', 'list', 'ruleset')


@dataclasses.dataclass(frozen=True, slots=True)
class Translation:
    """The agent's table of one family.

    :ivar targets: frozenset, see :attr:`listing.Listed.targets`
    :ivar altered: whether the table is another one than the agent has loaded
    :ivar connections: dict of a target to the number of its present
        connections, or :class:`readers.Unread`
    """

    targets: frozenset
    altered: bool
    connections: object


def read(version, zone, targets):
    """Read the agent's table, and count the connections of some targets.

    :param version: 4 or 6
    :param zone: the agent's zone of connection tracking
    :param targets: frozenset, see :attr:`Translation.targets`
    :returns: :class:`Translation`; None without the table
    :raises readers.Unread: when nft fails
    """
    family = _FAMILIES[version]
    for _reading in range(_READINGS):
        found = _table(family)
        if found is None:
            return None
        if found.digest != listing.ALTERED:
            break
    return Translation(found.targets, found.digest == listing.ALTERED,
                       _connections(family, zone, targets))


def _table(family):
    """The table, a :class:`listing.Listed`, or None."""
    # The privileged side takes long to import; only a VIP needs it.
    from ovn_network_agent.privileged import command
    argv = ['nft', '-j', '-n', 'list', 'table', family, ownership.NFT_TABLE]
    try:
        done = command.run(argv, _TIMEOUT)
    except OSError as error:
        raise readers.Unread(f'nft: {readers.reason(error)}') from error
    if done.status:
        if 'No such file' in done.stderr:
            return None
        raise readers.Unread(f'nft: {done.messages}')
    try:
        return listing.parse(done.stdout)
    except listing.Unreadable as error:
        raise readers.Unread(readers.reason(error)) from error


def _connections(family, zone, targets):
    """The number of connections to each target, a dict, or Unread."""
    from ovn_network_agent.netlink import connection
    from ovn_network_agent.netlink import conntrack
    from ovn_network_agent.nft import elements
    numbers = {(elements.PROTOCOLS[proto], *rest): (proto, *rest)
               for proto, *rest in targets}
    try:
        with connection.Connection(
                True, connection.NETLINK_NETFILTER) as kernel:
            found = conntrack.read(kernel, family, zone, set(numbers))
    except OSError as error:
        return readers.Unread(f'kernel: {readers.reason(error)}')
    return dict(collections.Counter(numbers[one[:5]] for one in found))


def read_filters():
    """Read what other programs drop by address.

    :returns: :class:`nft.filters.Found`
    :raises readers.Unread: when nft fails
    """
    # The privileged side takes long to import.
    from ovn_network_agent.privileged import command
    try:
        done = command.run(list(_ARGV), _TIMEOUT)
    except OSError as error:
        raise readers.Unread(f'nft: {readers.reason(error)}') from error
    if done.status:
        raise readers.Unread(f'nft: {done.messages}')
    try:
        return filters.parse(done.stdout)
    except filters.Unreadable as error:
        raise readers.Unread(readers.reason(error)) from error


def culprit(one):
    """A rule in words, and the command that shows the rule.

    :param one: :class:`nft.filters.Filter`
    :returns: (text, command)
    """
    sets = ''.join(f', by the set {name}' for name in one.sets)
    return (f'rule {one.handle:d} of the chain "{one.chain}"{sets}',
            f'nft -a list chain {one.chain}')
