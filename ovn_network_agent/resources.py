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

"""Resources: the things that should exist, as frozen values.

A resource is one object in one target system.  Its ``key`` is the target
system's own key, everything else is its value: a changed value is an update
of the object, never a delete and a create.  Only fields that we set are
here, so that what a backend reads back compares equal to what was wanted.

``stage`` orders the work of one pass: creations run in ascending order, so
that what BGP makes visible comes last, and deletions in descending order, so
that it goes first.
"""

import dataclasses
import enum


class Stage(enum.IntEnum):
    """Order of creation; deletion runs in the reverse order."""

    LINK = 10
    SYSCTL = 20
    ADDRESS = 30
    NEIGHBOUR = 40
    ROUTE = 50
    RULE = 60
    # Before anything attracts what it translates.
    TRANSLATION = 65
    FLOW = 70
    NORTHBOUND = 80
    FILTER = 90
    ANNOUNCE = 100
    # What makes a state last comes after what makes it reachable.
    LEAD = 110


@dataclasses.dataclass(frozen=True, slots=True)
class Ref:
    """A reference to a resource: its kind and key."""

    kind: str
    key: tuple


@dataclasses.dataclass(frozen=True, slots=True)
class Resource:
    """Base of all resources.

    :cvar kind: name of the kind, as it appears in logs and plans
    :cvar stage: :class:`Stage` of the kind
    :cvar retained: True when the object stays in the system after it is no
        longer desired (a sysctl: its earlier value is not known)
    :ivar requires: refs that have to be in place before this is created;
        not part of the value
    """

    requires: tuple = dataclasses.field(
        default=(), compare=False, repr=False, kw_only=True)

    kind = 'resource'
    stage = Stage.LINK
    retained = False

    @property
    def key(self):
        """The target system's key, a tuple."""
        raise NotImplementedError(f'the class {type(self).__name__} has no '
                                  'property key')

    @property
    def ref(self):
        """:class:`Ref` of this resource."""
        return Ref(self.kind, self.key)

    @property
    def follows(self):
        """Whether no packet from outside needs it.

        When a gateway has moved here it comes after what is announced.
        """
        return self.stage > Stage.ANNOUNCE

    @property
    def subject(self):
        """The address this is about ('198.51.100.10/32'), or None.

        Resources with the same subject depend on each other in the order of
        their stages: an announcement is held back when the route of its
        address failed, and the route stays while the announcement of its
        address could not be withdrawn.
        """
        return None


@dataclasses.dataclass(frozen=True, slots=True)
class LinkUp(Resource):
    """An existing device that has to be up (the provider bridge)."""

    dev: str

    kind = 'link_up'
    stage = Stage.LINK
    retained = True

    @property
    def key(self):
        return (self.dev,)


@dataclasses.dataclass(frozen=True, slots=True)
class VethPair(Resource):
    """A veth pair, both ends up, the peer enslaved to a VRF.

    :ivar name: end in the default VRF
    :ivar peer: end in ``vrf``
    """

    name: str
    peer: str
    vrf: str

    kind = 'veth_pair'
    stage = Stage.LINK

    @property
    def key(self):
        return (self.name,)


@dataclasses.dataclass(frozen=True, slots=True)
class RelayPort(Resource):
    """A tunnel port on the provider bridge, towards another gateway.

    :ivar bridge: provider bridge
    :ivar name: name of the port, see :func:`ownership.relay_name`
    :ivar remote: IP address of the tunnels of the other chassis
    :ivar encap: 'geneve' or 'vxlan'
    """

    bridge: str
    name: str
    remote: str
    encap: str

    kind = 'relay_port'
    stage = Stage.LINK

    @property
    def key(self):
        return (self.bridge, self.name)


@dataclasses.dataclass(frozen=True, slots=True)
class Sysctl(Resource):
    """A network sysctl, never restored.

    :ivar path: path below /proc/sys, '/'-separated because a device name
        may contain a dot: 'net/ipv4/conf/br-ex/proxy_arp'
    :ivar value: the text to be read back, without the line feed
    """

    path: str
    value: str

    kind = 'sysctl'
    stage = Stage.SYSCTL
    retained = True

    @property
    def key(self):
        return (self.path,)


@dataclasses.dataclass(frozen=True, slots=True)
class Address(Resource):
    """An IP address with prefix length on a device: '169.254.0.1/30'."""

    dev: str
    address: str

    kind = 'address'
    stage = Stage.ADDRESS

    @property
    def key(self):
        return (self.dev, self.address)


@dataclasses.dataclass(frozen=True, slots=True)
class VipAddress(Address):
    """An address that FRR redistributes as a connected route.

    To have it is to announce it.
    """

    kind = 'vip_address'
    stage = Stage.ANNOUNCE

    @property
    def subject(self):
        return self.address


@dataclasses.dataclass(frozen=True, slots=True)
class Neighbour(Resource):
    """A permanent neighbour entry.

    :ivar dev: device of the entry
    :ivar dst: IP address of the neighbour
    :ivar lladdr_of: name of the local device whose MAC the neighbour has;
        the MAC is looked up when the entry is written or compared; '' when
        ``lladdr`` says it
    :ivar lladdr: MAC address, or None
    """

    dev: str
    dst: str
    lladdr_of: str
    lladdr: str | None = None

    kind = 'neighbour'
    stage = Stage.NEIGHBOUR

    @property
    def key(self):
        return (self.dev, self.dst)


@dataclasses.dataclass(frozen=True, slots=True)
class KernelRoute(Resource):
    """A kernel route of our protocol (:data:`ownership.ROUTE_PROTOCOL`).

    :ivar table: routing table id
    :ivar dst: destination prefix, '0.0.0.0/0' for the default route
    :ivar dev: output device
    :ivar via: gateway address, or None for a route of scope link
    """

    table: int
    dst: str
    dev: str
    via: str | None = None

    kind = 'kernel_route'
    stage = Stage.ROUTE

    @property
    def key(self):
        return (self.table, self.dst)

    @property
    def subject(self):
        return self.dst if self.dst.endswith(('/32', '/128')) else None


@dataclasses.dataclass(frozen=True, slots=True)
class AnnouncedRoute(KernelRoute):
    """A host route that FRR redistributes (announce_method = kernel).

    It lives in the table that bgpd's instance looks at: the VRF's, or the
    main table in default VRF mode.
    """

    kind = 'announced_route'
    stage = Stage.ANNOUNCE


# In place of a table: drop what the rule selects, without an answer.
BLACKHOLE = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Rule(Resource):
    """A policy rule of ours: priority, selectors, table.

    :ivar table: routing table to look in, or :data:`BLACKHOLE`
    :ivar src: source prefix or None
    :ivar dst: destination prefix or None
    :ivar iif: incoming device or None
    :ivar fwmark: (mark, mask) or None
    :ivar suppress: ignore routes of the table with a prefix of this length
        or a shorter one (0: the default route), or None
    :ivar ipv6: True for one of IPv6 although no prefix says so, else None
    """

    priority: int
    table: int
    src: str | None = None
    dst: str | None = None
    iif: str | None = None
    fwmark: tuple[int, int] | None = None
    suppress: int | None = None
    ipv6: bool | None = None

    kind = 'rule'
    stage = Stage.RULE

    @property
    def key(self):
        return (self.priority, self.src, self.dst, self.iif, self.fwmark,
                'ipv6' if self.ipv6 else None)

    @property
    def subject(self):
        return self.dst


@dataclasses.dataclass(frozen=True, slots=True)
class NftTable(Resource):
    """Our nftables table of one family, but for the elements of its sets.

    :ivar family: 'ip' or 'ip6'
    :ivar digest: of the text that the table is rendered as, 32 hexadecimal
        digits; as it was read, of the text that the table was loaded from, or
        'altered' when it is not what was loaded
    :ivar content: :class:`nft.values.Table`: what the table is rendered from;
        not part of the value, and None as it was read
    :ivar targets: what connections are translated to, a sorted tuple of
        (proto, VIP, port, backend, its port); not part of the value
    """

    family: str
    digest: str
    content: object = dataclasses.field(
        default=None, compare=False, repr=False)
    targets: tuple = dataclasses.field(
        default=(), compare=False, repr=False)

    kind = 'nft_table'
    stage = Stage.TRANSLATION

    @property
    def key(self):
        return (self.family,)


@dataclasses.dataclass(frozen=True, slots=True)
class NftElement(Resource):
    """An element of a set of our table.

    :ivar family: 'ip' or 'ip6'
    :ivar set: name of the set
    :ivar element: as nft writes it: a network, an address, a device's name
    """

    family: str
    set: str
    element: str

    kind = 'nft_element'
    stage = Stage.TRANSLATION

    @property
    def key(self):
        return (self.family, self.set, self.element)


# OpenFlow port of the bridge's own device (OFPP_LOCAL of OpenFlow 1.3).
LOCAL = 0xfffffffe
# RT_TABLE_MAIN (rtnetlink(7)).
MAIN_TABLE = 254


@dataclasses.dataclass(frozen=True, slots=True)
class Flow(Resource):
    """An OpenFlow flow on the provider bridge, table 0.

    Only what the two kinds of flows need, typed, so that the privileged side
    can validate it: match on in_port, family and destination host; set MACs;
    hand to the bridge's own forwarding or back to where it came from.

    :ivar in_port: OpenFlow port number of the patch port towards br-int or
        of a relay, or :data:`LOCAL`
    :ivar family: 4 or 6
    :ivar dst: destination prefix ('198.51.100.10/32') or None for all
    :ivar set_src: source MAC to write, or None
    :ivar set_dst: destination MAC to write, or None
    :ivar output: 'normal', 'in_port', or 'ports:' and the numbers of one to
        eight ports in the order in which they get the packet: 'ports:3,7'
    """

    bridge: str
    cookie: int
    priority: int
    in_port: int
    family: int
    dst: str | None = None
    set_src: str | None = None
    set_dst: str | None = None
    output: str = 'normal'

    kind = 'flow'
    stage = Stage.FLOW

    @property
    def key(self):
        return (self.bridge, self.priority, self.in_port, self.family,
                self.dst)

    @property
    def follows(self):
        # What goes from router to router on this chassis has the way over
        # the announced route meanwhile, as it has on every other chassis.
        return self.output == 'in_port'

    @property
    def subject(self):
        return self.dst


@dataclasses.dataclass(frozen=True, slots=True)
class DefaultRoute(Resource):
    """The default route of a gatewayless router, in OVN NB.

    :ivar router: UUID of the Logical_Router row, text
    :ivar lrp: name of the gateway Logical_Router_Port
    :ivar nexthop: the virtual gateway
    :ivar chassis: host name of the owning chassis, the tag on the row
    :ivar outdated: host name of another chassis in the mark of who announces
        it, only ever found and never wanted, or None
    """

    router: str
    lrp: str
    nexthop: str
    chassis: str
    outdated: str | None = None

    kind = 'default_route'
    stage = Stage.NORTHBOUND

    @property
    def follows(self):
        # The former owner's is there, or the router is new.
        return True

    @property
    def key(self):
        return (self.router,)


@dataclasses.dataclass(frozen=True, slots=True)
class StaleRoute(Resource):
    """A default route that a chassis left which is gone for good.

    Only ever found, and never wanted.

    :ivar router: UUID of the Logical_Router row, text
    :ivar lrp: name of the gateway Logical_Router_Port
    :ivar nexthop: the virtual gateway
    :ivar chassis: host name on the row
    """

    router: str
    lrp: str
    nexthop: str
    chassis: str

    kind = 'stale_route'
    stage = Stage.NORTHBOUND

    @property
    def key(self):
        return (self.router, self.lrp, self.nexthop, self.chassis)


@dataclasses.dataclass(frozen=True, slots=True)
class MacBinding(Resource):
    """A Static_MAC_Binding row of OVN NB: virtual gateway to our MAC."""

    lrp: str
    ip: str
    mac: str

    kind = 'mac_binding'
    stage = Stage.NORTHBOUND

    @property
    def follows(self):
        # The MAC-tweak flow takes what is sent to the MAC of a former owner.
        return True

    @property
    def key(self):
        return (self.lrp, self.ip)


@dataclasses.dataclass(frozen=True, slots=True)
class GatewayPriority(Resource):
    """The priority of a candidate in a gateway group, in OVN NB.

    :ivar table: 'Gateway_Chassis' or 'HA_Chassis_Group'
    :ivar group: UUID of the Logical_Router_Port or HA_Chassis_Group, text
    :ivar chassis: name of the candidate
    :ivar priority: 0..32767
    :ivar owned: names of chassisredirect ports that have to be on this
        chassis for it to be written; not part of the value
    :ivar before: the priorities that it was decided on, tuple of
        (chassis, priority); not part of the value
    :ivar after: likewise those of the whole group that are wanted
    :ivar drained: as in :class:`model.Candidate` when an agent has lowered it,
        else ''
    :ivar earlier: the priority it had before that, 0 when not drained
    """

    table: str
    group: str
    chassis: str
    priority: int
    drained: str = ''
    earlier: int = 0
    owned: tuple = dataclasses.field(default=(), compare=False, repr=False)
    before: tuple = dataclasses.field(default=(), compare=False, repr=False)
    after: tuple = dataclasses.field(default=(), compare=False, repr=False)

    kind = 'gateway_priority'
    stage = Stage.LEAD
    # The row is Neutron's.
    retained = True

    @property
    def key(self):
        return (self.table, self.group, self.chassis)


@dataclasses.dataclass(frozen=True, slots=True)
class Overlap(Resource):
    """The gateways of this chassis are those of others, too, for a moment.

    :ivar addresses: IP addresses of the tunnels of those others, a tuple
    """

    addresses: tuple

    kind = 'overlap'
    # What takes over has to be relayed to.
    stage = Stage.LEAD

    @property
    def key(self):
        return ()


@dataclasses.dataclass(frozen=True, slots=True)
class Advertised(Resource):
    """The proof that a router's addresses are announced here, in OVN NB.

    The mark ``ovn-network-agent-advertised`` on its managed default route,
    which the former owner waits for.

    :ivar router: UUID of the Logical_Router row, text
    :ivar chassis: host name of this chassis
    :ivar prefixes: what has to be advertised to a BGP neighbour before it
        is written, tuple of '198.51.100.10/32'; not part of the value
    """

    router: str
    chassis: str
    prefixes: tuple = dataclasses.field(
        default=(), compare=False, repr=False)

    kind = 'advertised'
    stage = Stage.LEAD
    # It goes with the route, or when the next owner takes that over.
    retained = True

    @property
    def key(self):
        return (self.router,)


@dataclasses.dataclass(frozen=True, slots=True)
class PrefixListEntry(Resource):
    """``permit <network> ge <ge> le <le>`` of an FRR prefix list.

    The sequence number is the backend's business and not part of the value.
    """

    name: str
    network: str
    ge: int = 32
    le: int = 32

    kind = 'prefix_list_entry'
    stage = Stage.FILTER

    @property
    def key(self):
        return (self.name, self.network, self.ge, self.le)


@dataclasses.dataclass(frozen=True, slots=True)
class Announcement(Resource):
    """An FRR static route that ``redistribute static`` announces.

    :ivar vrf: VRF name, '' for the default instance
    :ivar prefix: '198.51.100.10/32'
    :ivar nexthop: IP address, or the name of an interface
    """

    vrf: str
    prefix: str
    nexthop: str

    kind = 'announcement'
    stage = Stage.ANNOUNCE

    @property
    def key(self):
        return (self.vrf, self.prefix)

    @property
    def subject(self):
        return self.prefix


@dataclasses.dataclass(frozen=True, slots=True)
class Problem(Resource):
    """Not an object but a statement: something is left out, and why.

    A driver yields it instead of leaving out silently.  It appears in the
    log once, in the plan, and in the state of the agent as long as it lasts.

    :ivar text: for the operator: what is left out, why, and the remedy
    :ivar router: UUID of the router that it is about, '' for none
    :ivar addresses: tuple of str, the addresses that are left out; empty
        where it is not about single ones
    """

    text: str
    router: str = ''
    addresses: tuple = ()

    kind = 'problem'

    @property
    def key(self):
        return (self.text,)


@dataclasses.dataclass(frozen=True, slots=True)
class Keep(Resource):
    """Not an object but a statement: whatever is at ``of`` stays as found.

    A driver yields it where it cannot or must not decide: rows that another
    chassis is about to take over, a segment that cannot be resolved.

    :ivar of: :class:`Ref` of the resource that is neither created, changed
        nor deleted
    :ivar theirs: whether the object is somebody else's, or about to be.
        Then it stays when the agent stops, too; what only a doubt has kept
        goes with everything of ours
    """

    of: Ref
    theirs: bool = False

    kind = 'keep'

    @property
    def key(self):
        return (self.of,)
