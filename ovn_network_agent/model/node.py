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

"""This chassis, and what depends on the node alone."""

import dataclasses
import enum

from ovn_network_agent import ownership
from ovn_network_agent import port_forwards


class Phase(enum.Enum):
    """The phase of the agent's life; part of the node."""

    RESTORING = 'restoring'
    RUNNING = 'running'
    DRAINING = 'draining'
    STOPPED = 'stopped'


# In Node.drains: all routers.
ALL = 'all'


@dataclasses.dataclass(frozen=True, slots=True)
class Device:
    """A kernel network device.

    :ivar mac: MAC address, lower case with colons, '' without one
    :ivar up: administratively up
    :ivar vrf_table: routing table of a VRF, else 0
    :ivar default_route: whether this VRF has a default route of IPv4; None
        for another device, and when nobody knows
    :ivar vlan: tag of a VLAN device (IEEE 802.1Q), else 0
    :ivar lower: name of the device below a VLAN device, else ''
    :ivar default_route6: likewise ``default_route``, of IPv6
    """

    name: str
    mac: str
    up: bool
    vrf_table: int = 0
    default_route: bool | None = None
    vlan: int = 0
    lower: str = ''
    default_route6: bool | None = None

    def has_default(self, version: int) -> bool | None:
        """Whether this VRF has a default route, None when nobody knows.

        :param version: 4 or 6
        """
        return {4: self.default_route, 6: self.default_route6}[version]


@dataclasses.dataclass(frozen=True, slots=True)
class Segment:
    """A provider segment: where a logical switch meets this node's network.

    :ivar datapath: UUID of the SB Datapath_Binding (the logical switch)
    :ivar localnet_port: name of the localnet logical port
    :ivar physical_network: its network_name, key of ovn-bridge-mappings
    :ivar vlan: VLAN tag, 0 for a flat segment
    :ivar bridge: provider bridge of that network, '' without one on this node
    :ivar device: kernel device of the segment, ``bridge`` or bridge.vlan
    :ivar mac: MAC of the device.  A VLAN device gets the MAC of its bridge, so
        this is the MAC of a missing one, too; '' without the bridge
    :ivar occupied: whether a device with this name is another one
    :ivar patch_port: OpenFlow port of the patch port towards br-int, 0 when
        ovn-controller has not created it (yet)
    """

    datapath: str
    localnet_port: str
    physical_network: str
    vlan: int = 0
    bridge: str = ''
    device: str = ''
    mac: str = ''
    patch_port: int = 0
    occupied: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Relay:
    """A tunnel port of the agent between the bridges of two gateways.

    :ivar bridge: provider bridge
    :ivar address: IP address of the tunnels of the other chassis
    :ivar port: its OpenFlow port number
    :ivar alive: whether the other end answers (BFD, RFC 5880), so that packets
        arrive there.  Not part of the value: else the death of a chassis would
        cost a computation of all routers, at the moment when some of them are
        to be taken over
    """

    bridge: str
    address: str
    port: int
    alive: bool = dataclasses.field(default=False, compare=False)
    name: str = ''


@dataclasses.dataclass(frozen=True, slots=True)
class Node:
    """This chassis: what depends on the node alone.

    :ivar chassis: chassis name (external_ids:system-id)
    :ivar hostname: host name as in the SB Chassis row
    :ivar devices: sorted by name
    :ivar bridge_mappings: (physical network, bridge), sorted
    :ivar relays: those that are present, sorted
    :ivar drains: the routers that an operator wants to be drained: UUIDs, or
        :data:`ALL`
    :ivar extent: None without port forwards
    :ivar overlap: addresses of the tunnels of the gateways that are to take
        over while this chassis still serves; see :mod:`gateways.overlap`
    :ivar overlapping: whether an overlap is under way, or being undone
    :ivar namesakes: names of other chassis with the same host name, sorted
    """

    chassis: str
    hostname: str
    phase: Phase
    devices: tuple[Device, ...] = ()
    bridge_mappings: tuple[tuple[str, str], ...] = ()
    relays: tuple[Relay, ...] = ()
    drains: frozenset[str] = frozenset()
    extent: port_forwards.Extent | None = None
    overlap: tuple[str, ...] = ()
    overlapping: bool = False
    namesakes: tuple[str, ...] = ()

    @property
    def owner(self) -> ownership.Owner:
        """The mark that this chassis writes."""
        return ownership.Owner(self.hostname, self.chassis)

    @property
    def marks(self) -> frozenset[ownership.Owner]:
        """The marks that are of this chassis, none without a host name.

        A mark with the host name alone says nothing where others have it, too.
        """
        if not self.hostname:
            return frozenset()
        return frozenset((self.owner,) if self.namesakes else (
            self.owner, ownership.Owner(self.hostname)))

    def device(self, name: str) -> Device | None:
        """The device of that name, None without one."""
        return next((d for d in self.devices if d.name == name), None)
