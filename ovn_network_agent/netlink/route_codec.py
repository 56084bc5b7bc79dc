# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A fast codec of routes, for thousands of routes at once.

A takeover writes thousands of /32 routes, and each reading dumps them.
pyroute2 takes 20 to 60 times as long (decision record 0012), during which the
addresses would be unreachable. Tests prove that both codecs agree.

Struct rtmsg and its attributes are in linux/rtnetlink.h. Attributes are
aligned to four bytes; the two highest bits of a type are flags.
"""

from collections.abc import Iterable
import errno
import socket
import struct
import sys
import typing

from ovn_network_agent.netlink import texts
from ovn_network_agent.netlink import wire

ATTRIBUTE = struct.Struct('=HH')  # length with this header, type
U32 = struct.Struct('=I')
NLA_TYPE_MASK = 0x3fff

# family, destination length, source length, tos, table, protocol, scope,
# type, flags
RTMSG = struct.Struct('=BBBBBBBBI')
RTA_DST = 1
RTA_OIF = 4
RTA_GATEWAY = 5
RTA_PRIORITY = 6
RTA_MULTIPATH = 9
RTA_TABLE = 15
# Of another family than the route (RFC 8950), after that family (struct rtvia
# of linux/rtnetlink.h).
RTA_VIA = 18
VIA = RTA_VIA, 'RTA_VIA', 'binary'
_VIA_HEAD = 2

RTN_UNICAST = 1
# Made by the kernel for an address, and removed with it.
RTPROT_KERNEL = 2
RT_SCOPE_UNIVERSE = 0
RT_SCOPE_LINK = 253
RT_SCOPE_NOWHERE = 255
RTM_F_CLONED = 0x200
# The gateway is on the device, whatever the other routes say.
RTNH_F_ONLINK = 4

MAIN_TABLE = 254

# Where an IPv4 route has its destination: after the head, the table, and the
# header of its own attribute (fib_dump_info()).
_IPV4 = 4
_U32 = ATTRIBUTE.size + U32.size
DST_FROM = RTMSG.size + _U32 + ATTRIBUTE.size

_ANY = {socket.AF_INET: '0.0.0.0/0', socket.AF_INET6: '::/0'}


class Route(typing.NamedTuple):
    """A route as the kernel shows it."""

    table: int  # routing table id
    dst: str  # destination prefix, '0.0.0.0/0' for the default route
    dev: str  # name of the output device, '' without a single one
    via: str | None  # gateway or None; that of an IPv4 route may be of IPv6
    protocol: int  # rtm_protocol
    metric: int  # priority; the default is 0 for IPv4 and 1024 for IPv6

    @property
    def default_metric(self) -> bool:
        """Whether the route has the default metric of its family."""
        return self.metric == (1024 if ':' in self.dst else 0)

    @property
    def own_metric(self) -> int:
        """The metric, 0 for the default of the family."""
        return 0 if self.default_metric else self.metric


def encode(table: int, dst: str, index: int, via: str, protocol: int,
           metric: int = 0, onlink: bool = False) -> bytes:
    """Body of RTM_NEWROUTE for a unicast route, of scope link without gateway.

    :param metric: 0 for the default of the family
    :param onlink: the gateway is on the device without a route to it
    :raises ValueError: when a text is no prefix or address, or the families
        differ
    """
    family, packed, length = texts.parse_prefix(dst)
    body = u32(RTA_TABLE, table) + u32(RTA_OIF, index)
    if metric:
        body += u32(RTA_PRIORITY, metric)
    scope = RT_SCOPE_UNIVERSE
    if via:
        via_family, gateway = texts.parse_address(via)
        if via_family != family:
            raise ValueError(f'{dst} and {via} are of different families')
        body += attribute(RTA_GATEWAY, gateway)
    elif family == socket.AF_INET:
        scope = RT_SCOPE_LINK
    return _body(family, length, table, protocol, scope, RTN_UNICAST,
                 packed, body, RTNH_F_ONLINK if via and onlink else 0)


def encode_key(table: int, dst: str, protocol: int, metric: int = 0) -> bytes:
    """Body of RTM_DELROUTE for a route of exactly this protocol.

    :param metric: with 0, the kernel removes the route with the lowest
    """
    family, packed, length = texts.parse_prefix(dst)
    body = u32(RTA_TABLE, table)
    if metric:
        body += u32(RTA_PRIORITY, metric)
    return _body(family, length, table, protocol, RT_SCOPE_NOWHERE, 0,
                 packed, body)


def _body(family: int, length: int, table: int, protocol: int, scope: int,
          kind: int, packed: bytes, rest: bytes, flags: int = 0) -> bytes:
    head = RTMSG.pack(family, length, 0, 0, table if table < 256 else 0,
                      protocol, scope, kind, flags)
    if length:
        # Without it, the destination is the default route.
        head += attribute(RTA_DST, packed)
    return head + rest


def decode(data: bytes, start: int, end: int,
           names: dict[int, str] | None = None) -> Route | None:
    """From RTM_NEWROUTE or RTM_DELROUTE; None for a cached clone of a route.

    :param names: of devices by ifindex, filled on demand
    :raises ValueError: when the body is too short
    """
    if end - start < RTMSG.size:
        raise ValueError(f'netlink route of {end - start} bytes')
    (family, length, _source, _tos, table, protocol, _scope, _kind,
     flags) = RTMSG.unpack_from(data, start)
    if flags & RTM_F_CLONED or family not in _ANY:
        return None
    found = attributes(data, start + RTMSG.size, end)
    dst = found.get(RTA_DST)
    gateway = found.get(RTA_GATEWAY)
    return Route(
        number(found.get(RTA_TABLE), table),
        f'{texts.address_text(dst)}/{length}' if dst else _ANY[family],
        '' if RTA_OIF not in found or RTA_MULTIPATH in found
        else device(number(found[RTA_OIF]), {} if names is None else names),
        texts.address_text(gateway) if gateway else
        via_text(found[RTA_VIA]) if RTA_VIA in found else None,
        protocol,
        number(found.get(RTA_PRIORITY)))


def decode_all(messages: Iterable[wire.Body],
               names: dict[int, str]) -> list[Route]:
    """As :func:`decode`, for many routes, without cached clones.

    Most differ from another one in the destination alone, so each kind of
    route is decoded once.
    """
    decoded: dict[tuple[bytes, bytes], tuple[Route, str]] = {}
    found = []
    ntop, family = socket.inet_ntop, socket.AF_INET
    for data, start, end in messages:
        middle = start + DST_FROM
        rest = data[start:middle], data[middle + _IPV4:end]
        if rest in decoded:
            route, length = decoded[rest]
            address = ntop(family, data[middle:middle + _IPV4])
            # Faster than _replace().
            found.append(Route(route[0], f'{address}/{length}', *route[2:]))
            continue
        new = decode(data, start, end, names)
        if new is not None:
            found.append(new)
            if is_usual(data, start, end):
                decoded[rest] = new, new.dst.partition('/')[2]
    return found


def is_usual(data: bytes, start: int, end: int) -> bool:
    """Whether an IPv4 route has its only destination where most have it."""
    return (end - start >= DST_FROM + _IPV4 and
            data[start] == socket.AF_INET and
            ATTRIBUTE.unpack_from(data, start + RTMSG.size)[0] == _U32 and
            ATTRIBUTE.unpack_from(data, start + RTMSG.size + _U32) == (
                ATTRIBUTE.size + _IPV4, RTA_DST) and
            RTA_DST not in attributes(data, start + DST_FROM + _IPV4, end))


def via_text(payload: bytes) -> str:
    """The gateway of an attribute RTA_VIA."""
    return texts.address_text(payload[_VIA_HEAD:])


def device(index: int, names: dict[int, str]) -> str:
    """Name of a device, by ifindex; '' when it and its routes are gone.

    :param names: filled on demand
    :raises OSError: when the kernel cannot be asked
    """
    if index not in names:
        try:
            names[index] = socket.if_indextoname(index)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            names[index] = ''
    return names[index]


def attribute(kind: int, payload: bytes) -> bytes:
    """One attribute, padded."""
    length = ATTRIBUTE.size + len(payload)
    return ATTRIBUTE.pack(length, kind) + payload + bytes(-length & 3)


def u32(kind: int, value: int) -> bytes:
    """An attribute that holds a 32-bit number."""
    return ATTRIBUTE.pack(8, kind) + U32.pack(value)


def attributes(data: bytes, start: int = 0,
               end: int | None = None) -> dict[int, bytes]:
    """Attributes by type; of a repeated type, the last attribute counts."""
    found = {}
    end = len(data) if end is None else end
    unpack = ATTRIBUTE.unpack_from
    while start + 4 <= end:
        length, kind = unpack(data, start)
        if not 4 <= length <= end - start:
            raise ValueError(f'netlink attribute of {length} bytes does not '
                             f'fit into {end - start}')
        found[kind & NLA_TYPE_MASK] = data[start + 4:start + length]
        start += (length + 3) & ~3
    return found


def number(payload: bytes | None, default: int = 0) -> int:
    """A 32-bit attribute as int."""
    if payload is None:
        return default
    if len(payload) != U32.size:
        raise ValueError(f'netlink number of {len(payload)} bytes')
    return int.from_bytes(payload, sys.byteorder)
