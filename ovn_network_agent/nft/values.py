# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A table of port forwarding as frozen values, which cross the wall. Pure.

The agent makes them from its rules, and the privileged side renders them
(:mod:`nft.rendering`). No value holds words of nft, so none can become a
command.
"""

import dataclasses
import re
import typing

_NAME = re.compile(r'[a-z][a-z0-9_]{0,62}')


def is_name(name: object) -> bool:
    """Whether a chain or set of ours can have this name.

    The names of an earlier version count, too: a new table removes its chains.
    """
    return type(name) is str and bool(_NAME.fullmatch(name))


#: (index of a destination, number of buckets) of each share
Shares: typing.TypeAlias = tuple[tuple[int, int], ...]
#: (protocol, VIP, port, destination, its port)
Target: typing.TypeAlias = tuple[str, str, int, str, int]


@dataclasses.dataclass(frozen=True, slots=True)
class Destination:
    """A target of the connections to a service."""

    # Canonical text.
    address: str
    # Whether its present connections may stay.
    lasting: bool = True


@dataclasses.dataclass(frozen=True, slots=True)
class Service:
    """A port of a VIP."""

    # 'tcp' or 'udp'.
    proto: str
    # Destination port of the client's packets.
    port: int
    # Port of the destinations.
    dest_port: int
    # Destinations see an address of this node instead of the client's.
    masquerade: bool
    destinations: tuple[Destination, ...]
    # For new connections: a client's address hashes to a bucket, which the
    # destinations have in this order. Without a share, no client has one.
    shares: Shares


@dataclasses.dataclass(frozen=True, slots=True)
class Vip:
    """An address with services."""

    # Canonical text.
    address: str
    # The source of clients in provider networks is replaced.
    hairpin_masquerade: bool
    # The same for SNAT addresses of routers.
    router_masquerade: bool
    # Not empty.
    services: tuple[Service, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Table:
    """The table of one family, without the elements that follow routers."""

    # 'ip' or 'ip6'.
    family: str
    # Connection tracking zone, 1..65535.
    zone: int
    # The VIPs are in a VRF, so that replies need marks.
    vrf: bool
    vips: tuple[Vip, ...]
    # There may be devices of VNIs, whose packets are tenants', and never for
    # the VIPs.
    vnis: bool = False


def targets(table: Table) -> list[Target]:
    """The targets of the lasting connections of a table, sorted."""
    return sorted({
        (service.proto, vip.address, service.port, destination.address,
         service.dest_port)
        for vip in table.vips for service in vip.services
        for destination in service.destinations if destination.lasting})
