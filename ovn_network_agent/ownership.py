# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The marks by which an agent recognises its objects, and its numbers.

After a start, an agent recognises the objects of a former run by these marks
alone.  They are those of the Go program, the older one of the same name, so an
agent can replace it on a node, and a cloud may run both.  A changed mark needs
a migration, or objects with the old mark would never be removed.

A number that must not be used twice on a node is claimed here, also the
default of an option.  An import fails when two drivers use one number.
Modules of other projects claim their numbers by the same objects.
"""

from collections.abc import Mapping
import typing
import zlib

from ovn_network_agent.common import ip_text

_Numbers = typing.TypeVar('_Numbers', int, range)


class Claims:
    """The numbers of one kind that are used on a node, with their owners."""

    def __init__(self, kind: str, form: str = 'd') -> None:
        self._kind = kind
        self._form = form
        self._claimed: list[tuple[range, str]] = []

    def claim(self, numbers: _Numbers, owner: str) -> _Numbers:
        """Reserve a number, or all numbers of a range.

        :param owner: the driver, and the purpose if the driver has several
        :raises ValueError: when they clash with those of an earlier claim
        """
        wanted = (numbers if isinstance(numbers, range) else
                  range(numbers, numbers + 1))
        for taken, other in self._claimed:
            if self._clash(wanted, taken):
                raise ValueError(
                    f'{self._kind} {self._text(wanted)} of {owner} clashes '
                    f'with {self._text(taken)} of {other}; choose another')
        self._claimed.append((wanted, owner))
        return numbers

    def _clash(self, one: range, other: range) -> bool:
        return one.start < other.stop and other.start < one.stop

    def _text(self, numbers: range) -> str:
        ends = dict.fromkeys((numbers[0], numbers[-1]))
        return ' to '.join(format(end, self._form) for end in ends)


class _Masks(Claims):
    """Numbers that clash if they share a bit."""

    def _clash(self, one: range, other: range) -> bool:
        return bool(one.start & other.start)


# One number marks routes, rules, addresses and neighbours.
PROTOCOLS = Claims('kernel protocol')
TABLES = Claims('routing table')
RULE_PRIORITIES = Claims('rule priority')
# A policy rule compares the bits of its mark alone.
MARKS = _Masks('packet mark', '#x')
ZONES = Claims('connection tracking zone')
COOKIES = Claims('flow cookie', '#x')
# Of two flows with one priority that both match, OVS may take either.
FLOW_PRIORITIES = Claims('flow priority')
TUNNEL_KEYS = Claims('tunnel key', '#x')
# Of routes in FRR, also as metrics of kernel routes.
ROUTE_TAGS = Claims('route tag')
# Of Logical_Router_Policy.  ovn-kubernetes and drivers of other projects write
# such rows, too; Neutron does not.
POLICY_PRIORITIES = Claims('priority of router policies')

# Kernel routes: rtm_protocol.  The number is free in the kernel's rt_protos;
# the Go program uses it, too.
ROUTE_PROTOCOL = PROTOCOLS.claim(44, 'ovn-network-agent')
# FRA_PROTOCOL (kernel >= 4.17).
RULE_PROTOCOL = ROUTE_PROTOCOL
# IFA_PROTO (kernel >= 5.18) and NDA_PROTOCOL (>= 5.0).  Older kernels ignore
# them, and the Go program does not set them: then the agent's objects are the
# configured ones.
ADDRESS_PROTOCOL = ROUTE_PROTOCOL
NEIGHBOUR_PROTOCOL = ROUTE_PROTOCOL

# Defaults of options.  The default of route_table_id is the main table, and
# the kernel's rule for VRFs has the priority 1000, too.
ROUTE_RULE_PRIORITY = RULE_PRIORITIES.claim(1000, 'fip_route')
LEAK_TABLE = TABLES.claim(200, 'veth_leak')
REPLY_TABLE = TABLES.claim(201, 'port_forward')
FORWARD_ZONE = ZONES.claim(64000, 'port_forward')
LEAK_RULE_PRIORITY = 2000


def leak_priorities(priority: int) -> range:
    """The priorities of all rules of the veth leak, by the option for one."""
    return range(priority - 3, priority + 2)


RULE_PRIORITIES.claim(leak_priorities(LEAK_RULE_PRIORITY), 'veth_leak')

# The driver evpn: a routing table for each possible VNI; the rules that keep
# tenants' packets out of other tables, behind the kernel's own for VRFs.
EVPN_TABLES = TABLES.claim(range(10_000_000, 10_000_000 + (1 << 24)), 'evpn')
EVPN_RULE_PRIORITY = RULE_PRIORITIES.claim(1100, 'evpn')
# Defaults of network_peer: policies that let the sources of a peer in, and
# behind these the policies that drop all others.
PEER_ALLOW_PRIORITY = POLICY_PRIORITIES.claim(600, 'network_peer: allow')
PEER_DROP_PRIORITY = POLICY_PRIORITIES.claim(500, 'network_peer: drop')
# Default of egress_ip: policies that lead machines to several gateway ports,
# behind all policies that drop or allow.  What stays inside passes first.
EGRESS_POLICY_PRIORITY = POLICY_PRIORITIES.claim(100, 'egress_ip')
POLICY_PRIORITIES.claim(EGRESS_POLICY_PRIORITY - 1, 'egress_ip: reroute')
# Its rules: the way back to machines, the way out, and the drop of what they
# send without a way out.  They come before the kernel's rule for VRFs (1000):
# the VRF of a link may have a default route, which would match packets back.
EGRESS_PRIORITIES = RULE_PRIORITIES.claim(range(900, 903), 'egress_ip')
EGRESS_BACK, EGRESS_OUT, EGRESS_DROP = EGRESS_PRIORITIES
# Its tables: the way back, and the routes of each link, by the index of the
# link, for which 24 bits are enough.
EGRESS_BACK_TABLE = TABLES.claim(44_000_000, 'egress_ip: way back')
EGRESS_TABLES = TABLES.claim(
    range(50_000_000, 50_000_000 + (1 << 24)), 'egress_ip')
# Keepalive and hold time (s) of BGP instances without neighbours: the mark of
# the agent's instances in FRR, because nobody else chooses them.
EVPN_TIMERS = (ROUTE_PROTOCOL, 3 * ROUTE_PROTOCOL)
# Likewise, milliseconds until updates to several neighbours are joined.
EVPN_COALESCE = 44132
# The kernel's group of devices of VNIs, by which nftables knows their packets.
EVPN_GROUP = 44132

# OVS flow cookies on the provider bridge.
COOKIE_MAC_TWEAK = COOKIES.claim(0x999, 'fip_route: MAC-tweak')
COOKIE_HAIRPIN = COOKIES.claim(0x998, 'fip_route: hairpin')
COOKIE_RELAY = COOKIES.claim(0x997, 'gateway_drain: relay')
FLOW_COOKIES = (COOKIE_MAC_TWEAK, COOKIE_HAIRPIN, COOKIE_RELAY)
# That of ovn-bgp-agent: its flow has the match, priority and effect of the
# agent's, and stays at its end.  Replaced, a node is taken over without loss.
COOKIE_OVN_BGP_AGENT = COOKIES.claim(0x3e7, 'ovn-bgp-agent: MAC-tweak')
# Flows with these cookies may be replaced.
REPLACEABLE_COOKIES = (*FLOW_COOKIES, COOKIE_OVN_BGP_AGENT)
# Hairpin must win, or the kernel would send the packet back to the bridge.
PRIORITY_MAC_TWEAK = FLOW_PRIORITIES.claim(900, 'fip_route: MAC-tweak')
PRIORITY_HAIRPIN = FLOW_PRIORITIES.claim(910, 'fip_route: hairpin')
PRIORITY_RELAY = FLOW_PRIORITIES.claim(920, 'gateway_drain: relay')

# Relays: prefix of their names, and tunnel key (VNI).  OVN uses the same UDP
# port, and gives its switches and routers keys from 1 up.
RELAY_PREFIX = 'ona-'
RELAY_KEY = TUNNEL_KEYS.claim(0xffff44, 'gateway_drain: relay')
# Of further bridges; both ends derive them from the physical network.
_FURTHER_RELAY_KEYS = TUNNEL_KEYS.claim(
    range(0xfe0000, 0xff0000), 'gateway_drain: relays of further bridges')

# Sequence numbers in FRR's prefix list, a few for each network.  FRR gives a
# line without a number the highest plus 5, also in this range, and FRR 8.4
# sorts those from 2^31 on before all others.
PREFIX_LIST_FIRST = 1_000_000_000
PREFIX_LIST_LAST = 1_999_999_999
_PREFIX_LIST_SIZE = PREFIX_LIST_LAST - PREFIX_LIST_FIRST + 1
_NUMBERS_OF_A_NETWORK = 8

# Router advertisements of FRR: most milliseconds between two, and seconds for
# which a host keeps the router (RFC 4861, 6.2.1: 1800).  Nobody else chooses
# such odd numbers, so each marks the lines of an interface as the agent's.
RA_INTERVAL = 30_000 + ROUTE_PROTOCOL
RA_LIFETIME = 1800 + ROUTE_PROTOCOL

# veth pair between the default VRF and the provider VRF.
VETH_DEFAULT = 'veth-default'
VETH_PROVIDER = 'veth-provider'
VETH_ENDS = (VETH_DEFAULT, VETH_PROVIDER)
LINK_ALIAS = 'ovn-network-agent'
# IPv6 addresses of the pair's ends; a9fe is 169.254 in hexadecimal digits.
VETH_LINK_LOCAL = ('fe80::a9fe:1', 'fe80::a9fe:2')
# The next hop of static routes of IPv6 in the VRF, with its device.
NEXT_HOP_6 = f'{VETH_LINK_LOCAL[0]} {VETH_PROVIDER}'

# The IPv6 address of the device of each provider segment with IPv6, on every
# node: source of questions for neighbours, virtual gateway of routers.
SEGMENT_LINK_LOCAL = 'fe80::a9fe:a9fe'

# The virtual gateway of IPv4 where the subnet has no free address.  No device
# has it: OVN alone uses it, with a static MAC binding.
LINK_LOCAL_GATEWAY = '169.254.169.252'

# The MAC, locally administered, of the virtual gateway of a router with
# distributed floating IPs.  Several nodes use its binding at once, and the
# MAC-tweak flow of each writes the MAC of its own device.
VIRTUAL_GATEWAY_MAC = '02:6f:76:6e:61:01'

# The address that port_forward_dev has beside the managed VIPs; it is no VIP.
ANCHOR = '169.254.169.253/32'

# The nftables table of port_forward (ip and ip6); sets that follow routers.
NFT_TABLE = 'ovn-network-agent'
NFT_NETWORKS = 'provider_networks'
NFT_SNAT = 'snat_addresses'
NFT_GUARDED = 'guarded'
# Objects that no packet meets: provider networks as OVN has them (of those in
# NFT_NETWORKS no two intersect); destinations of connections, and removed ones
# that still have connections; a chain whose comment names what was loaded.
NFT_PREFIXES = 'provider_prefixes'
NFT_TARGETS = 'targets'
NFT_LEAVING = 'leaving_targets'
NFT_LOADED = 'loaded'
# Packet marks on the way to a destination and back.
MARK_FORWARD = MARKS.claim(0x100, 'port_forward: to a destination')
MARK_REPLY = MARKS.claim(0x200, 'port_forward: back')
# Of connections that the node translates to an egress address, and of answers.
MARK_EGRESS = MARKS.claim(0x400, 'egress_ip')
# No rule comes between the last two.
FORWARD_PRIORITIES = RULE_PRIORITIES.claim(range(150, 153), 'port_forward')
PRIORITY_FORWARD, PRIORITY_REPLY, PRIORITY_REPLY_GUARD = FORWARD_PRIORITIES

# The nftables table of egress_ip, in ip and ip6: machines and links whose
# packets leave translated or not at all; the egress address by machine and
# link; the egress addresses, at which no program of the node answers.
NFT_EGRESS = 'ovn-network-agent-egress'
NFT_MACHINES = 'machines'
NFT_ADDRESSES = 'addresses'
NFT_HELD = 'held'

# external_ids of Logical_Router_Static_Route rows.  They must not start with
# "neutron": Neutron's database sync deletes rows that carry such keys.
EXT_ID_MANAGED = 'ovn-network-agent'
EXT_ID_MANAGED_VALUE = 'managed'
EXT_ID_CHASSIS = 'ovn-network-agent-chassis'
# The name of the chassis and its host name.  The mark counts while
# EXT_ID_CHASSIS has the same host name: the Go program does not write it.
EXT_ID_OWNER = 'ovn-network-agent-owner'
EXT_ID_ADVERTISED = 'ovn-network-agent-advertised'

# external_ids of Gateway_Chassis and HA_Chassis rows: why an agent has lowered
# the priority to 0, and the earlier priority.
EXT_ID_DRAINED = 'ovn-network-agent-drained'
EXT_ID_EARLIER = 'ovn-network-agent-priority'

# external_ids of NB_Global: bfd-min-rx, bfd-min-tx and bfd-mult as an agent
# has written them; with a chassis behind, as its agent requests them.
EXT_ID_BFD = 'ovn-network-agent-bfd'
EXT_ID_BFD_REQUEST = 'ovn-network-agent-bfd-'

# external_ids of the local Open_vSwitch row: the routers that an operator
# wants to drain, 'all' or UUIDs, separated by commas.
EXT_ID_DRAIN = 'ovn-network-agent-drain'
# The same while an overlap lasts: tunnel addresses of the next owners, and the
# value that this agent has given to ovn-remote-<chassis>, if any.
EXT_ID_OVERLAP = 'ovn-network-agent-overlap'
EXT_ID_OVERLAP_REMOTE = 'ovn-network-agent-overlap-remote'

# Operators write what has a colon in its name, in external_ids.  Of NAT,
# Load_Balancer, Logical_Router_Port, Logical_Router and Logical_Switch rows:
# whether to announce addresses.
EXT_ID_ANNOUNCE = 'ovn-network-agent:announce'
# Of Logical_Router and Logical_Switch rows: the tag of the announced routes.
EXT_ID_TAG = 'ovn-network-agent:tag'
# Of Logical_Switch rows: the VNI in EVPN, its route distinguisher and targets
# (rd, rt, it, et); of Logical_Router rows: what the network has to have.
EXT_ID_EVPN = 'ovn-network-agent:evpn-'
EXT_ID_VNI = EXT_ID_EVPN + 'vni'

# Also in options of Logical_Router rows, with the name of the peering behind:
# the other router, and the prefixes that this one gives it and takes from it.
EXT_ID_PEER_TARGET = 'ovn-network-agent:peer:'
EXT_ID_PEER_EXPORT = 'ovn-network-agent:peer-export:'
EXT_ID_PEER_IMPORT = 'ovn-network-agent:peer-import:'
# external_ids of all rows of a peering, beside EXT_ID_MANAGED: the UUIDs of
# both routers, see peer_pair.
EXT_ID_PEER = 'ovn-network-agent-peer'
# Of rows that no router refers to: the UUID of the router whose side they are.
EXT_ID_PEER_SIDE = 'ovn-network-agent-peer-side'

# Also in options of Logical_Router rows; of Logical_Switch, Port_Group rows:
# the object of [egress_ip] file that has their machines, too.
EXT_ID_EGRESS_SELECT = 'ovn-network-agent:egress-ip'
# Of the local Open_vSwitch row: whether this node may have egress addresses of
# the mode "host".
EXT_ID_EGRESS_NODE = 'ovn-network-agent:egress'
# external_ids of all rows of an egress address, beside EXT_ID_MANAGED: the
# object; of rows that no router refers to: the UUID of the router; of NAT rows
# by which a machine keeps its own address up to the node: egress address and
# translating chassis.
EXT_ID_EGRESS = 'ovn-network-agent-egress'
EXT_ID_EGRESS_ROUTER = 'ovn-network-agent-egress-router'
EXT_ID_EGRESS_ADDRESS = 'ovn-network-agent-egress-address'
EXT_ID_EGRESS_CHASSIS = 'ovn-network-agent-egress-chassis'
# external_ids of NB_Global, with a chassis behind: the addresses of its links,
# as '192.0.2.7/24', separated by blanks, where it can have egress addresses.
EXT_ID_EGRESS_NETWORKS = 'ovn-network-agent-egress-networks-'

# Tags of the agent's routes in FRR.  A static route with one and with the next
# hop of the agent is the agent's.  FRR takes the lower 24 bits of a kernel
# route's metric for its metric, so the tags have 23 bits.
TAGS = ROUTE_TAGS.claim(range(4_400_000, 4_500_000), 'announced routes')
# In FRR, the mark of a route that is no host route, or whose next hop is a
# gateway port, without another tag.  A host route needs none.
NETWORK_TAG = ROUTE_TAGS.claim(4_500_000, 'announced networks of tenants')


def tag(text: str) -> int | None:
    """The tag that a text of a row, an option, or FRR names, if any."""
    digits = len(str(TAGS.start))
    if len(text) != digits or not (text.isascii() and text.isdigit()):
        return None
    return int(text) if int(text) in TAGS else None


class Owner(typing.NamedTuple):
    """The chassis whose agent has written a route of NB.

    Two chassis may have one host name, so the mark has both names.  The Go
    program and earlier agents write the host name alone.
    """

    hostname: str = ''
    chassis: str = ''

    def __str__(self) -> str:
        if self.chassis in ('', self.hostname):
            return self.hostname
        return (f'{self.hostname} (chassis {self.chassis})' if self.hostname
                else self.chassis)


def owner(external_ids: Mapping[str, str]) -> Owner:
    """The :class:`Owner` by the external_ids of a managed route."""
    hostname = external_ids.get(EXT_ID_CHASSIS, '')
    name, host = external_ids.get(EXT_ID_OWNER, ''), f'@{hostname}'
    return Owner(hostname,
                 name.removesuffix(host) if name.endswith(host) else '')


def marks(of: Owner) -> dict[str, str]:
    """The external_ids of a route that an agent writes."""
    return {EXT_ID_MANAGED: EXT_ID_MANAGED_VALUE,
            EXT_ID_CHASSIS: of.hostname,
            EXT_ID_OWNER: f'{of.chassis}@{of.hostname}'}


def is_managed(external_ids: Mapping[str, str]) -> bool:
    """Whether a row carries the mark of an agent (of any node).

    The rows of peerings and egress addresses have a writer of their own, and
    belong to no node.
    """
    return (external_ids.get(EXT_ID_MANAGED) == EXT_ID_MANAGED_VALUE and
            not {EXT_ID_PEER, EXT_ID_EGRESS} & external_ids.keys())


def peer_pair(one: str, other: str) -> str:
    """The key of the peering of two routers, by the UUIDs of their rows."""
    return '~'.join(sorted((one, other)))


def peer_of(external_ids: Mapping[str, str]) -> str:
    """The key of the peering that a row belongs to, or ''."""
    return (external_ids.get(EXT_ID_PEER, '')
            if external_ids.get(EXT_ID_MANAGED) == EXT_ID_MANAGED_VALUE
            else '')


def relay_name(address: str, network: str = '') -> str:
    """Name of the port to another chassis, at most 15 characters (IFNAMSIZ).

    :param address: of the other chassis' tunnel
    :param network: physical network of a further bridge, '' for the default
    """
    ip = ip_text.address(address)
    if network:
        return f'{RELAY_PREFIX}n{zlib.crc32(ip.packed + network.encode()):08x}'
    digits = (ip.packed.hex() if ip.version == 4 else
              f'{zlib.crc32(ip.packed):08x}')
    return RELAY_PREFIX + digits


def relay_key(network: str = '') -> int:
    """Tunnel key (VNI) of the relays of a bridge, as :func:`relay_name`."""
    return (_FURTHER_RELAY_KEYS[zlib.crc32(network.encode()) & 0xffff]
            if network else RELAY_KEY)


def prefix_list_numbers(network: str) -> list[int]:
    """The sequence numbers of the line for a network, the preferred first."""
    begin = zlib.crc32(network.encode())
    return [PREFIX_LIST_FIRST + (begin + step) % _PREFIX_LIST_SIZE
            for step in range(_NUMBERS_OF_A_NETWORK)]


def is_prefix_list_number(network: str, number: int) -> bool:
    """Whether a number is one of :func:`prefix_list_numbers`."""
    return PREFIX_LIST_FIRST <= number <= PREFIX_LIST_LAST and (
        number - PREFIX_LIST_FIRST - zlib.crc32(network.encode())
    ) % _PREFIX_LIST_SIZE < _NUMBERS_OF_A_NETWORK
