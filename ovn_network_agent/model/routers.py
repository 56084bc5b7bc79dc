# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A logical router, its ports, addresses and default routes."""

import dataclasses
import enum
import ipaddress

from ovn_network_agent import ownership
from ovn_network_agent.model.evpn import Vni
from ovn_network_agent.model.node import Segment


class Handover(enum.Enum):
    """The progress of the handover of a gateway port that has left.

    NONE: no handover is under way.  ANNOUNCE: this chassis goes on announcing
    and forwarding, until the new owner has the proof of its announcements.
    FORWARD: the addresses are withdrawn, and this chassis forwards the last
    packets of the fabric.
    """

    NONE = 'none'
    ANNOUNCE = 'announce'
    FORWARD = 'forward'


@dataclasses.dataclass(frozen=True, slots=True)
class Nat:
    """A NAT row of a router."""

    # 'snat', 'dnat' or 'dnat_and_snat'.
    type: str
    # IP address, validated, canonical text.
    external_ip: str
    # IP address or prefix.
    logical_ip: str
    # The external_mac of a distributed floating IP, '' for a centralised one.
    distributed_mac: str = ''
    # Whether the machine of a distributed floating IP is on this chassis,
    # which then answers for the address.
    resident: bool = False
    # Name of the Logical_Router_Port that the row names, '' for the port whose
    # network has the address.
    gateway_port: str = ''


@dataclasses.dataclass(frozen=True, slots=True)
class BalancedAddress:
    """A virtual IP of a load balancer of a router."""

    # IP address, canonical text.
    address: str
    # Whether the address is a floating IP with port forwarding of Neutron;
    # another address may be one of a tenant.
    floating: bool = False
    # The reason why the gateway of the router does not answer for the address,
    # '' when the gateway answers.
    unanswered: str = ''
    # Whether health checks say that no backend is online.
    without_backends: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class GatewayPort:
    """A router port with a gateway group."""

    lrp: str
    # In lower case.
    mac: str
    # 'address/len', as in the row, valid ones only.
    networks: tuple[str, ...]
    # Name of the chassis its chassisredirect port is bound to, '' when
    # unbound.
    chassis: str
    # Whether the port is on this chassis.
    local: bool
    # None when it cannot be resolved.
    segment: Segment | None
    # Whether a NAT row, load balancer or router port has the address that
    # would be the virtual gateway of this port.
    nexthop_used: bool = False
    # Never with ``local``.
    handover: Handover = Handover.NONE
    # OpenFlow port of the relay to the present or next owner, which gets the
    # packets of this port, too; 0 without a relay.
    relay: int = 0
    # Whether this chassis has the machine of a distributed floating IP of this
    # port; the port itself may be anywhere.
    hosting: bool = False
    # Tag of the announced routes of this port in FRR, see ownership.TAGS; None
    # for no tag.
    tag: int | None = None
    # The VNI of its provider network, None for a network of the underlay; and
    # the UUID of the row of that network.
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
        """Whether this chassis forwards what the port itself answers for.

        The port is active here, or its handover is under way.
        """
        return self.local or self.handover is not Handover.NONE


@dataclasses.dataclass(frozen=True, slots=True)
class NbDefaultRoute:
    """A route found on a router in NB (main table, dst-ip).

    A default route, or another route of an agent, for a part of a provider
    network of IPv6.
    """

    nexthop: str
    # Name of the router port, or ''.
    output_port: str
    # Whether the route has the agent's mark.
    managed: bool
    # The chassis in the agent's mark, empty when not managed.
    owner: ownership.Owner = ownership.Owner()
    # Host name of the chassis that has the proof of announcing the router's
    # addresses, '' without one.
    advertised: str = ''
    # '0.0.0.0/0', '::/0', or the prefix of another route.
    prefix: str = '0.0.0.0/0'


@dataclasses.dataclass(frozen=True, slots=True)
class Router:
    """A logical router that concerns this chassis.

    A gateway port of the router is bound here, or its managed default route
    still has the tag of this chassis.
    """

    # UUID of the Logical_Router row.
    uuid: str
    # Name of the row; Neutron writes neutron-<Neutron's UUID>.
    name: str
    # Sorted by name.
    ports: tuple[GatewayPort, ...] = ()
    default_routes: tuple[NbDefaultRoute, ...] = ()
    # Rows left out because they are malformed.
    problems: tuple[str, ...] = ()
    # Name of the router in Neutron, '' without one.
    label: str = ''
    # Whether OVN routes the router itself, so that the agent leaves the router
    # alone; it has no local port then.
    routed_by_ovn: bool = False
    # Networks that rows of SNAT translate.
    tenants: frozenset[ipaddress.IPv4Network] = frozenset()
    # Whether it has distributed floating IPs.
    distributed: bool = False

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
        """The gateway ports that this chassis forwards for.

        These are the ports that are active here, and the ports that have left
        and whose handover is under way.
        """
        return () if self.routed_by_ovn else tuple(
            p for p in self.ports if p.served)

    @property
    def hosting_ports(self) -> tuple[GatewayPort, ...]:
        """The gateway ports with distributed floating IPs on this chassis.
        """
        return () if self.routed_by_ovn else tuple(
            p for p in self.ports if p.hosting)

    @property
    def used_ports(self) -> tuple[GatewayPort, ...]:
        """The gateway ports whose packets pass this chassis."""
        return () if self.routed_by_ovn else tuple(
            p for p in self.ports if p.served or p.hosting)
