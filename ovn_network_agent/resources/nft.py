# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Objects of nftables: a table and its elements."""

import dataclasses

from ovn_network_agent.resources import base


@dataclasses.dataclass(frozen=True, slots=True)
class NftTable(base.Resource):
    """The agent's table of one family, but for the elements of its sets.

    :ivar family: 'ip' or 'ip6'
    :ivar digest: digest of the table's text, 32 hexadecimal digits.  A table
        that was read has the digest of the text that was loaded, or 'altered'
        when the table differs from that text
    :ivar content: :class:`nft.values.Table`, from which the text is made; not
        part of the value, and None in a table that was read.  This package
        does not import nft, which is above it
    :ivar targets: the destinations of connections, sorted: (proto, VIP, port,
        destination, its port); not part of the value
    """

    family: str
    digest: str
    content: object = dataclasses.field(
        default=None, compare=False, repr=False)
    targets: tuple[tuple[str, str, int, str, int], ...] = dataclasses.field(
        default=(), compare=False, repr=False)

    kind = 'nft_table'
    stage = base.Stage.TRANSLATION

    @property
    def key(self) -> tuple[str]:
        """(family,): one table in each family."""
        return (self.family,)


@dataclasses.dataclass(frozen=True, slots=True)
class NftElement(base.Resource):
    """An element of a set of the agent's table.

    :ivar family: 'ip' or 'ip6'
    :ivar set: name of the set
    :ivar element: as nft writes it: a network, an address, a device's name
    """

    family: str
    set: str
    element: str

    kind = 'nft_element'
    stage = base.Stage.TRANSLATION

    @property
    def key(self) -> tuple[str, str, str]:
        """(family, set, element): all of the element."""
        return (self.family, self.set, self.element)
