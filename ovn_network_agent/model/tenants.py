# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Networks of tenants behind a router whose gateway is here."""

import dataclasses
import enum

from ovn_network_agent.model import evpn_names
from ovn_network_agent.model.routers import GatewayPort


class Claim(enum.Enum):
    """How a router stands with a prefix that another router may have, too.

    SOLE: no other has it.  FIRST: alone when the other came.  UNKNOWN: the
    agent has started since.  REFUSED: another was first, or both came at once.
    """

    SOLE = 'sole'
    FIRST = 'first'
    UNKNOWN = 'unknown'
    REFUSED = 'refused'


@dataclasses.dataclass(frozen=True, slots=True)
class TenantPrefix:
    """A tenants' prefix that is announced with its own addresses.

    A subnet, a machine's or virtual IP's address, or an extra route's prefix.
    """

    # UUID of the Logical_Router row, and the name that a person knows.
    router: str
    called: str
    prefix: str  # '10.0.0.0/24', or '10.0.0.5/32' for one address
    # The prefix that it is a part of, itself if it is not one address.
    subnet: str
    network: str  # the name of the network that a person knows
    # The gateway port that packets go to, and its address in this family.
    port: GatewayPort
    via: str
    # Tag of the announced route in FRR, see ownership.TAGS; None for no tag.
    tag: int | None = None
    withheld: str = ''  # why the prefix is not announced on purpose, or ''
    claimed: str = ''  # the provider network that it overlaps with, or ''
    # The other routers with overlapping prefixes, for messages.
    rivals: tuple[str, ...] = ()
    claim: Claim = Claim.SOLE
    # A virtual IP; and one announced though its network is not.
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
