# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The marks by which an agent recognises its objects, and its numbers.

After a start, an agent recognises the objects of a former run by these marks
alone.  The marks equal the identifiers of the Go program, the older program
of the same name.  So an agent can replace the Go program on a node, and a
cloud may run both.  A changed mark needs a migration, or objects with the old
mark would never be removed.

A number that must not be used twice on a node is claimed here, also the
default of an option.  An import fails when two drivers use one number.
Modules of other projects claim their numbers by the same objects.
"""

from collections.abc import Mapping
import typing
import zlib

from ovn_network_agent import iptext

_Numbers = typing.TypeVar('_Numbers', int, range)


class Claims:
    """The numbers of one kind that are used on a node, with their owners.

    :param kind: such as 'flow cookie'
    :param form: format of a number in messages
    """

    def __init__(self, kind: str, form: str = 'd') -> None:
        self._kind = kind
        self._form = form
        self._claimed: list[tuple[range, str]] = []

    def claim(self, numbers: _Numbers, owner: str) -> _Numbers:
        """Reserve a number, or all numbers of a range.

        :param owner: the driver, and the purpose if the driver has several
        :returns: the numbers
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
# Policy rules carry the same number in FRA_PROTOCOL (kernel >= 4.17).
RULE_PROTOCOL = ROUTE_PROTOCOL
# Addresses carry the number in IFA_PROTO (kernel >= 5.18), and neighbours in
# NDA_PROTOCOL (kernel >= 5.0).  Older kernels ignore these attributes, and the
# Go program does not set them.  Then the agent's objects are the configured
# ones.
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
    """The priorities of all rules of the veth leak.

    :param priority: the option veth_leak_rule_priority
    """
    return range(priority - 3, priority + 2)


RULE_PRIORITIES.claim(leak_priorities(LEAK_RULE_PRIORITY), 'veth_leak')

# The driver evpn: the routing tables, one for each possible VNI, and
# the priority of the rules that keep tenants' packets out of other tables,
# which come behind the kernel's own rule for VRFs.
EVPN_TABLES = TABLES.claim(range(10_000_000, 10_000_000 + (1 << 24)), 'evpn')
EVPN_RULE_PRIORITY = RULE_PRIORITIES.claim(1100, 'evpn')
# The driver network_peer, defaults of options: policies that let the sources
# of a peer in, and behind these the policies that drop all others.
PEER_ALLOW_PRIORITY = POLICY_PRIORITIES.claim(600, 'network_peer: allow')
PEER_DROP_PRIORITY = POLICY_PRIORITIES.claim(500, 'network_peer: drop')
# The driver egress_ip: default of the priority of policies that lead machines
# to several gateway ports; they come behind all policies that drop or allow.
# What stays inside passes first.
EGRESS_POLICY_PRIORITY = POLICY_PRIORITIES.claim(100, 'egress_ip')
POLICY_PRIORITIES.claim(EGRESS_POLICY_PRIORITY - 1, 'egress_ip: reroute')
# Its rules: the way back to machines, the way out, and behind these the drop
# of what machines send while there is no way out.  They come before the
# kernel's own rule for VRFs (1000): a packet to a machine may arrive in the
# VRF of a link, whose default route would match.
EGRESS_PRIORITIES = RULE_PRIORITIES.claim(range(900, 903), 'egress_ip')
EGRESS_BACK, EGRESS_OUT, EGRESS_DROP = EGRESS_PRIORITIES
# Its tables: the way back, and one with the routes of each link, by the index
# of the link (unsigned 24 bits are enough for what the kernel gives).
EGRESS_BACK_TABLE = TABLES.claim(44_000_000, 'egress_ip: way back')
EGRESS_TABLES = TABLES.claim(
    range(50_000_000, 50_000_000 + (1 << 24)), 'egress_ip')
# Keepalive and hold time of BGP instances without any neighbour, in seconds:
# the mark of the agent's instances in FRR, because nobody else chooses them.
EVPN_TIMERS = (ROUTE_PROTOCOL, 3 * ROUTE_PROTOCOL)
# Likewise, milliseconds until updates to several neighbours are joined.
EVPN_COALESCE = 44132
# The kernel's device group of all devices of VNIs, by which nftables knows
# the packets of tenants.
EVPN_GROUP = 44132

# OVS flow cookies on the provider bridge.
COOKIE_MAC_TWEAK = COOKIES.claim(0x999, 'fip_route: MAC-tweak')
COOKIE_HAIRPIN = COOKIES.claim(0x998, 'fip_route: hairpin')
COOKIE_RELAY = COOKIES.claim(0x997, 'gateway_drain: relay')
FLOW_COOKIES = (COOKIE_MAC_TWEAK, COOKIE_HAIRPIN, COOKIE_RELAY)
# That of ovn-bgp-agent, whose MAC-tweak flow has the match, the priority and
# the effect of the agent's, and stays when ovn-bgp-agent has ended.  So the
# agent's flow takes its place, and the node can be taken over without a loss.
COOKIE_OVN_BGP_AGENT = COOKIES.claim(0x3e7, 'ovn-bgp-agent: MAC-tweak')
# Flows with these cookies may be replaced.
REPLACEABLE_COOKIES = (*FLOW_COOKIES, COOKIE_OVN_BGP_AGENT)
# A hairpin flow must win over a MAC-tweak flow, or the kernel would send the
# packet back to the bridge.
PRIORITY_MAC_TWEAK = FLOW_PRIORITIES.claim(900, 'fip_route: MAC-tweak')
PRIORITY_HAIRPIN = FLOW_PRIORITIES.claim(910, 'fip_route: hairpin')
PRIORITY_RELAY = FLOW_PRIORITIES.claim(920, 'gateway_drain: relay')

# Relays: the prefix of their names, and their tunnel key (VNI).  OVN uses the
# same UDP port, and gives its switches and routers keys from 1 up.
RELAY_PREFIX = 'ona-'
RELAY_KEY = TUNNEL_KEYS.claim(0xffff44, 'gateway_drain: relay')
# Further bridges have relays with keys of their own, which both ends derive
# from the physical network: the range has 16 bits.
_FURTHER_RELAY_KEYS = TUNNEL_KEYS.claim(
    range(0xfe0000, 0xff0000), 'gateway_drain: relays of further bridges')

# Sequence numbers of the agent's lines in FRR's prefix list.  Each network
# has a few numbers of this range (:func:`prefix_list_numbers`).  FRR gives a
# line without a number the highest number plus 5, which may be in the range,
# too.  FRR 8.4 sorts numbers from 2^31 on before all others.
PREFIX_LIST_FIRST = 1_000_000_000
PREFIX_LIST_LAST = 1_999_999_999
_PREFIX_LIST_SIZE = PREFIX_LIST_LAST - PREFIX_LIST_FIRST + 1
_NUMBERS_OF_A_NETWORK = 8

# Router advertisements of FRR: the most milliseconds between two, and the
# seconds for which a host keeps the router (default of RFC 4861, 6.2.1: 1800).
# Nobody else chooses such odd numbers, so each of both marks the lines of an
# interface as the agent's.
RA_INTERVAL = 30_000 + ROUTE_PROTOCOL
RA_LIFETIME = 1800 + ROUTE_PROTOCOL

# veth pair between the default VRF and the provider VRF.
VETH_DEFAULT = 'veth-default'
VETH_PROVIDER = 'veth-provider'
VETH_ENDS = (VETH_DEFAULT, VETH_PROVIDER)
LINK_ALIAS = 'ovn-network-agent'
# IPv6 addresses of the pair's ends; a9fe is 169.254 in hexadecimal digits.
VETH_LINK_LOCAL = ('fe80::a9fe:1', 'fe80::a9fe:2')
# The next hop of static routes of IPv6 in the VRF.  A link-local address says
# nothing without its device.
NEXT_HOP_6 = f'{VETH_LINK_LOCAL[0]} {VETH_PROVIDER}'

# The IPv6 address of the device of each provider segment that has IPv6
# addresses, on every node: the source of questions for neighbours, and the
# virtual gateway of the routers.
SEGMENT_LINK_LOCAL = 'fe80::a9fe:a9fe'

# The virtual gateway of IPv4 where the subnet has no free address for it.  No
# device has the address: OVN alone uses it, with a static MAC binding.
LINK_LOCAL_GATEWAY = '169.254.169.252'

# The MAC of the virtual gateway of a router with distributed floating IPs.
# Several nodes use its binding at once, and each node's MAC-tweak flow writes
# the MAC of its own device.  The address is locally administered.
VIRTUAL_GATEWAY_MAC = '02:6f:76:6e:61:01'

# The address that port_forward_dev has beside the managed VIPs; it is no VIP.
ANCHOR = '169.254.169.253/32'

# The nftables table of port_forward, in the families ip and ip6, and its sets
# whose elements follow the routers.
NFT_TABLE = 'ovn-network-agent'
NFT_NETWORKS = 'provider_networks'
NFT_SNAT = 'snat_addresses'
NFT_GUARDED = 'guarded'
# Objects of the table that no packet meets.  The set of prefixes has the
# provider networks as OVN has them, while NFT_NETWORKS has no two that
# intersect.  The sets of targets have the destinations of connections, and
# the removed destinations that still have connections.  The comment of a rule
# in the chain names what the table was loaded from.
NFT_PREFIXES = 'provider_prefixes'
NFT_TARGETS = 'targets'
NFT_LEAVING = 'leaving_targets'
NFT_LOADED = 'loaded'
# Packet marks on the way to a destination and back, and the priorities of the
# policy rules that match them.
MARK_FORWARD = MARKS.claim(0x100, 'port_forward: to a destination')
MARK_REPLY = MARKS.claim(0x200, 'port_forward: back')
# Of connections that the node translates to an egress address, and of their
# answers.
MARK_EGRESS = MARKS.claim(0x400, 'egress_ip')
# The guard is directly behind PRIORITY_REPLY, so that no other rule comes in
# between.
FORWARD_PRIORITIES = RULE_PRIORITIES.claim(range(150, 153), 'port_forward')
PRIORITY_FORWARD, PRIORITY_REPLY, PRIORITY_REPLY_GUARD = FORWARD_PRIORITIES

# The nftables table of egress_ip, in the families ip and ip6: machines and
# links whose packets leave translated or not at all; by machine and link the
# egress address; the egress addresses, at which no program of the node
# answers; and the chain of every table, as in NFT_TABLE.
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

# external_ids of Gateway_Chassis and HA_Chassis rows: the reason why an agent
# has lowered the priority to 0, and the earlier priority.
EXT_ID_DRAINED = 'ovn-network-agent-drained'
EXT_ID_EARLIER = 'ovn-network-agent-priority'

# external_ids of the NB_Global row: the values of the options bfd-min-rx,
# bfd-min-tx and bfd-mult that an agent has written; and, with the name of a
# chassis behind the prefix, the values that the agent there requests.
EXT_ID_BFD = 'ovn-network-agent-bfd'
EXT_ID_BFD_REQUEST = 'ovn-network-agent-bfd-'

# external_ids of the local Open_vSwitch row: the routers that an operator
# wants to drain, 'all' or UUIDs, separated by commas.
EXT_ID_DRAIN = 'ovn-network-agent-drain'

# external_ids of the local Open_vSwitch row while an overlap lasts: the tunnel
# addresses of the next owners, and the value that this agent has given to the
# key ovn-remote-<chassis>, if any.
EXT_ID_OVERLAP = 'ovn-network-agent-overlap'
EXT_ID_OVERLAP_REMOTE = 'ovn-network-agent-overlap-remote'

# external_ids of NAT, Load_Balancer, Logical_Router_Port, Logical_Router and
# Logical_Switch rows, which operators write: whether to announce addresses.
EXT_ID_ANNOUNCE = 'ovn-network-agent:announce'
# external_ids of Logical_Router and Logical_Switch rows, which operators
# write: the tag of the announced routes.
EXT_ID_TAG = 'ovn-network-agent:tag'
# external_ids of Logical_Switch rows, which operators write: the VNI in EVPN,
# and its route distinguisher and targets (rd, rt, it, et); of Logical_Router
# rows: what the network has to have.
EXT_ID_EVPN = 'ovn-network-agent:evpn-'
EXT_ID_VNI = EXT_ID_EVPN + 'vni'

# options or external_ids of Logical_Router rows, which operators write, with
# the name of the peering behind: the other router, and the prefixes that this
# router gives it and takes from it.
EXT_ID_PEER_TARGET = 'ovn-network-agent:peer:'
EXT_ID_PEER_EXPORT = 'ovn-network-agent:peer-export:'
EXT_ID_PEER_IMPORT = 'ovn-network-agent:peer-import:'
# external_ids of all rows of a peering, beside EXT_ID_MANAGED: the UUIDs of
# both routers, see peer_pair.
EXT_ID_PEER = 'ovn-network-agent-peer'
# Of rows that no router refers to: the UUID of the router whose side they are.
EXT_ID_PEER_SIDE = 'ovn-network-agent-peer-side'

# options or external_ids of Logical_Router rows, external_ids of
# Logical_Switch and Port_Group rows, which operators write: the name of the
# object of [egress_ip] file that has their machines, too.
EXT_ID_EGRESS_SELECT = 'ovn-network-agent:egress-ip'
# external_ids of the local Open_vSwitch row, which operators write: whether
# this node may have egress addresses of the mode "host".
EXT_ID_EGRESS_NODE = 'ovn-network-agent:egress'
# external_ids of all rows of an egress address, beside EXT_ID_MANAGED: the
# name of the object; of NAT rows by which a machine keeps its own address up
# to the node: the egress address, and the chassis that translates.
EXT_ID_EGRESS = 'ovn-network-agent-egress'
# Of rows that no router refers to: the UUID of the router.
EXT_ID_EGRESS_ROUTER = 'ovn-network-agent-egress-router'
EXT_ID_EGRESS_ADDRESS = 'ovn-network-agent-egress-address'
EXT_ID_EGRESS_CHASSIS = 'ovn-network-agent-egress-chassis'
# external_ids of the NB_Global row, with the name of a chassis behind: the
# addresses of its links with their lengths, separated by blanks, as
# '192.0.2.7/24': the networks that it can have egress addresses in.
EXT_ID_EGRESS_NETWORKS = 'ovn-network-agent-egress-networks-'

# The tags that routes of the agent may have in FRR.  A static route with such
# a tag and with the next hop of the agent is the agent's.  FRR takes the lower
# 24 bits of a kernel route's metric for its metric, so the tags have 23 bits.
TAGS = ROUTE_TAGS.claim(range(4_400_000, 4_500_000), 'announced routes')
# FRR's mark for a route of the agent that is no host route, or whose next hop
# is a gateway port, if it has no other tag.  A host route needs none.
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
    """The key of the peering of two routers.

    :param one: UUID of the row of a router; likewise other
    """
    return '~'.join(sorted((one, other)))


def peer_of(external_ids: Mapping[str, str]) -> str:
    """The key of the peering that a row belongs to, or ''."""
    return (external_ids.get(EXT_ID_PEER, '')
            if external_ids.get(EXT_ID_MANAGED) == EXT_ID_MANAGED_VALUE
            else '')


def relay_name(address: str, network: str = '') -> str:
    """Name of the port to another chassis, at most 15 characters (IFNAMSIZ).

    :param address: IP address of the other chassis' tunnel
    :param network: physical network of a further bridge, '' for the default
        bridge
    """
    ip = iptext.address(address)
    if network:
        return f'{RELAY_PREFIX}n{zlib.crc32(ip.packed + network.encode()):08x}'
    digits = (ip.packed.hex() if ip.version == 4 else
              f'{zlib.crc32(ip.packed):08x}')
    return RELAY_PREFIX + digits


def relay_key(network: str = '') -> int:
    """Tunnel key (VNI) of the relays of a bridge.

    :param network: as for :func:`relay_name`
    """
    return (_FURTHER_RELAY_KEYS[zlib.crc32(network.encode()) & 0xffff]
            if network else RELAY_KEY)


def prefix_list_numbers(network: str) -> list[int]:
    """The sequence numbers that the agent's line for a network may have.

    :param network: such as '198.51.100.0/24'
    :returns: the preferred number first
    """
    begin = zlib.crc32(network.encode())
    return [PREFIX_LIST_FIRST + (begin + step) % _PREFIX_LIST_SIZE
            for step in range(_NUMBERS_OF_A_NETWORK)]


def is_prefix_list_number(network: str, number: int) -> bool:
    """Whether a number is one of :func:`prefix_list_numbers`."""
    return PREFIX_LIST_FIRST <= number <= PREFIX_LIST_LAST and (
        number - PREFIX_LIST_FIRST - zlib.crc32(network.encode())
    ) % _PREFIX_LIST_SIZE < _NUMBERS_OF_A_NETWORK
