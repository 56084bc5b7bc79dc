# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Notifications of nftables: linux/netfilter/nf_tables.h."""

from pyroute2.netlink import nfnetlink

from ovn_network_agent.netlink import messages

# In messages of all kinds of objects, attribute 1 is the name of the table:
# NFTA_TABLE_NAME, NFTA_CHAIN_TABLE, NFTA_RULE_TABLE, NFTA_SET_TABLE, ...
_MESSAGE = messages.narrow(nfnetlink.nfgen_msg, (1, 'table', 'asciiz'))


def table(kind: int, data: bytes, start: int, end: int) -> str | None:
    """The name of the table that a notification is about."""
    if kind >> 8 != nfnetlink.NFNL_SUBSYS_NFTABLES:
        return None
    return messages.attributes(
        messages.decode(_MESSAGE, data, start, end)).get('table')
