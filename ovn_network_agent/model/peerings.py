# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Peerings of two routers inside OVN."""

import dataclasses
import enum


class PeerState(enum.Enum):
    """What has become of an intent; follows from rows, never stored."""

    # The other router may not exist, be misspelt or not have agreed.
    PENDING = 'pending'
    CREATED = 'created'
    CONFLICT = 'conflict'
    ERROR = 'error'


@dataclasses.dataclass(frozen=True, slots=True)
class Side:
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


@dataclasses.dataclass(frozen=True, slots=True)
class Peering:
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
