# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""An address that this chassis answers for."""

import dataclasses

from ovn_network_agent.model import evpn_names
from ovn_network_agent.model.routers import GatewayPort

# NAT rows (dnat_and_snat, snat, dnat), the port, or a virtual IP.
KINDS = ('fip', 'snat', 'dnat', 'router', 'vip')


@dataclasses.dataclass(frozen=True, slots=True)
class ServedAddress:
    """One address of a router, and the port that answers for it here."""

    router: str  # UUID of the Logical_Router row
    called: str  # the name of the router that a person knows
    address: str
    # Of the router port, or external_mac of a distributed floating IP.
    mac: str
    port: GatewayPort  # with its segment and tag
    kinds: tuple[str, ...]  # some of KINDS, in this order
    # By this chassis; else by OVN's router, a machine's chassis or nobody.
    answered: bool = True
    # Whether this is a distributed floating IP of a machine on this chassis.
    resident: bool = False
    withheld: str = ''  # why the address is not announced on purpose, or ''
    # Why the gateway does not answer for the address of a load balancer.
    unanswered: str = ''

    @property
    def place(self) -> GatewayPort:
        """What has the segment and the provider networks."""
        return self.port

    @property
    def subject(self) -> str:
        """What the resources that announce it are about."""
        return evpn_names.subject_of_host(self.port.domain, self.address)

    @property
    def tag(self) -> int | None:
        """Tag of the announced route in FRR, None for no tag."""
        return self.port.tag
