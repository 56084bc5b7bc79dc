# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A logical router, its ports, addresses and default routes."""

import dataclasses
import enum
import ipaddress
import typing

from ovn_network_agent import ownership
from ovn_network_agent.model.evpn_names import Vni
from ovn_network_agent.model.node import Segment


class Handover(enum.Enum):
    """The progress of the handover of a gateway port that has left.

    ANNOUNCE: until the new owner has the proof of its announcements.  FORWARD:
    withdrawn; the fabric's last packets are forwarded.
    """

    NONE = 'none'
    ANNOUNCE = 'announce'
    FORWARD = 'forward'


class Nat(typing.NamedTuple):
    """A NAT row of a router."""

    type: str  # 'snat', 'dnat' or 'dnat_and_snat'
    external_ip: str  # IP address, validated, canonical text
    logical_ip: str  # IP address or prefix
    # The external_mac of a distributed floating IP, '' for a centralised one.
    distributed_mac: str = ''
    # On this chassis, which then answers for the address.
    resident: bool = False
    # Logical_Router_Port that the row names, '' for that of the network.
    gateway_port: str = ''


class BalancedAddress(typing.NamedTuple):
    """A virtual IP of a load balancer of a router."""

    address: str  # IP address, canonical text
    # Of Neutron's port forwarding; else perhaps of a tenant.
    floating: bool = False
    # Why the router's gateway does not answer, '' when it does.
    unanswered: str = ''
    # Whether health checks say that no backend is online.
    without_backends: bool = False


class GatewayPort(typing.NamedTuple):
    """A router port with a gateway group."""

    lrp: str
    mac: str  # in lower case
    networks: tuple[str, ...]  # 'address/len', as in the row, valid ones only
    chassis: str  # name of the chassisredirect port's chassis, '' when unbound
    local: bool  # whether the port is on this chassis
    segment: Segment | None  # None when it cannot be resolved
    # Whether something has the address of this port's virtual gateway.
    nexthop_used: bool = False
    handover: Handover = Handover.NONE  # never with ``local``
    # OpenFlow port of the relay to the present or next owner, which gets these
    # packets, too; 0 without.
    relay: int = 0
    # Whether a distributed floating IP's machine is here; the port itself may
    # be anywhere.
    hosting: bool = False
    # Tag of routes in FRR, see ownership.TAGS; None for no tag.
    tag: int | None = None
    # None for the underlay; UUID of the network's row.
    vni: Vni | None = None
    network: str = ''

    @property
    def domain(self) -> int:
        """Where an address is unique: the VNI, 0 for the underlay."""
        return self.vni.number if self.vni else 0

    @property
    def announced(self) -> bool:
        """Whether its addresses can be anywhere; not with a wrong VNI."""
        return not (self.vni and self.vni.problem)

    @property
    def served(self) -> bool:
        """Whether this chassis forwards for it: active here or in handover."""
        return self.local or self.handover is not Handover.NONE


class NbDefaultRoute(typing.NamedTuple):
    """A default route in NB, or an agent's for a part of an IPv6 network.

    From the main table, dst-ip.
    """

    nexthop: str
    output_port: str  # name of the router port, or ''
    managed: bool  # whether the route has the agent's mark
    # The chassis in the agent's mark, empty when not managed.
    owner: ownership.Owner = ownership.Owner()
    # Host name of the chassis with the proof of announcing, or ''.
    advertised: str = ''
    # '0.0.0.0/0', '::/0', or the prefix of another route.
    prefix: str = '0.0.0.0/0'


@dataclasses.dataclass(frozen=True, slots=True)
class Router:
    """A logical router with a gateway port, or a managed route, from here."""

    uuid: str  # UUID of the Logical_Router row
    name: str  # name of the row; Neutron writes neutron-<Neutron's UUID>
    ports: tuple[GatewayPort, ...] = ()  # sorted by name
    default_routes: tuple[NbDefaultRoute, ...] = ()
    problems: tuple[str, ...] = ()  # rows left out because they are malformed
    label: str = ''  # name of the router in Neutron, '' without one
    # OVN routes it, so the agent does not; without a local port then.
    routed_by_ovn: bool = False
    # Networks that rows of SNAT translate.
    tenants: frozenset[ipaddress.IPv4Network] = frozenset()
    distributed: bool = False  # whether it has distributed floating IPs

    @property
    def called(self) -> str:
        """The name that a person knows: Neutron's, else that of the row."""
        return self.label or self.name

    @property
    def both_names(self) -> str:
        """The name that a person knows, and that of the row."""
        return (f'{self.label} ({self.name})' if self.label
                else self.name)

    @property
    def local_ports(self) -> tuple[GatewayPort, ...]:
        """The gateway ports that are active on this chassis."""
        return () if self.routed_by_ovn else tuple(
            p for p in self.ports if p.local)

    @property
    def served_ports(self) -> tuple[GatewayPort, ...]:
        """The gateway ports that are active here, or in handover from here."""
        return () if self.routed_by_ovn else tuple(
            p for p in self.ports if p.served)

    @property
    def hosting_ports(self) -> tuple[GatewayPort, ...]:
        """The gateway ports with distributed floating IPs on this chassis."""
        return () if self.routed_by_ovn else tuple(
            p for p in self.ports if p.hosting)

    @property
    def used_ports(self) -> tuple[GatewayPort, ...]:
        """The gateway ports whose packets pass this chassis."""
        return () if self.routed_by_ovn else tuple(
            p for p in self.ports if p.served or p.hosting)
