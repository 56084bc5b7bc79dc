# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""The finding about the filters of other programs in nftables."""

from ovn_network_agent.common import ip_text
from ovn_network_agent.diagnosis import finding
from ovn_network_agent.diagnosis.address import facts
from ovn_network_agent.diagnosis.address import verdicts
from ovn_network_agent.diagnosis.readers import nft
from ovn_network_agent.nft import filters

_CHECK = 'packet-filters'
# How a chain of the other family begins.
_OF_OTHERS = {4: 'ip6 ', 6: 'ip '}


def judge(facts: facts.Facts) -> finding.Finding:
    """The finding."""
    unread = verdicts.unread(_CHECK, facts.filters)
    if unread:
        return unread
    address = ip_text.address(facts.subject.address)
    naming = [one for one in facts.filters.filters if one.covers(address)]
    if not naming:
        return verdicts.ok(_CHECK, _unnamed(facts.filters, address.version))
    certain = [one for one in naming if one.certain]
    what, show = nft.culprit((certain or naming)[0])
    more = f', and {len(naming) - 1:d} more' if len(naming) > 1 else ''
    say = verdicts.broken if certain else verdicts.warn
    return say(_CHECK, f'{what} drops {"" if certain else "some "}packets of '
               f'{facts.subject.address}{more}',
               f'look at "{show}", and have its program except the address')


def _unnamed(found: filters.Found, version: int) -> str:
    closed = ', '.join(
        f'"{chain}"' for chain in found.closed
        if not chain.startswith(_OF_OTHERS[version]))
    return 'no rule in nftables drops by this address' + (
        f'; {closed} drops what its rules do not accept' if closed else '')
