# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Machines on provider networks that this chassis has."""

import dataclasses

from ovn_network_agent.model import evpn_names
from ovn_network_agent.model.evpn import Vni
from ovn_network_agent.model.node import Segment


@dataclasses.dataclass(frozen=True, slots=True)
class ProviderNetwork:
    """A logical switch with a localnet port, and with machines here."""

    # UUID of the Logical_Switch row, and the name that a person knows.
    uuid: str
    called: str
    # 'address/len', valid ones only: the subnets, as far as OVN has them.
    networks: tuple[str, ...]
    segment: Segment | None  # None while it is unknown
    # Addresses of router ports on the network, sorted.
    routers: tuple[str, ...] = ()
    # IPv6 addresses of routers whose gateway is elsewhere, sorted: OVN here
    # answers no machine for them.
    elsewhere: tuple[str, ...] = ()
    # Whether a router of OVN sends router advertisements there.
    advertised: bool = False
    # Whether DHCPv6 has addresses, and whether only other settings.
    managed: bool = False
    other: bool = False
    named: bool = False  # whether an option names the network
    vni: Vni | None = None  # None for a network of the underlay
    # IPv4 addresses that the node has as gateway of a VNI's network, sorted.
    gateways: tuple[str, ...] = ()

    @property
    def domain(self) -> int:
        """Where an address has one machine: the VNI, 0 for the underlay."""
        return self.vni.number if self.vni else 0


@dataclasses.dataclass(frozen=True, slots=True)
class PortAddress:
    """One address of a machine on a provider network, announced from here."""

    network: ProviderNetwork
    port: str  # name of the Logical_Switch_Port
    address: str  # IP address, canonical text
    mac: str  # in lower case
    # Tag of the announced route in FRR, see ownership.TAGS; None for no tag.
    tag: int | None = None
    withheld: str = ''  # why the address is not announced on purpose, or ''
    claimed: str = ''  # who else has the address in OVN and comes first, or ''
    bound: bool = True  # else it is the target of a live migration
    # Whether flows are there or the machine runs at the target; else only an
    # announcement that is there stays.
    announced: bool = True

    @property
    def subject(self) -> str:
        """What its resources are about."""
        return evpn_names.subject_of_host(self.network.domain, self.address)

    @property
    def place(self) -> ProviderNetwork:
        """What has the segment and the provider networks."""
        return self.network
