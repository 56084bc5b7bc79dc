# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""The filters of other programs in nftables."""

from ovn_network_agent.diagnosis import readers
from ovn_network_agent.nft import filters

_ARGV = ('nft', '-j', '-n', 'list', 'ruleset')
# Seconds.
_TIMEOUT = 5


def read():
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
