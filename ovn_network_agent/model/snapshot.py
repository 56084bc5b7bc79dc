# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""One consistent view of the node, and the addresses in it."""

from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import enum
import itertools
import typing

from ovn_network_agent.model import evpn_names
from ovn_network_agent.model import port_forwards
from ovn_network_agent.model.evpn_names import Vni
from ovn_network_agent.model.gateways import GatewayGroup
from ovn_network_agent.model.intents import EgressHost
from ovn_network_agent.model.node import Node
from ovn_network_agent.model.node import Segment
from ovn_network_agent.model.routers import GatewayPort
from ovn_network_agent.model.routers import Router

# NAT rows (dnat_and_snat, snat, dnat), the port, or a virtual IP.
KINDS = ('fip', 'snat', 'dnat', 'router', 'vip')


class ServedAddress(typing.NamedTuple):
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


class ProviderNetwork(typing.NamedTuple):
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


class PortAddress(typing.NamedTuple):
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


class Claim(enum.Enum):
    """How a router stands with a prefix that another router may have, too.

    UNCONTESTED: no other has it.  FIRST: alone when the other came.  UNKNOWN:
    the agent has started since.  REFUSED: another was first, or both came at
    once.
    """

    UNCONTESTED = 'uncontested'
    FIRST = 'first'
    UNKNOWN = 'unknown'
    REFUSED = 'refused'


class TenantPrefix(typing.NamedTuple):
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
    claim: Claim = Claim.UNCONTESTED
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


@dataclasses.dataclass(frozen=True, slots=True)
class Snapshot:
    """One consistent view of the node and its part of OVN."""

    node: Node
    routers: tuple[Router, ...] = ()
    # Those that this chassis is a candidate of, active or not.
    groups: tuple[GatewayGroup, ...] = ()
    # The malformed parts of the local database that are left out.
    problems: tuple[str, ...] = ()
    forwards: port_forwards.Forwards | None = None  # None without a rules file
    # By UUID of the router, and address; unchanged ones stay the same.
    addresses: Mapping[str, Mapping[str, ServedAddress]] = dataclasses.field(
        default_factory=dict)
    # By UUID of the switch; unchanged ones stay the same.
    networks: Mapping[str, ProviderNetwork] = dataclasses.field(
        default_factory=dict)
    machines: Mapping[str, Mapping[str, PortAddress]] = dataclasses.field(
        default_factory=dict)
    # By UUID of the router, and prefix; unchanged ones stay the same.
    tenants: Mapping[str, Mapping[str, TenantPrefix]] = dataclasses.field(
        default_factory=dict)
    # By kind and name, each alone in a dict.
    subjects: Mapping[type, Mapping[str, Mapping[str, object]]] = (
        dataclasses.field(default_factory=dict))
    # Whether a source has not made a subject since the start of the agent.
    unmade: bool = False

    @property
    def translated_here(self) -> tuple[EgressHost, ...]:
        """The machines that this node translates to egress addresses."""
        return tuple(
            host for alone in self.subjects.get(EgressHost, {}).values()
            for host in alone.values() if isinstance(host, EgressHost) and
            host.chassis == self.node.chassis)

    def every_address(self) -> Iterator[ServedAddress | PortAddress]:
        """The addresses of routers, and those of machines."""
        for known in itertools.chain[Mapping[
                str, ServedAddress] | Mapping[str, PortAddress]](
                    self.addresses.values(), self.machines.values()):
            yield from known.values()
