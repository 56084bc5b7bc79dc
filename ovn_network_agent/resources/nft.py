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
    """Our nftables table of one family, but for the elements of its sets.

    :ivar family: 'ip' or 'ip6'
    :ivar digest: of the text that the table is rendered as, 32 hexadecimal
        digits; as it was read, of the text that the table was loaded from, or
        'altered' when it is not what was loaded
    :ivar content: :class:`nft.values.Table`: what the table is rendered from;
        not part of the value, and None as it was read
    :ivar targets: what connections are translated to, a sorted tuple of
        (proto, VIP, port, backend, its port); not part of the value
    """

    family: str
    digest: str
    content: object = dataclasses.field(
        default=None, compare=False, repr=False)
    targets: tuple = dataclasses.field(
        default=(), compare=False, repr=False)

    kind = 'nft_table'
    stage = base.Stage.TRANSLATION

    @property
    def key(self):
        return (self.family,)


@dataclasses.dataclass(frozen=True, slots=True)
class NftElement(base.Resource):
    """An element of a set of our table.

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
    def key(self):
        return (self.family, self.set, self.element)
