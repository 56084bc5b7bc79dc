# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""An address, its kind, and what has to exist for it on this node.  Pure.

The drivers of the agent say that, from present rows and the configuration.  So
a diagnosis needs no agent, and has no second opinion of what it wants.
"""

from collections.abc import Iterable
from collections.abc import Sequence
import enum
import typing

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.common import ip_text
from ovn_network_agent.common import networks
from ovn_network_agent.diagnosis.address import ports
from ovn_network_agent.drivers import base
from ovn_network_agent.drivers.common import announcing
from ovn_network_agent.model import evpn_names
from ovn_network_agent.model import port_forwards
from ovn_network_agent.ovn.chassis import own_chassis

_Resource = typing.TypeVar('_Resource', bound=resources.Resource)
_Part = typing.TypeVar('_Part')
# In the class, the name is that of the field.


class Claim(typing.NamedTuple):
    """A router that has an address."""

    kind: str  # what the address is there
    names: str  # the names of the router, for people
    router: str  # name of its row of Logical_Router
    type: str = ''  # type of the NAT row, '' without one
    # Inner address or prefix of the NAT row, '' without one.
    logical_ip: str = ''
    port: str = ''  # logical_port of the NAT row, '' for none
    # Host name of the chassis with the gateway port, '' for none.
    owner: str = ''

    @property
    def portless(self) -> bool:
        """Whether the row is a floating IP, and names no port."""
        return self.type == 'dnat_and_snat' and not self.port

    def text(self) -> str:
        """The claim for people."""
        parts = [f'{self.kind} of {self.names}']
        if self.logical_ip:
            parts.append(f'to {self.logical_ip}')
        if self.port:
            parts.append(f'port {self.port}')
        elif self.portless:
            parts.append('no port')
        parts.append(f'on {self.owner}' if self.owner else 'on no chassis')
        return ', '.join(parts)

    def removal(self, address: str) -> str:
        """The command that removes the NAT row."""
        # A row of SNAT is known by its inner prefix.
        key = address if self.type != 'snat' else self.logical_ip
        return f'ovn-nbctl lr-nat-del {self.router} {self.type} {key}'


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


class Machine(typing.NamedTuple):
    """The virtual machine of a floating IP."""

    nat: str  # UUID of the NAT row
    mac: str  # external_mac of the row, '' unless it is distributed
    port: str  # name of the logical port
    host: str = ''  # host name of the chassis that has the port, '' for none
    chassis: str = ''  # name of that chassis


class Subject(typing.NamedTuple):
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
    claims: tuple[Claim, ...] = ()
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


def wanting(about: Subject, drivers: Sequence[base.Driver],
            owner: str, *of_drivers: object) -> Subject:
    """A subject with what drivers want; owner: UUID of router or network."""
    wanted = _answers(drivers, certain(about.node), *of_drivers,
                      *(each for each in (about.provider,) if each))
    return about._replace(
        wanted=tuple(each for each in wanted
                     if concerns(each, about.address, about.prefix)),
        problems=_problems(wanted, about.address, owner),
        kept=any(isinstance(each, resources.Keep) and
                 about.prefix in each.of.key for each in wanted))


def without_ovn(address: str, device: str, node: model.Node,
                drivers: Sequence[base.Driver]) -> Subject:
    """The objects that an address needs, without those that only OVN knows.

    This is for a moment at which OVN cannot be asked.
    """
    mac = next((each.mac for each in node.devices if each.name == device), '')
    segment = model.Segment('', '', '', 0, device, device, mac)
    prefix = networks.host_prefix(address)
    wanted = [each for each in _answers(drivers, node, node)
              if concerns(each, address)]
    for driver in drivers:
        settings = driver.settings
        if driver.name in ('fip_route', 'provider_port'):
            wanted += [resources.KernelRoute(
                settings.fip_route.route_table_id or resources.MAIN_TABLE,
                prefix, device)] if settings.frr.vrf_name else []
            announced = announcing.announcement(settings, node, prefix, device)
            wanted += [announced] if announced else []
            break
    return Subject(
        address, Kind.HANDLED, node,
        port=model.GatewayPort('', '', (), '', True, segment),
        wanted=tuple(wanted))


def of_vip(vip: port_forwards.Vip, node: model.Node, gateway: bool | None,
           drivers: Sequence[base.Driver]) -> Subject:
    """The objects that a VIP in its present state needs."""
    forwards = port_forwards.Forwards((vip,), gateway)
    wanted = _answers(drivers, node, forwards)
    way = [each for each in _answers(drivers, node, node)
           if concerns(each, vip.address)]
    return Subject(
        vip.address, Kind.VIP, node, vip=vip,
        wanted=tuple(dict.fromkeys(
            each for each in (*wanted, *way)
            if each.kind not in (resources.Problem.kind,
                                 resources.Keep.kind))),
        problems=tuple(each.text for each in wanted
                       if isinstance(each, resources.Problem)))


def _answers(drivers: Sequence[base.Driver], node: model.Node,
             *subjects: object) -> list[resources.Resource]:
    return [each for driver in drivers for subject in subjects
            if type(subject) in driver.SUBJECTS
            for each in driver.resources(subject, node)]


def _problems(wanted: Iterable[resources.Resource], address: str, owner: str
              ) -> tuple[str, ...]:
    """The problems of an address, those of this address alone first."""
    found = [each for each in wanted if isinstance(each, resources.Problem)
             and _mentions(each, address, owner)]
    return tuple(each.naming(each.addresses).text for each in sorted(
        found, key=lambda each: not each.addresses))


def _mentions(problem: resources.Problem, address: str, owner: str) -> bool:
    """Whether a problem is about an address, or about all of its owner."""
    if problem.addresses:
        return address in problem.addresses
    return problem.router in ('', owner)


def concerns(resource: typing.Any, address: str, prefix: str = '') -> bool:
    """Whether a wanted resource concerns the packets of an address.

    :param prefix: what is announced for it, '' for its host prefix
    """
    prefix = prefix or networks.host_prefix(address)
    family = networks.family(address)
    if resource.kind in (resources.Problem.kind, resources.Keep.kind):
        return False
    if resource.kind in (resources.Rule.kind, resources.VniRule.kind):
        return (resource.fwmark is None and _of_family(resource, family) and
                _covers(resource.src, address) and
                _covers(resource.dst, address))
    if resource.kind == resources.PrefixListEntry.kind:
        return _covers(resource.network, address)
    if resource.kind == resources.RouterAdvertisement.kind:
        return any(_covers(prefix, address) for prefix in resource.prefixes)
    if resource.kind == resources.Flow.kind:
        return resource.family == family and resource.dst in (
            None, prefix)
    if resource.kind in (resources.Address.kind, resources.Neighbour.kind,
                         resources.NeighbourProxy.kind):
        return networks.family(getattr(resource, 'dst', None) or
                               resource.address) == family
    if resource.subject:
        return evpn_names.prefix_of(resource.subject) == prefix
    if resource.kind == resources.KernelRoute.kind:
        return networks.family(resource.dst) == family
    return True


def _of_family(rule: resources.Rule, family: int) -> bool:
    """Whether the kernel has a rule in the list of a family."""
    prefix = rule.src or rule.dst
    return (networks.family(prefix) == family if prefix
            else bool(rule.ipv6) == (family == 6))


def _covers(prefix: str | None, address: str) -> bool:
    """Whether a prefix has an address in it; None has all."""
    if prefix is None:
        return True
    network, ip = ip_text.network(prefix), ip_text.address(address)
    return network.version == ip.version and ip in network
