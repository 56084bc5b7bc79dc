# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Networks of tenants behind a router whose gateway is here."""

import dataclasses
import enum

from ovn_network_agent.model import evpn_names
from ovn_network_agent.model.routers import GatewayPort


class Claim(enum.Enum):
    """How a router stands with a prefix that another router may have, too.

    SOLE: no other router has it.  FIRST: this one was alone with it when the
    other one came.  UNKNOWN: nobody knows who was first, because the agent has
    started since.  REFUSED: another one was first, or both came at once.
    """

    SOLE = 'sole'
    FIRST = 'first'
    UNKNOWN = 'unknown'
    REFUSED = 'refused'


@dataclasses.dataclass(frozen=True, slots=True)
class TenantPrefix:
    """A prefix of tenants that is announced with its own addresses.

    The whole subnet, one address of it (of a machine, or a virtual IP), or the
    prefix of an extra route.
    """

    # UUID of the Logical_Router row, and the name that a person knows.
    router: str
    called: str
    # '10.0.0.0/24', or '10.0.0.5/32' for one address.
    prefix: str
    # The prefix that it is a part of, itself if it is not one address.
    subnet: str
    # The name of the network that a person knows.
    network: str
    # The gateway port that packets go to, and its address in this family.
    port: GatewayPort
    via: str
    # Tag of the announced route in FRR, see ownership.TAGS; None for no tag.
    tag: int | None = None
    # Why the prefix is not announced on purpose, or ''.
    withheld: str = ''
    # The provider network that it overlaps with, or ''.
    claimed: str = ''
    # The other routers with overlapping prefixes, for messages.
    rivals: tuple[str, ...] = ()
    claim: Claim = Claim.SOLE
    # Whether it is the address of a virtual IP, and whether one that is
    # announced though its network is not.
    vip: bool = False
    alone: bool = False

    @property
    def address(self) -> str:
        """The prefix, or the address if it is one."""
        return (self.prefix if self.prefix == self.subnet
                else self.prefix.partition('/')[0])

    @property
    def subject(self) -> str:
        """What the resources that announce it are about."""
        return evpn_names.subject(self.port.domain, self.prefix)

    @property
    def place(self) -> GatewayPort:
        """What has the segment and the provider networks."""
        return self.port

    @property
    def announced(self) -> bool:
        """Whether it is announced, as far as OVN decides."""
        return not (self.withheld or self.claimed or
                    self.claim is Claim.REFUSED)
