# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Objects of the node by which it translates to egress addresses."""

import dataclasses

from ovn_network_agent.resources import base
from ovn_network_agent.resources import kernel


@dataclasses.dataclass(frozen=True, slots=True)
class EgressTable(base.Resource):
    """The nftables table of one family, but for its elements."""

    # 'ip' or 'ip6'.
    family: str
    # Of its text, see nft.egress.digest.
    digest: str

    kind = 'egress_table'
    key_fields = ('family',)
    stage = base.Stage.GUARD


@dataclasses.dataclass(frozen=True, slots=True)
class EgressMachine(base.Resource):
    """A machine whose packets leave a link translated, or not at all."""

    # 'ip' or 'ip6'.
    family: str
    machine: str
    link: str

    kind = 'egress_machine'
    key_fields = ('family', 'machine', 'link')
    stage = base.Stage.GUARD


@dataclasses.dataclass(frozen=True, slots=True)
class EgressSource(base.Resource):
    """The egress address of a machine on a link."""

    # 'ip' or 'ip6'.
    family: str
    machine: str
    link: str
    address: str

    kind = 'egress_source'
    key_fields = ('family', 'machine', 'link')
    stage = base.Stage.TRANSLATION


@dataclasses.dataclass(frozen=True, slots=True)
class EgressHeld(base.Resource):
    """An egress address at which no program of this node answers.

    A packet of a connection that the kernel has not seen, as its gateway has
    just moved, would be answered with a reset.
    """

    # 'ip' or 'ip6'.
    family: str
    address: str

    kind = 'egress_held'
    key_fields = ('family', 'address')
    stage = base.Stage.GUARD


@dataclasses.dataclass(frozen=True, slots=True)
class EgressDrop(kernel.Rule):
    """Drops what a machine sends while there is no way.

    Like all that keeps packets in, it comes first and goes last.
    """

    kind = 'egress_drop'
    stage = base.Stage.GUARD


@dataclasses.dataclass(frozen=True, slots=True)
class EgressRoute(kernel.KernelRoute):
    """A copy of a link's route, or the way back to a machine, in own tables.
    """

    kind = 'egress_route'

    @property
    def subject(self) -> None:
        """None: nothing is announced."""
        return None


@dataclasses.dataclass(frozen=True, slots=True)
class EgressAddress(kernel.Address):
    """An egress address on a link, which the hosts there are told of."""

    kind = 'egress_address'


@dataclasses.dataclass(frozen=True, slots=True)
class EgressNetworks(base.Resource):
    """The addresses of this node's links with their networks, in NB."""

    # Name of this chassis.
    chassis: str
    # 'address/length', sorted.
    addresses: tuple[str, ...]
    # Chassis gone for good, with an entry; only found, never wanted.
    gone: tuple[str, ...] = ()

    kind = 'egress_networks'
    key_fields = ('chassis',)
    # The writer of rows may choose this node as soon as the entry is there.
    stage = base.Stage.LEAD
