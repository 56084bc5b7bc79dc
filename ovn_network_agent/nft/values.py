# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A table of port forwarding as frozen values, packed to cross the wall. Pure.

The agent makes them from its rules, and the privileged side renders them
(:mod:`nft.rendering`). No value holds words of nft, so none can become a
command.

Only tuples, numbers, truth values and short texts cross the wall; all
are checked here before they become a value.
"""

import dataclasses
import re
import typing
from typing import Any

from ovn_network_agent.common import ip_text
from ovn_network_agent.nft import elements

_NAME = re.compile(r'[a-z][a-z0-9_]{0,62}')
#: (index of a destination, number of buckets) of each share
Shares: typing.TypeAlias = tuple[tuple[int, int], ...]
#: (protocol, VIP, port, destination, its port)
Target: typing.TypeAlias = tuple[str, str, int, str, int]
#: destinations and shares of all services together; 1,000 VIPs with two rules
#: of 256 ranges each have 520,000
MOST = 1 << 21
# drivers.buckets has no larger table, and no weight in the rules is larger.
_MOST_BUCKETS = 1024
_PORTS = range(1, 65536)
# "This network" and the reserved addresses of RFC 1122, section 3.2.1.3.
_NOBODY = (0, *range(240, 256))


def is_name(name: object) -> bool:
    """Whether a chain or set of ours can have this name.

    The names of an earlier version count, too: a new table removes its chains.
    """
    return type(name) is str and bool(_NAME.fullmatch(name))


class Destination(typing.NamedTuple):
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


class Vip(typing.NamedTuple):
    """An address with services."""

    # Canonical text.
    address: str
    # The source of clients in provider networks is replaced.
    hairpin_masquerade: bool
    # The same for SNAT addresses of routers.
    router_masquerade: bool
    # Not empty.
    services: tuple[Service, ...]


class Table(typing.NamedTuple):
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


def pack(table: Table) -> tuple[object, ...]:
    """Pack a table into the values that cross the wall."""
    return (table.family, table.zone, table.vrf,
            tuple((vip.address, vip.hairpin_masquerade,
                   vip.router_masquerade,
                   tuple(map(_packed, vip.services)))
                  for vip in table.vips), table.vnis)


def _packed(service: Service) -> tuple[object, ...]:
    return (service.proto, service.port, service.dest_port,
            service.masquerade,
            tuple((destination.address, destination.lasting)
                  for destination in service.destinations), service.shares)


def unpack(packed: object) -> Table:
    """Unpack a table of :func:`pack`; the sender is not trusted.

    :raises ValueError: when it cannot be of a table of rules
    """
    family, zone, vrf, vips, vnis = _fields(packed, 5, 'table')
    if type(family) is not str or family not in elements.FAMILIES:
        raise ValueError(f'{family!r} is no family of ours')
    table = Table(
        family, _integer(zone, _PORTS, 'zone'), _truth(vrf),
        tuple(_vip(elements.FAMILIES[family], vip)
              for vip in _some(vips, 'VIPs')), _truth(vnis))
    _check_services([(vip.address, service.proto, service.port)
                     for vip in table.vips for service in vip.services])
    _check_size(table)
    return table


def _vip(version: int, packed: object) -> Vip:
    address, hairpin, router, services = _fields(packed, 4, 'VIP')
    return Vip(
        _address(version, address), _truth(hairpin), _truth(router),
        tuple(_service(version, service)
              for service in _some(services, 'services')))


def _service(version: int, packed: object) -> Service:
    proto, port, dest_port, masquerade, destinations, shares = _fields(
        packed, 6, 'service')
    if type(proto) is not str or proto not in elements.PROTOCOLS:
        raise ValueError(f'{proto!r} is neither tcp nor udp')
    destinations = tuple(_destination(version, destination) for destination
                         in _some(destinations, 'destinations'))
    return Service(
        proto, _integer(port, _PORTS, 'port'),
        _integer(dest_port, _PORTS, 'port'), _truth(masquerade),
        destinations, _shares(shares, range(len(destinations))))


def _destination(version: int, packed: object) -> Destination:
    address, lasting = _fields(packed, 2, 'destination')
    return Destination(_address(version, address), _truth(lasting))


def _shares(packed: object, places: range) -> Shares:
    """The shares of a service.

    :param places: range of the indexes of its destinations
    """
    if type(packed) is not tuple:
        raise ValueError('shares that are no tuple')
    for share in packed:
        index, buckets = _fields(share, 2, 'share')
        if type(index) is not int or index not in places:
            raise ValueError(f'a share of no destination: {index!r}')
        if type(buckets) is not int or not 0 < buckets <= _MOST_BUCKETS:
            raise ValueError(f'{buckets!r} is no number of buckets')
    return packed


def _check_services(keys: list[tuple[str, str, int]]) -> None:
    if len(keys) != len(set(keys)):
        raise ValueError('a service that is there twice')


def _check_size(table: Table) -> None:
    size = sum(len(service.destinations) + len(service.shares)
               for vip in table.vips for service in vip.services)
    if size > MOST:
        raise ValueError(f'more than {MOST} destinations and shares')


def _fields(packed: object, count: int, what: str) -> tuple[Any, ...]:
    """The fields of a value, a tuple."""
    if type(packed) is not tuple or len(packed) != count:
        raise ValueError(f'no {what}: not {count} fields')
    return packed


def _some(packed: object, what: str) -> tuple[Any, ...]:
    """A tuple that is not empty."""
    if type(packed) is not tuple or not packed:
        raise ValueError(f'no {what}')
    return packed


def _truth(value: object) -> bool:
    if type(value) is not bool:
        raise ValueError(f'{value!r} is neither true nor false')
    return value


def _integer(value: object, numbers: range, what: str) -> int:
    if type(value) is not int or value not in numbers:
        raise ValueError(f'{value!r} is no {what}')
    return value


def _address(version: int, text: object) -> str:
    """An address that can belong to a host, in canonical text."""
    if type(text) is not str:
        raise ValueError('an address that is no text')
    address = ip_text.address(text)
    if address.version != version or str(address) != text:
        raise ValueError(f'{text!r} is no canonical address of IPv{version}')
    if (address.is_multicast or address.is_loopback or
            _is_nobody(address)):
        raise ValueError(f'{text!r} is not the address of a host')
    return text


def _is_nobody(address: ip_text.Address) -> bool:
    """Whether rules cannot name an address, see :mod:`forward.checks`."""
    if address.version == 4:
        return address.packed[0] in _NOBODY
    return (address.is_unspecified or address.is_link_local or
            address.ipv4_mapped is not None)
