# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""The kind of an address, and the objects for it on this node.  Pure.

The drivers of the agent say what has to exist, from rows of OVN that were
read just now and from the configuration.  So a diagnosis needs no agent, and
has no second opinion of what the agent wants.
"""

import dataclasses
import enum

from ovn_network_agent import evpn_names
from ovn_network_agent import iptext
from ovn_network_agent import model
from ovn_network_agent import networks
from ovn_network_agent import port_forwards
from ovn_network_agent import resources
from ovn_network_agent.diagnosis.address import claims
from ovn_network_agent.diagnosis.address import ports
from ovn_network_agent.drivers import announcing
from ovn_network_agent.ovn import directory
from ovn_network_agent.ovn import own_chassis
from ovn_network_agent.ovn import rows
from ovn_network_agent.ovsdb import columns


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


def make(address, builder, nb, sb, wiring, drivers):
    """Find what an address is in OVN, and what has to exist for it.

    :param address: IP address in canonical notation
    :param builder: new :class:`ovn.snapshot.Builder`
    :param nb: rows of NB, see :mod:`readers.northbound`
    :param sb: rows of SB, see :mod:`readers.southbound`
    :param wiring: :class:`model.wiring.Wiring`
    :param drivers: list of :class:`drivers.base.Driver`
    :returns: list of :class:`Subject`: that outside of VNIs, of kind NOBODY if
        no router has the address there, and those in VNIs
    """
    seen = view(builder, nb, sb, wiring)
    found = [(router, *_place_in(
        address, router, builder.addresses(router.uuid).sources(address)))
             for router in seen.routers]
    found = [each for each in found if each[1] is not Kind.NOBODY]
    places = {0: []}
    for each in found:
        places.setdefault(each[3].domain if each[3] else 0, []).append(each)
    return [_of_routers(address, builder, nb, sb, drivers, seen, each)
            for _vni, each in sorted(places.items())]


def _of_routers(address, builder, nb, sb, drivers, seen, found):
    """The :class:`Subject` of the routers with an address in one VNI.

    :param found: list of (router, kind, NAT row, gateway port)
    """
    if not found:
        return Subject(address, node=seen.node)
    # A router whose port is here comes first: it is asked for on this node.
    found.sort(key=lambda each: not (each[3] and each[3].local or
                                     each[2] and each[2].resident))
    router, kind, nat, port = found[0]
    machine = _machine(address, nb, sb) if (
        kind in (Kind.DISTRIBUTED, Kind.FIP)) else None
    served = [each for each in seen.addresses[router.uuid].values()
              if each.address == address and each.port.domain == (
                  port.domain if port else 0)]
    withheld = next((each.withheld for each in served if each.withheld), (
        builder.addresses(router.uuid).objection(
            address, port.lrp if port else '')))
    return wanting(Subject(
        address, kind, seen.node, router, port, nat,
        machine.host if machine and machine.mac else
        hostname(sb, port.chassis) if port else '',
        tuple(_claim(nb, sb, *each) for each in found),
        machine=machine, own=builder.own, withheld=withheld,
        provider=provider(seen, port)),
        drivers, router.uuid, seen.node, router, *served)


def provider(seen, port):
    """The network of a gateway port in a VNI, None without one here.

    :param seen: :class:`model.Snapshot`
    :param port: :class:`model.GatewayPort`, or None
    """
    return seen.networks.get(port.network) if port and port.vni else None


def view(builder, nb, sb, wiring):
    """The view of all routers in some rows, see :func:`make`."""
    return builder.complete(builder.build(
        nb, sb, wiring, {}, model.Phase.RUNNING, full=True,
        also=frozenset(map(str, nb['Logical_Router']))))


def wanting(about, drivers, owner, *subjects):
    """A subject with what drivers want for its address.

    :param about: :class:`Subject`
    :param drivers: list of :class:`drivers.base.Driver`
    :param owner: UUID of the router or network of the address
    :param subjects: those of the drivers that concern the address
    """
    wanted = _answers(drivers, about.node, *subjects,
                      *(each for each in (about.provider,) if each))
    return dataclasses.replace(
        about, wanted=tuple(each for each in wanted
                            if concerns(each, about.address, about.prefix)),
        problems=_problems(wanted, about.address, owner),
        kept=any(each.kind == resources.Keep.kind and
                 about.prefix in each.of.key for each in wanted))


def floating(address, nb):
    """The NAT row of a floating IP that names the machine's port, or None.

    :param address: IP address in canonical notation
    :param nb: rows of NB, see :mod:`readers.northbound`
    """
    found = [row for row in nb.get('NAT', {}).values()
             if row.external_ip == address and
             columns.optional(row, 'logical_port')]
    return min(found, default=None, key=lambda row: not columns.optional(
        row, 'external_mac'))


def without_ovn(address, device, node, drivers):
    """The objects that an address needs when the agent handles it here.

    This is for a moment at which OVN cannot be asked: what only OVN knows,
    such as the network of the address, is left out.

    :param address: IP address in canonical notation
    :param device: name of the provider bridge
    :param node: :class:`model.Node` with its devices
    :param drivers: list of :class:`drivers.base.Driver`
    :returns: :class:`Subject`
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
            wanted.append(announcing.announcement(settings, node, prefix,
                                                  device))
            break
    return Subject(
        address, Kind.HANDLED, node,
        port=model.GatewayPort('', '', (), '', True, segment),
        wanted=tuple(each for each in wanted if each is not None))


def of_vip(vip, node, gateway, drivers):
    """The objects that a VIP needs.

    :param vip: :class:`port_forwards.Vip` with its present state
    :param node: :class:`model.Node`
    :param gateway: see :attr:`port_forwards.Forwards.gateway`
    :param drivers: list of :class:`drivers.base.Driver`
    :returns: :class:`Subject`
    """
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
                       if each.kind == resources.Problem.kind))


def _place_in(address, router, sources):
    """(kind, NAT row or None, gateway port or None) of an address."""
    port = next((port for port in router.ports for text in port.networks
                 if str(networks.parse_interface(text).ip) == address), None)
    nats = sources.nats
    if nats:
        nat = min(nats, key=lambda each: each.type != 'dnat_and_snat')
        kind = Kind.SNAT if nat.type == 'snat' else (
            Kind.DISTRIBUTED if nat.distributed_mac else Kind.FIP)
        return kind, nat, networks.owner_of(nat, router.ports)
    if port is not None:
        return Kind.ROUTER, None, port
    if sources.balanced is not None:
        return Kind.BALANCER, None, (
            networks.owner(address, router.ports) if router.ports else None)
    return Kind.NOBODY, None, None


def _claim(nb, sb, router, kind, nat, port):
    """The :class:`claims.Claim` of one router."""
    owner = hostname(sb, port.chassis) if port else ''
    if nat is None:
        return claims.Claim(kind.value, router.both_names, router.name,
                            owner=owner)
    row = next((each for key, each in nb['Logical_Router'].items()
                if str(key) == router.uuid), None)
    names = [columns.optional(each, 'logical_port')
             for each in (row.nat if row else ())
             if (each.type, each.external_ip, each.logical_ip) == (
                 nat.type, nat.external_ip, nat.logical_ip)]
    return claims.Claim(kind.value, router.both_names, router.name, nat.type,
                        nat.logical_ip, next(filter(None, names), ''), owner)


def _machine(address, nb, sb):
    """The :class:`Machine` of an address, or None."""
    row = floating(address, nb)
    if row is None:
        return None
    port = columns.optional(row, 'logical_port')
    chassis = next((rows.chassis_name(binding)
                    for binding in sb['Port_Binding'].values()
                    if binding.logical_port == port), '')
    return Machine(str(row.uuid), columns.optional(row, 'external_mac') or '',
                   port, hostname(sb, chassis), chassis)


def hostname(sb, chassis):
    """The host name of a chassis, its name if it is gone."""
    return directory.hostnames(sb).get(chassis) or chassis


def _answers(drivers, node, *subjects):
    """What drivers want for some subjects, a list."""
    return [each for driver in drivers for subject in subjects
            if type(subject) in driver.SUBJECTS
            for each in driver.resources(subject, node)]


def _problems(wanted, address, owner):
    """The problems of an address, those of this address alone first."""
    found = [each for each in wanted if each.kind == resources.Problem.kind
             and _mentions(each, address, owner)]
    return tuple(each.naming(each.addresses).text for each in sorted(
        found, key=lambda each: not each.addresses))


def _mentions(problem, address, owner):
    """Whether a problem is about an address, or about all of its owner."""
    if problem.addresses:
        return address in problem.addresses
    return problem.router in ('', owner)


def concerns(resource, address, prefix=''):
    """Whether a wanted resource concerns the packets of an address.

    :param resource: :class:`resources.Resource`
    :param address: IP address
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
        return _covered(resource.prefixes, address)
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


def _of_family(rule, family):
    """Whether the kernel has a rule in the list of a family.

    :param rule: :class:`resources.Rule`
    :param family: 4 or 6
    """
    prefix = rule.src or rule.dst
    return (networks.family(prefix) == family if prefix
            else bool(rule.ipv6) == (family == 6))


def _covered(prefixes, address):
    return any(_covers(prefix, address) for prefix in prefixes)


def _covers(prefix, address):
    """Whether a prefix has an address in it; None has all."""
    if prefix is None:
        return True
    network, ip = iptext.network(prefix), iptext.address(address)
    return network.version == ip.version and ip in network
