# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""An address, its kind, and what has to exist for it on this node."""

import dataclasses
import enum

from ovn_network_agent import evpn_names
from ovn_network_agent import model
from ovn_network_agent import networks
from ovn_network_agent import port_forwards
from ovn_network_agent import resources
from ovn_network_agent.diagnosis.address import ports
from ovn_network_agent.ovn import own_chassis


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
    """The virtual machine of a floating IP.

    :ivar nat: UUID of the NAT row, text
    :ivar mac: external_mac of the row, '' unless it is distributed
    :ivar port: name of the logical port
    :ivar host: host name of the chassis that has the port, '' for none
    :ivar chassis: name of that chassis
    """

    nat: str
    mac: str
    port: str
    host: str = ''
    chassis: str = ''


@dataclasses.dataclass(frozen=True, slots=True)
class Subject:
    """An address, its owner, and what has to exist for it here.

    :ivar address: IP address in canonical notation
    :ivar kind: :class:`Kind`
    :ivar node: :class:`model.Node`, or None without OVN
    :ivar router: :class:`model.Router` that has the address, or None
    :ivar port: :class:`model.GatewayPort` that answers for it, or None
    :ivar nat: :class:`model.Nat` of the address, or None
    :ivar owner: host name of the chassis that has the port, or the machine of
        a distributed floating IP, '' for none
    :ivar claims: tuple of :class:`claims.Claim`, one for each router that has
        the address; empty without a router
    :ivar wanted: tuple of :class:`resources.Resource` that concern it
    :ivar problems: tuple of texts of the drivers about it
    :ivar kept: whether the drivers keep its objects as they are, in doubt
    :ivar vip: :class:`port_forwards.Vip`, or None
    :ivar machine: :class:`Machine` of a floating IP whose row names the port,
        or None
    :ivar withheld: why it is not announced on purpose, '' without a reason
    :ivar binding: :class:`ports.Port` of a machine that has it, or None
    :ivar also: tuple of :class:`ports.Port`, or of
        :class:`model.TenantPrefix`: the others that have it
    :ivar found: :class:`model.PortAddress` of a machine here, or None
    :ivar own: the chassis of this node
    :ivar tenant: :class:`model.TenantPrefix` that has the address, or None;
        also one that is not announced
    :ivar asked: the prefix that was asked for, which has the address; '' for
        the address alone
    :ivar provider: :class:`model.ProviderNetwork` of a gateway port here that
        is in a VNI, or None
    """

    address: str
    kind: Kind = Kind.NOBODY
    node: model.Node | None = None
    router: model.Router | None = None
    port: model.GatewayPort | None = None
    nat: model.Nat | None = None
    owner: str = ''
    claims: tuple = ()
    wanted: tuple = ()
    problems: tuple = ()
    kept: bool = False
    vip: port_forwards.Vip | None = None
    machine: Machine | None = None
    withheld: str = ''
    binding: ports.Port | None = None
    also: tuple = ()
    found: model.PortAddress | None = None
    own: own_chassis.OwnChassis = own_chassis.OwnChassis('')
    tenant: model.TenantPrefix | None = None
    asked: str = ''
    provider: model.ProviderNetwork | None = None

    @property
    def prefix(self):
        """The prefix that is announced for the address."""
        return (self.tenant.prefix if self.tenant
                else networks.host_prefix(self.address))

    @property
    def called(self):
        """The address or prefix that was asked for."""
        return self.asked or self.address

    @property
    def nexthop(self):
        """What packets to the address go to on the provider network."""
        return self.tenant.via if self.tenant else self.address

    @property
    def here(self):
        """Whether this node has to announce the address."""
        return self.vip is not None or self.found is not None or (
            self.nat.resident if self.kind is Kind.DISTRIBUTED else
            self.port is not None and self.port.local)

    @property
    def network(self):
        """The :class:`model.ProviderNetwork` of a machine or a VNI, or None.
        """
        return self.found.network if self.found else (
            self.binding.of if self.binding else self.provider)

    @property
    def vni(self):
        """The VNI that the address is in, 0 for none."""
        of = self.port or self.network
        return of.domain if of else 0

    @property
    def end(self):
        """The :class:`resources.VniPort` that it is behind, or None."""
        return next(iter(self.wanted_of(resources.VniPort)), None)

    @property
    def place(self):
        """What has the provider segment of the address, or None."""
        return self.found.network if self.found else self.port

    @property
    def segment(self):
        """The :class:`model.Segment` of the address, or None."""
        return self.place.segment if self.place else None

    @property
    def tag(self):
        """The tag of the announced route, or None."""
        of = self.found or self.tenant or self.port
        return of.tag if of else None

    @property
    def mac(self):
        """The MAC that answers for an address of OVN."""
        if self.binding is not None:
            return self.binding.mac
        return (self.nat.distributed_mac if self.nat else '') or self.port.mac

    @property
    def targets(self):
        """Where a VIP has to lead, see :attr:`nft.listing.Listed.targets`."""
        return frozenset(
            (rule.proto, self.vip.address, rule.port, each.address,
             rule.dest_port)
            for rule in self.vip.rules for each in rule.usable)

    @property
    def silent(self):
        """Whether nothing is to announce the address."""
        return self.announcement is None and not (
            self.vip is not None and self.vip.present)

    def wanted_of(self, *kinds):
        """The wanted resources of some classes, a tuple."""
        return tuple(each for each in self.wanted if type(each) in kinds)

    @property
    def announcement(self):
        """The resource that announces the address, or None."""
        return next((each for each in self.wanted_of(
            resources.Announcement, resources.AnnouncedRoute,
            resources.VniRoute, resources.VipAddress)
            if evpn_names.prefix_of(each.subject) == self.prefix), None)
