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
    # Of the text, 32 hexadecimal digits; of a read table, that of the loaded
    # text, or 'altered' when the table differs from it.
    digest: str
    # nft.values.Table of the text; not part of the value, None in a table that
    # was read. This package is below nft, so does not import it.
    content: object = dataclasses.field(
        default=None, compare=False, repr=False)
    # Destinations of connections, sorted: (proto, VIP, port, destination, its
    # port); not part of the value.
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
