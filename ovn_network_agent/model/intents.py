# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Rows that operators want in OVN: of egress addresses, of peerings."""

import enum
import typing


class EgressMode(enum.Enum):
    """Where the source of a packet is translated to the egress address."""

    ROUTER = 'router'  # by the router, at its only gateway port
    ECMP = 'ecmp'  # by the router, at several gateway ports at once
    # By the kernel of the gateway, on another interface of the node.
    HOST = 'host'


class EgressMachine(typing.NamedTuple):
    """One address of a port that a selection has."""

    port: str  # name of the Logical_Switch_Port
    address: str
    # UUID of the Logical_Router row, '' without a router to the outside.
    router: str
    # Why it does not leave with an egress address of this object, or ''.
    why: str = ''


class EgressPlace(typing.NamedTuple):
    """A router, gateway port or node, by the mode, that needs an address."""

    # UUID of the Logical_Router row, and its names.
    router: str
    called: str
    # '' where rows need not say it; chassis if the mode is HOST.
    port: str
    chassis: str
    family: int  # 4 or 6
    # '' without one, and the reason.
    address: str
    why: str = ''
    nexthop: str = ''  # of packets by the port, if the mode is ECMP
    # Prefixes that the router does not reach by gateway ports, likewise.
    inner_networks: tuple[str, ...] = ()


class EgressIp(typing.NamedTuple):
    """An object of the file, and what has become of it."""

    name: str
    mode: EgressMode
    addresses: tuple[str, ...]
    places: tuple[EgressPlace, ...] = ()  # sorted
    machines: tuple[EgressMachine, ...] = ()
    # Prefixes outside for which they count, all without one.
    destinations: tuple[str, ...] = ()
    # Why nothing at all is written, or ''; selections that name nothing.
    why: str = ''
    problems: tuple[str, ...] = ()


class EgressHost(typing.NamedTuple):
    """A machine that a node translates, by a row of NB.

    On every node with the provider network: each may get the gateway.
    """

    # Name of the object, and the egress address.
    name: str
    address: str
    chassis: str  # the node, by the name of its chassis
    machine: str
    # UUID of the Logical_Router row, and its name for people.
    router: str
    called: str
    # Name, MAC and address of the gateway port, the way back; or ''.
    port: str = ''
    mac: str = ''
    via: str = ''
    # (physical network, VLAN or 0) of its provider network, sorted.
    segments: tuple[tuple[str, int], ...] = ()
    # The object of another router's machine with this address on this node
    # that comes first, or ''.
    taken_by: str = ''


class PeerState(enum.Enum):
    """What has become of an intent; follows from rows, never stored."""

    # The other router may not exist, be misspelt or not have agreed.
    PENDING = 'pending'
    CREATED = 'created'
    CONFLICT = 'conflict'
    ERROR = 'error'


class Side(typing.NamedTuple):
    """One of both routers, and what it takes from the other one."""

    router: str  # UUID of the Logical_Router row
    # Of the port that leads to the other router; 'address/len' of one host.
    port: str
    mac: str
    addresses: tuple[str, ...]
    uplinks: tuple[str, ...]  # names of the ports to provider networks
    routes: tuple[tuple[str, str], ...]  # (prefix, next hop), sorted
    # By family the name of the Address_Set row with the prefixes.
    address_sets: tuple[tuple[int, str], ...]

    def prefixes(self, family: int) -> tuple[str, ...]:
        """The prefixes of one family behind the other router."""
        return tuple(prefix for prefix, _nexthop in self.routes
                     if (':' in prefix) == (family == 6))


class Peering(typing.NamedTuple):
    """One router's intent to peer, and what has become of it."""

    # UUID of the Logical_Router row, and its names.
    router: str
    called: str
    # Printable, and valid unless the state is ERROR.
    name: str
    state: PeerState
    why: str = ''  # why it is not created, in one line, or ''
    # See resources.Peering; '' unless created, and likewise the sides.
    pair: str = ''
    sides: tuple[Side, ...] = ()
    target: str = ''  # the other router, only as the intent names it
    # What the other router takes if CREATED, else what this would give.
    gives: tuple[str, ...] = ()

    @property
    def takes(self) -> tuple[str, ...]:
        """The prefixes that this router has of the other one."""
        return tuple(prefix for side in self.sides
                     if side.router == self.router
                     for prefix, _nexthop in side.routes)
