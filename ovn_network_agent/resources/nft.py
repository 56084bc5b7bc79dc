# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Objects of nftables: a table and its elements."""

import dataclasses

from ovn_network_agent.resources import base


@dataclasses.dataclass(frozen=True, slots=True)
class NftTable(base.Resource):
    """The agent's table of one family, but for the elements of its sets."""

    # 'ip' or 'ip6'.
    family: str
    # Digest of the table's text, 32 hexadecimal digits.  A table that was read
    # has the digest of the text that was loaded, or 'altered' when the table
    # differs from that text.
    digest: str
    # nft.values.Table, from which the text is made; not part of the value, and
    # None in a table that was read.  This package does not import nft, which
    # is above it.
    content: object = dataclasses.field(
        default=None, compare=False, repr=False)
    # The destinations of connections, sorted: (proto, VIP, port, destination,
    # its port); not part of the value.
    targets: tuple[tuple[str, str, int, str, int], ...] = dataclasses.field(
        default=(), compare=False, repr=False)

    kind = 'nft_table'
    key_fields = ('family',)
    stage = base.Stage.TRANSLATION


@dataclasses.dataclass(frozen=True, slots=True)
class NftElement(base.Resource):
    """An element of a set of the agent's table."""

    # 'ip' or 'ip6'.
    family: str
    set: str
    # As nft writes it: a network, an address, a device's name.
    element: str

    kind = 'nft_element'
    key_fields = ('family', 'set', 'element')
    stage = base.Stage.TRANSLATION
