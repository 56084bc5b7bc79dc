# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""An address, its kind, and what has to exist for it on this node."""

import dataclasses
import enum
import typing

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.common import networks
from ovn_network_agent.diagnosis.address import claims
from ovn_network_agent.diagnosis.address import ports
from ovn_network_agent.model import evpn_names
from ovn_network_agent.model import port_forwards
from ovn_network_agent.ovn.chassis import own_chassis

_Resource = typing.TypeVar('_Resource', bound=resources.Resource)
_Part = typing.TypeVar('_Part')
# In the class, the name is that of the field.
_Claims: typing.TypeAlias = tuple[claims.Claim, ...]


def certain(part: _Part | None) -> _Part:
    """A part that a subject of this kind has; ValueError without it."""
    if part is None:
        raise ValueError('the address has no such part')
    return part


class Kind(enum.Enum):
    """The kind of an address."""

    FIP = 'floating IP'
    DISTRIBUTED = 'distributed floating IP'
    SNAT = 'SNAT address'
    ROUTER = 'router address'
    BALANCER = 'load balancer address'
    VIP = 'VIP'
    MACHINE = 'address of a machine'
    TENANT = 'network of a tenant'
    HANDLED = 'address that the agent handles'
    NOBODY = 'unknown address'


@dataclasses.dataclass(frozen=True, slots=True)
class Machine:
    """The virtual machine of a floating IP."""

    nat: str  # UUID of the NAT row
    mac: str  # external_mac of the row, '' unless it is distributed
    port: str  # name of the logical port
    host: str = ''  # host name of the chassis that has the port, '' for none
    chassis: str = ''  # name of that chassis


@dataclasses.dataclass(frozen=True, slots=True)
class Subject:
    """An address, its owner, and what has to exist for it here."""

    address: str  # IP address in canonical notation
    kind: Kind = Kind.NOBODY
    node: model.Node | None = None  # None without OVN
    router: model.Router | None = None
    port: model.GatewayPort | None = None  # that answers for it
    nat: model.Nat | None = None
    # Host name of the chassis with the port or the machine, '' for none.
    owner: str = ''
    # One for each router that has the address; empty without a router.
    claims: _Claims = ()
    wanted: tuple[resources.Resource, ...] = ()  # that concern it
    problems: tuple[str, ...] = ()  # texts of the drivers about it
    # Whether the drivers keep its objects as they are, in doubt.
    kept: bool = False
    vip: port_forwards.Vip | None = None
    # Of a floating IP whose row names the port.
    machine: Machine | None = None
    # Why it is not announced on purpose, '' without a reason.
    withheld: str = ''
    binding: ports.Port | None = None  # of a machine that has it
    # The others that have it, all ports or all prefixes of tenants.
    also: tuple[ports.Port | model.TenantPrefix, ...] = ()
    found: model.PortAddress | None = None  # of a machine here
    own: own_chassis.OwnChassis = own_chassis.OwnChassis('')
    # Of the address; also one that is not announced.
    tenant: model.TenantPrefix | None = None
    # The prefix that was asked for, '' for the address alone.
    asked: str = ''
    # Of a gateway port here that is in a VNI.
    provider: model.ProviderNetwork | None = None

    @property
    def prefix(self) -> str:
        """The prefix that is announced for the address."""
        return (self.tenant.prefix if self.tenant
                else networks.host_prefix(self.address))

    @property
    def called(self) -> str:
        """The address or prefix that was asked for."""
        return self.asked or self.address

    @property
    def nexthop(self) -> str:
        """What packets to the address go to on the provider network."""
        return self.tenant.via if self.tenant else self.address

    @property
    def here(self) -> bool:
        """Whether this node has to announce the address."""
        return self.vip is not None or self.found is not None or (
            self.nat is not None and self.nat.resident
            if self.kind is Kind.DISTRIBUTED else
            self.port is not None and self.port.local)

    @property
    def network(self) -> model.ProviderNetwork | None:
        """The provider network of a machine or a VNI."""
        return self.found.network if self.found else (
            self.binding.of if self.binding else self.provider)

    @property
    def vni(self) -> int:
        """The VNI that the address is in, 0 for none."""
        of = self.port or self.network
        return of.domain if of else 0

    @property
    def end(self) -> resources.VniPort | None:
        """The :class:`resources.VniPort` that it is behind, or None."""
        return next(iter(self.wanted_of(resources.VniPort)), None)

    @property
    def place(self) -> model.ProviderNetwork | model.GatewayPort | None:
        """What has the provider segment of the address, or None."""
        return self.found.network if self.found else self.port

    @property
    def segment(self) -> model.Segment | None:
        """The provider segment of the address."""
        return self.place.segment if self.place else None

    @property
    def tag(self) -> int | None:
        """The tag of the announced route, or None."""
        of = self.found or self.tenant or self.port
        return of.tag if of else None

    @property
    def mac(self) -> str:
        """The MAC that answers for an address of OVN."""
        if self.binding is not None:
            return self.binding.mac
        return (self.nat.distributed_mac if self.nat else '') or (
            self.port.mac if self.port else '')

    @property
    def targets(self) -> frozenset[tuple[str, str, int, str, int]]:
        """Where a VIP has to lead, see :attr:`nft.listing.Listed.targets`."""
        vip = certain(self.vip)
        return frozenset(
            (rule.proto, vip.address, rule.port, each.address,
             rule.dest_port)
            for rule in vip.rules for each in rule.usable)

    @property
    def silent(self) -> bool:
        """Whether nothing is to announce the address."""
        return self.announcement is None and not (
            self.vip is not None and self.vip.present)

    def wanted_of(self, *kinds: type[_Resource]) -> tuple[_Resource, ...]:
        """The wanted resources of some classes."""
        # A subclass is another kind.
        return tuple(each for each in self.wanted
                     if isinstance(each, kinds) and type(each) in kinds)

    @property
    def announcement(self) -> resources.Resource | None:
        """The resource that announces the address, or None."""
        return next((each for each in self.wanted_of(
            resources.Announcement, resources.AnnouncedRoute,
            resources.VniRoute, resources.VipAddress)
            if evpn_names.prefix_of(each.subject or '') == self.prefix), None)
