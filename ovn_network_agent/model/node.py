# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""This chassis, and what depends on the node alone."""

import dataclasses
import enum
import typing

from ovn_network_agent import ownership
from ovn_network_agent.common import bridges
from ovn_network_agent.common import ip_text
from ovn_network_agent.model import port_forwards


class Phase(enum.Enum):
    """The phase of the agent's life; part of the node."""

    RESTORING = 'restoring'
    RUNNING = 'running'
    DRAINING = 'draining'
    STOPPED = 'stopped'


ALL = 'all'  # in Node.drains: all routers


class Device(typing.NamedTuple):
    """A kernel network device."""

    name: str
    mac: str  # MAC address, lower case with colons, '' without one
    up: bool
    vrf_table: int = 0  # routing table of a VRF, else 0
    # Whether this VRF has a default route of IPv4; None when unknown.
    default_route: bool | None = None
    vlan: int = 0  # tag of a VLAN device (IEEE 802.1Q), else 0
    lower: str = ''  # the device below a VLAN device, else ''
    default_route6: bool | None = None  # likewise ``default_route``, of IPv6

    def has_default(self, version: int) -> bool | None:
        """Whether this VRF has a default route (4 or 6), None when unknown."""
        return {4: self.default_route, 6: self.default_route6}[version]


class Segment(typing.NamedTuple):
    """A provider segment: where a logical switch meets this node's network."""

    datapath: str  # UUID of the SB Datapath_Binding (the logical switch)
    localnet_port: str
    physical_network: str  # key of ovn-bridge-mappings
    vlan: int = 0  # 0 for a flat segment
    # Provider bridge of that network, '' without one on this node.
    bridge: str = ''
    device: str = ''  # kernel device of the segment, ``bridge`` or bridge.vlan
    # MAC of the device, also of a missing one, because a VLAN device gets its
    # bridge's; '' without the bridge.
    mac: str = ''
    # OpenFlow port towards br-int, 0 when not created (yet).
    patch_port: int = 0
    occupied: bool = False  # whether a device with this name is another one


@dataclasses.dataclass(frozen=True, slots=True)
class Relay:
    """A tunnel port of the agent between the bridges of two gateways."""

    bridge: str
    address: str  # IP address of the tunnels of the other chassis
    port: int  # OpenFlow port number
    # The other end answers (BFD, RFC 5880).  Not part of the value: else a
    # chassis' death would cost a computation of all routers during a takeover.
    alive: bool = dataclasses.field(default=False, compare=False)
    name: str = ''


@dataclasses.dataclass(frozen=True, slots=True)
class Link:
    """A device of this node that may have egress addresses."""

    name: str
    index: int  # ifindex
    # Routing table of its routes: the main table, or that of its VRF.
    table: int
    vrf: str = ''  # name of the VRF, '' in the default VRF
    # 'address/length' of other programs, sorted.
    addresses: tuple[str, ...] = ()
    # (destination, gateway or ''), sorted; only with egress addresses.
    routes: tuple[tuple[str, str], ...] = ()
    # Whether the link has more routes than the agent copies.
    crowded: bool = False

    def is_on(self, address: str) -> bool:
        """Whether a network of the link has an address, of another host."""
        ip = ip_text.address(address)
        own = [*map(ip_text.interface, self.addresses)]
        return all(ip != each.ip for each in own) and any(
            ip in each.network for each in own)


class Node(typing.NamedTuple):
    """This chassis: what depends on the node alone."""

    chassis: str  # external_ids:system-id
    hostname: str  # host name as in the SB Chassis row
    phase: Phase
    devices: tuple[Device, ...] = ()  # sorted by name
    # (physical network, bridge), sorted.
    bridge_mappings: tuple[tuple[str, str], ...] = ()
    relays: tuple[Relay, ...] = ()  # those that are present, sorted
    # The routers that an operator wants to be drained: UUIDs, or ALL.
    drains: frozenset[str] = frozenset()
    extent: port_forwards.Extent | None = None  # None without port forwards
    # Of the gateways to take over while this one serves; gateways.departure.
    overlap: tuple[str, ...] = ()
    # Whether an overlap is under way, or being undone.
    overlapping: bool = False
    # Names of other chassis with the same host name, sorted.
    namesakes: tuple[str, ...] = ()
    # Address that [evpn] local_device has or last had, '' while nobody knows.
    tunnel: str = ''
    # Only for a driver that asks for LINKS: sorted by name.
    links: tuple[Link, ...] = ()
    # Whether this node may have egress addresses of the mode "host".
    egress: bool = False

    @property
    def owner(self) -> ownership.Owner:
        """The mark that this chassis writes."""
        return ownership.Owner(self.hostname, self.chassis)

    @property
    def marks(self) -> frozenset[ownership.Owner]:
        """The marks of this chassis, none without a host name.

        A host name alone says nothing where others have it, too.
        """
        if not self.hostname:
            return frozenset()
        return frozenset((self.owner,) if self.namesakes else (
            self.owner, ownership.Owner(self.hostname)))

    def device(self, name: str) -> Device | None:
        """The device of that name, None without one."""
        return next((d for d in self.devices if d.name == name), None)


class Wiring(typing.NamedTuple):
    """The wiring of this node, and the wishes in the local database."""

    chassis: str = ''
    hostname: str = ''  # external_ids:hostname, or the name of the host
    mappings: tuple[tuple[str, str], ...] = ()  # (physical network, bridge)
    # (bridge, localnet port, OpenFlow port).
    patch_ports: tuple[tuple[str, str, int], ...] = ()
    devices: tuple[Device, ...] = ()
    drains: frozenset[str] = frozenset()
    problems: tuple[str, ...] = ()  # the malformed parts that are left out
    relays: tuple[Relay, ...] = ()
    overlapping: bool = False
    addresses: tuple[str, ...] = ()  # the tunnel addresses (ovn-encap-ip)
    # Ports that were here when SB lost this chassis' row, and are while no
    # chassis has them.
    held: frozenset[str] = frozenset()
    # See :class:`Node`; likewise the others.
    tunnel: str = ''
    links: tuple[Link, ...] = ()
    egress: bool = False

    def segment(self, datapath: str, localnet: str, network: str,
                vlan: int) -> Segment:
        """The segment of a localnet port on this node."""
        bridge = dict(self.mappings).get(network, '')
        device = bridges.segment_device(bridge, vlan)
        found = {d.name: d for d in self.devices
                 if bridge and d.name in (bridge, device)}
        occupied = device in found and vlan != 0 and (
            found[device].vlan, found[device].lower) != (vlan, bridge)
        shown = found.get(device, found.get(bridge))
        port = next((number for b, name, number in self.patch_ports
                     if (b, name) == (bridge, localnet)), 0)
        return Segment(datapath, localnet, network, vlan, bridge,
                       device if bridge else '', shown.mac if shown else '',
                       port, occupied)
