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

"""The frozen view that drivers see: one Node and its Routers.

Plain values without I/O.  They are comparable, so an unchanged router is
recognised by equality and costs nothing in a pass.
"""

import dataclasses
import enum

from ovn_network_agent import port_forwards


class Phase(enum.Enum):
    """Where the agent is in its life; part of the node."""

    RESTORING = 'restoring'
    RUNNING = 'running'
    DRAINING = 'draining'
    STOPPED = 'stopped'


class Handover(enum.Enum):
    """How far a gateway port that has left this chassis is handed over.

    NONE: not under way.  ANNOUNCE: this chassis goes on announcing and
    forwarding, until the new owner has proved that it announces.  FORWARD:
    withdrawn, and what the fabric still sends here is forwarded.
    """

    NONE = 'none'
    ANNOUNCE = 'announce'
    FORWARD = 'forward'


class GatewayState(enum.Enum):
    """What this chassis is in a gateway group; drivers ask for this alone.

    :mod:`gateways.transitions` says what each state means, what leads there,
    and what the drivers then want.
    """

    UNDECIDED = 'undecided'
    ALONE = 'alone'
    STANDBY = 'standby'
    RETURNING = 'returning'
    SET_ASIDE = 'set aside'
    SERVING = 'serving'
    YIELDING = 'yielding'
    STOPGAP = 'stopgap'
    HELD = 'held'
    OVERLAPPING = 'overlapping'
    LEAVING = 'leaving'
    DRAINED = 'drained'
    LAST = 'last'
    FORSAKEN = 'forsaken'
    KEPT = 'kept'


class Tenure(enum.Enum):
    """How this chassis has the ports of a gateway group.

    The memory of the state above, also while the group is being left; see
    :mod:`gateways.transitions`.
    """

    NEW = 'new'
    ELSEWHERE = 'elsewhere'
    FIRST = 'first'
    OUTRANKED = 'outranked'
    OVERDUE = 'overdue'
    CONTESTED = 'contested'
    INHERITED = 'inherited'
    LINGERING = 'lingering'


class Fact(enum.Enum):
    """What is known of a gateway group beside its rows.

    UNFIT: this chassis could not announce the ports if it had them; without
    this fact it could, or nobody knows.  ABANDONED: this chassis is about to
    stop announcing the ports, whoever can take them over.
    ZERO_SINCE_START: this chassis had priority 0 when the agent started, and
    has it still: it was drained.
    """

    UNFIT = 'unfit'
    ABANDONED = 'abandoned'
    ZERO_SINCE_START = 'zero since start'


# What the name of a chassisredirect port begins with; the rest is that of its
# router port (ovn-northd).
REDIRECT = 'cr-'

# In Node.drains: not one router, but all of them.
ALL = 'all'

# Candidate.drained: why an agent has lowered it.
SHUTDOWN = 'shutdown'
MAINTENANCE = 'maintenance'
UNFIT = 'unfit'


@dataclasses.dataclass(frozen=True, slots=True)
class Device:
    """A kernel network device.

    :ivar name: interface name
    :ivar mac: MAC address, lower case with colons, '' without one
    :ivar up: administratively up
    :ivar vrf_table: routing table when this is a VRF, else 0
    :ivar default_route: whether this VRF has a default route; None when it
        is no VRF, or nobody knows
    """

    name: str
    mac: str
    up: bool
    vrf_table: int = 0
    default_route: bool | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Segment:
    """A provider segment: where a logical switch meets this node's wire.

    :ivar datapath: UUID of the SB Datapath_Binding (the logical switch)
    :ivar localnet_port: name of the localnet logical port
    :ivar physical_network: its network_name, key of ovn-bridge-mappings
    :ivar vlan: VLAN tag, 0 for a flat segment
    :ivar bridge: provider bridge it is mapped to, '' when not mapped here
    :ivar device: kernel device of the segment, ``bridge`` or bridge.vlan
    :ivar mac: MAC of the device, '' when the device does not exist
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


@dataclasses.dataclass(frozen=True, slots=True)
class Candidate:
    """One chassis of a gateway group.

    :ivar chassis: chassis name (system-id)
    :ivar priority: 0..32767, the highest live one is active
    :ivar known: whether SB has this chassis; False for one that was removed
    :ivar address: IP address of its tunnels (SB Encap), '' when unknown
    :ivar further: tuple of further addresses of its tunnels
    :ivar encap: type of the tunnels of ``address``, 'geneve' or 'vxlan', ''
        when unknown
    :ivar drained: why an agent has lowered it to 0: 'shutdown',
        'maintenance' or 'unfit' (it could not announce), '' when none has
    :ivar earlier: the priority it had before that
    :ivar silent: whether it does not answer in OVN's tunnel, as far as a
        drain has looked; see :mod:`ovn.tunnels`
    :ivar dead: whether that is so for long enough
    """

    chassis: str
    priority: int
    known: bool = True
    address: str = ''
    encap: str = ''
    drained: str = ''
    earlier: int = 0
    silent: bool = False
    dead: bool = False
    further: tuple = ()

    @property
    def rank(self):
        """What OVN goes by: of equal priorities the name that sorts last.

        Decision record 0009.
        """
        return self.priority, self.chassis

    @property
    def addresses(self):
        """All addresses of its tunnels, a tuple."""
        return (self.address, *self.further) if self.address else ()


@dataclasses.dataclass(frozen=True, slots=True)
class GroupPort:
    """A gateway port that a group decides about.

    :ivar redirect: name of its chassisredirect port
    :ivar chassis: name of the chassis that is bound to, '' when unbound
    :ivar lrp: name of the Logical_Router_Port
    :ivar networks: tuple of 'address/len', as in the row, valid ones only
    :ivar segment: :class:`Segment` or None when it cannot be resolved
    """

    redirect: str
    chassis: str
    lrp: str = ''
    networks: tuple = ()
    segment: Segment | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class GatewayGroup:
    """Who may host gateway ports: one notion over two OVN tables.

    Rows of Gateway_Chassis belong to one port, an HA_Chassis_Group may be
    shared by several.

    :ivar table: 'Gateway_Chassis' or 'HA_Chassis_Group'
    :ivar key: UUID of the Logical_Router_Port or of the group, text
    :ivar name: name of that row, for messages
    :ivar candidates: tuple of :class:`Candidate`, sorted by chassis name
    :ivar ports: tuple of :class:`GroupPort`, sorted by name
    :ivar routers: tuple of UUIDs of the routers of these ports, text, sorted
    :ivar facts: frozenset of :class:`Fact`
    :ivar state: :class:`GatewayState` of this chassis
    :ivar tenure: :class:`Tenure` of this chassis
    """

    table: str
    key: str = ''
    name: str = ''
    candidates: tuple = ()
    ports: tuple = ()
    routers: tuple = ()
    facts: frozenset = frozenset()
    state: GatewayState = GatewayState.UNDECIDED
    tenure: Tenure = Tenure.NEW

    @property
    def held(self):
        """Read from the state: to be left, but the order stays for now."""
        return self.state in (GatewayState.HELD, GatewayState.OVERLAPPING)

    @property
    def moving(self):
        """Read from the tenure: OVN may be about to move the ports."""
        return self.tenure in (Tenure.OUTRANKED, Tenure.CONTESTED,
                               Tenure.LINGERING)

    @property
    def restore(self):
        """Whether :attr:`Fact.ZERO_SINCE_START` is known."""
        return Fact.ZERO_SINCE_START in self.facts

    @property
    def unfit(self):
        """Whether :attr:`Fact.UNFIT` is known."""
        return Fact.UNFIT in self.facts

    @property
    def abandoned(self):
        """Whether :attr:`Fact.ABANDONED` is known."""
        return Fact.ABANDONED in self.facts

    def candidate(self, chassis):
        """The :class:`Candidate` of that chassis, or None."""
        return next((c for c in self.candidates if c.chassis == chassis),
                    None)

    def peers(self, chassis):
        """The other candidates that are there, a tuple of Candidate.

        Those that SB has: one that was removed takes nothing.
        """
        return tuple(c for c in self.candidates
                     if c.chassis != chassis and c.known)

    def takers(self, chassis):
        """Who is to take over from that chassis, a tuple of Candidate.

        Not those that are drained themselves: among zeros OVN goes by name.
        """
        return tuple(c for c in self.peers(chassis)
                     if c.priority > 0 and not c.silent)

    def hopes(self, chassis):
        """Who may yet take over, a tuple of Candidate.

        An agent has lowered it, and raises it again without being asked: the
        agent starts, or BGP works again.  Or it does not answer right now.
        What an operator drains, and what nobody has marked, is at 0 for
        reasons that no agent knows.
        """
        return tuple(c for c in self.peers(chassis) if not c.dead and (
            c.silent if c.priority else c.drained in (UNFIT, SHUTDOWN)))

    def depends_on(self, chassis):
        """Whether nobody but that standby could take over from the owner."""
        owners = {port.chassis for port in self.ports}
        return chassis not in owners and all(
            c.chassis in owners for c in self.takers(chassis))

    def heirs(self, chassis):
        """Who is to get the ports once that chassis has let go of them.

        Those of :meth:`takers` and :meth:`hopes`, dead or alive.

        :returns: tuple of :class:`Candidate`
        """
        return tuple(c for c in self.peers(chassis)
                     if c.priority or c.drained in (UNFIT, SHUTDOWN))


@dataclasses.dataclass(frozen=True, slots=True)
class Nat:
    """A NAT row of a router.

    :ivar type: 'snat', 'dnat' or 'dnat_and_snat'
    :ivar external_ip: IP address, validated, canonical text
    :ivar logical_ip: IP address or prefix
    :ivar distributed_mac: external_mac of a distributed floating IP, '' for
        a centralised one
    """

    type: str
    external_ip: str
    logical_ip: str
    distributed_mac: str = ''


@dataclasses.dataclass(frozen=True, slots=True)
class BalancedAddress:
    """A virtual IP of a load balancer of a router.

    :ivar address: IP address, canonical text
    :ivar floating: whether it is a floating IP with port forwarding of
        Neutron; others may just as well be addresses of tenants
    :ivar unanswered: why the gateway of the router does not answer for it,
        in words, '' when it does
    """

    address: str
    floating: bool = False
    unanswered: str = ''


@dataclasses.dataclass(frozen=True, slots=True)
class GatewayPort:
    """A router port with a gateway group.

    :ivar lrp: name of the Logical_Router_Port
    :ivar mac: its MAC in lower case, as everything else shows MACs
    :ivar networks: tuple of 'address/len', as in the row, valid ones only
    :ivar chassis: name of the chassis its chassisredirect port is bound to,
        '' when unbound
    :ivar local: True when that is this chassis
    :ivar segment: :class:`Segment` or None when it cannot be resolved
    :ivar nat_addresses: tuple of IPv4 text from SB nat_addresses
    :ivar nexthop_user: who else in OVN has the address that would be the
        virtual gateway of this port, in words, '' when nobody
    :ivar handover: :class:`Handover`; never with ``local``
    :ivar relay: OpenFlow port of the relay to the chassis that is to get
        the port, or has got it: what arrives here is sent there, too; 0 when
        nothing is relayed
    """

    lrp: str
    mac: str
    networks: tuple
    chassis: str
    local: bool
    segment: Segment | None
    nat_addresses: tuple = ()
    nexthop_user: str = ''
    handover: Handover = Handover.NONE
    relay: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class NbDefaultRoute:
    """A default route found on a router in NB (main table, dst-ip).

    :ivar nexthop: next hop address
    :ivar output_port: LRP name or ''
    :ivar managed: carries our mark
    :ivar chassis: host name in our tag, '' when not managed
    :ivar advertised: host name of the chassis whose agent has proved that
        it announces the router's addresses, '' when none has
    """

    nexthop: str
    output_port: str
    managed: bool
    chassis: str = ''
    advertised: str = ''


@dataclasses.dataclass(frozen=True, slots=True)
class Router:
    """A logical router that concerns this chassis.

    It has a gateway port bound here, or its managed default route still
    carries our tag.

    :ivar uuid: UUID of the Logical_Router row, text
    :ivar name: Neutron's name of the row
    :ivar ports: tuple of :class:`GatewayPort`, sorted by name
    :ivar nats: tuple of :class:`Nat`, sorted
    :ivar default_routes: tuple of :class:`NbDefaultRoute`
    :ivar problems: tuple of str: rows left out because they are malformed
    :ivar balanced: tuple of :class:`BalancedAddress`, sorted, each address
        once
    """

    uuid: str
    name: str
    ports: tuple = ()
    nats: tuple = ()
    default_routes: tuple = ()
    problems: tuple = ()
    balanced: tuple = ()

    @property
    def local_ports(self):
        """The gateway ports that are active on this chassis."""
        return tuple(p for p in self.ports if p.local)

    @property
    def served_ports(self):
        """The gateway ports that this chassis forwards for.

        Those that are active here, and those that are being handed over.
        """
        return tuple(p for p in self.ports
                     if p.local or p.handover is not Handover.NONE)


@dataclasses.dataclass(frozen=True, slots=True)
class Relay:
    """A tunnel port of ours between the provider bridges of two gateways.

    :ivar bridge: provider bridge
    :ivar address: IP address of the tunnels of the other chassis
    :ivar port: its OpenFlow port number
    :ivar alive: whether the other end answers (BFD, RFC 5880): it has the
        relay, too, and what is sent there arrives.  No part of what it is:
        else a chassis that dies would cost a computation of all routers at
        the very moment when some of them are to be taken over
    """

    bridge: str
    address: str
    port: int
    alive: bool = dataclasses.field(default=False, compare=False)


@dataclasses.dataclass(frozen=True, slots=True)
class Node:
    """This chassis: what depends on the node alone.

    :ivar chassis: chassis name (external_ids:system-id)
    :ivar hostname: host name as in the SB Chassis row
    :ivar phase: :class:`Phase`
    :ivar devices: tuple of :class:`Device`, sorted by name
    :ivar bridge_mappings: tuple of (physical network, bridge), sorted
    :ivar relays: tuple of :class:`Relay` that are there, sorted
    :ivar drains: frozenset of what an operator wants to be drained: UUIDs
        of routers, text, or :data:`ALL`
    :ivar extent: :class:`port_forwards.Extent` of the port forwards, None
        without them
    :ivar overlap: addresses of the tunnels of the gateways that are to take
        over while this one still serves, a tuple; see :mod:`overlap`
    :ivar overlapping: whether that is under way, or being undone
    """

    chassis: str
    hostname: str
    phase: Phase
    devices: tuple = ()
    bridge_mappings: tuple = ()
    relays: tuple = ()
    drains: frozenset = frozenset()
    extent: port_forwards.Extent | None = None
    overlap: tuple = ()
    overlapping: bool = False

    def device(self, name):
        """The :class:`Device` of that name, or None."""
        return next((d for d in self.devices if d.name == name), None)


@dataclasses.dataclass(frozen=True, slots=True)
class Snapshot:
    """One consistent view: the node, and what concerns it.

    :ivar node: :class:`Node`
    :ivar routers: tuple of :class:`Router`
    :ivar groups: tuple of :class:`GatewayGroup` that this chassis is a
        candidate of, active or not
    :ivar problems: tuple of str: what this node's own settings contain and
        is left out as malformed
    :ivar forwards: :class:`port_forwards.Forwards`, or None without a rules
        file
    """

    node: Node
    routers: tuple = ()
    groups: tuple = ()
    problems: tuple = ()
    forwards: port_forwards.Forwards | None = None
