# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""Check of the filters of other programs in nftables."""

import typing

from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.node import check
from ovn_network_agent.diagnosis.node import words
from ovn_network_agent.diagnosis.readers import nft_filters
from ovn_network_agent.nft import filters


class Filters(typing.NamedTuple):
    """What other programs drop, and what must not be dropped.

    :ivar addresses: tuple of IPv4Address
    :ivar found: :class:`nft.filters.Found`
    """

    addresses: tuple
    found: filters.Found


def read_filters(sources):
    """Read the dropping rules of other programs in nftables: :class:`Filters`.

    :raises check.NotChecked: without OVN or root, or when nft does not answer
    """
    sources.ovn()
    sources.privileged()
    try:
        found = nft_filters.read()
    except readers.Unread as error:
        raise check.NotChecked(str(error)) from error
    return Filters(sources.announceable(), found)


def judge_filters(has):
    """Warn of each rule that drops packets of this node's addresses.

    A rule that certainly drops the packets of all addresses is broken.

    :param has: :class:`Filters`
    """
    wrong = False
    for one in has.found.filters:
        taken = {each for each in has.addresses if one.covers(each)}
        if not taken:
            continue
        wrong = True
        what, show = nft_filters.culprit(one)
        certain = one.certain and taken == set(has.addresses)
        yield check.Said(
            check.Verdict.BROKEN if certain else check.Verdict.WARN,
            f'{what} of another program drops packets of '
            f'{words.named(taken)}{"" if one.certain else ", some of them"}',
            f'look at "{show}", and have its program except these addresses')
    if not wrong:
        closed = ', '.join(f'"{chain}"' for chain in has.found.closed
                           if not chain.startswith('ip6 '))
        yield check.ok(
            f'of {len(has.found.filters):d} rules of other programs that '
            'drop by address, none names an address of this node' + (
                f'; {closed} drops what its rules do not accept'
                if closed else ''))


CHECKS = (
    check.Check(
        'packet-filters', 'kernel', 'no rule of another program in nftables '
        'drops packets of this node\'s addresses by name', read_filters,
        judge_filters, ('ovs-database', 'nb-database', 'sb-database')),
)
