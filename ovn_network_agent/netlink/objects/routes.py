# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Routes: questions and dumps, read with the fast codec.

Struct rtmsg and its attributes are in linux/rtnetlink.h.
"""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Set
import errno
import functools
import hashlib
import socket
import typing

from pyroute2.netlink import rtnl
from pyroute2.netlink.rtnl import rtmsg

from ovn_network_agent.common import equal_records
from ovn_network_agent.netlink import connection
from ovn_network_agent.netlink import messages
from ovn_network_agent.netlink import route_codec
from ovn_network_agent.netlink import wire

RTM_NEWROUTE = rtnl.RTM_NEWROUTE
RTM_DELROUTE = rtnl.RTM_DELROUTE
RTM_GETROUTE = rtnl.RTM_GETROUTE

RTPROT_KERNEL = route_codec.RTPROT_KERNEL
MAIN_TABLE = route_codec.MAIN_TABLE
# Answer with the route, and with the number of its table.
RTM_F_FIB_MATCH = 0x2000
RTM_F_LOOKUP_TABLE = 0x1000

# The next hops of a multipath route are not decoded.
MESSAGE = messages.narrow(
    rtmsg.rtmsg, 'RTA_DST', 'RTA_OIF', 'RTA_GATEWAY', 'RTA_PRIORITY',
    (route_codec.RTA_MULTIPATH, 'RTA_MULTIPATH', 'binary'), 'RTA_TABLE',
    route_codec.VIA)

# A question for the route to one address. For IPv6, the answer has the table
# anyhow, and the kernel refuses the second flag
# (inet6_rtm_valid_getroute_req()).
LOOKUP: dict[int, dict[str, int]] = {
    socket.AF_INET: {'dst_len': 32,
                     'flags': RTM_F_FIB_MATCH | RTM_F_LOOKUP_TABLE},
    socket.AF_INET6: {'dst_len': 128, 'flags': RTM_F_FIB_MATCH}}

# ip-route(8); IP6_RT_PRIO_USER.
DEFAULT_METRIC = {socket.AF_INET: 0, socket.AF_INET6: 1024}
# Only a default route leads to these: in 240.0.0.0/4, and outside of 2000::/3,
# the global addresses of IPv6 (RFC 4291, section 2.4).
_NOWHERE: dict[int, str] = {socket.AF_INET: '240.0.0.1',
                            socket.AF_INET6: 'c000::1'}
# A lookup finds no route, or one of type unreachable, blackhole, prohibit.
_NO_ROUTE = (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EINVAL,
             errno.EACCES)
_ANY: dict[int, str] = {socket.AF_INET: '0.0.0.0/0',
                        socket.AF_INET6: '::/0'}
# In a message of a dump: what the routes of a portion have in common; it ends
# before the last byte of the destination.
_COMMON = slice(wire.HEADER.size + route_codec.RTMSG.size,
                wire.HEADER.size + route_codec.DST_FROM + 3)
_OTHERS = b''


def read(kernel: connection.Connection, protocol: int = 0, table: int = 0,
         families: Iterable[int] = tuple(DEFAULT_METRIC)
         ) -> list[route_codec.Route]:
    """Routes, filtered by the kernel.

    :param protocol: rtm_protocol, 0 for all
    :param table: 0 for all; a missing table counts as empty
    """
    return route_codec.decode_all(
        (message for dump in _dumps(kernel, protocol, table, families)
         for message in connection.objects(dump)), {})


def _dumps(kernel: connection.Connection, protocol: int, table: int = 0,
           families: Iterable[int] = tuple(DEFAULT_METRIC)
           ) -> list[list[bytes]]:
    """The datagrams of the dump of each family."""
    dumps = []
    for family in families:
        try:
            dumps.append(kernel.datagrams(
                RTM_GETROUTE, _filter(family, protocol, table)))
        except OSError as error:
            # A missing table; a kernel without IPv6.
            if error.errno not in (errno.ENOENT, errno.EAFNOSUPPORT,
                                   errno.EOPNOTSUPP):
                raise
            dumps.append([])
    return dumps


@functools.lru_cache(maxsize=64)
def _filter(family: int, protocol: int, table: int) -> bytes:
    """Body of RTM_GETROUTE, see :func:`read`."""
    return messages.encode(
        MESSAGE, [('RTA_TABLE', table)] if table else (), family=family,
        table=table if table < 256 else 0, proto=protocol)


def read_on(kernel: connection.Connection,
            index: int) -> list[route_codec.Route]:
    """IPv4 routes through a device, of all tables and protocols."""
    names: dict[int, str] = {}
    body = messages.encode(MESSAGE, [('RTA_OIF', index)],
                           family=socket.AF_INET)
    found = (route_codec.decode(*message, names)
             for message in kernel.dump(RTM_GETROUTE, body))
    return [route for route in found if route is not None]


def has_default(kernel: connection.Connection, vrf: int, table: int,
                family: int = socket.AF_INET) -> bool:
    """Whether a VRF (ifindex) has a default route that can be used.

    The question is for an address that only a default route covers, so one is
    enough for any number of routes. Without a default route in the VRF, the
    kernel answers from the main table.

    Routes of IPv6 with the same nexthop object, as zebra makes them, share one
    cached answer, which names the route that was used first
    (rt6_get_pcpu_route() of the kernel). So it proves neither a default route
    nor the lack of one; the table itself decides then.
    """
    try:
        answer = kernel.ask(RTM_GETROUTE, _lookup(vrf, family))
    except OSError as error:
        if error.errno in _NO_ROUTE:
            return False
        raise
    route = route_codec.decode(*answer)
    if route is not None and (route.table, route.dst) == (
            table, _ANY[family]):
        return True
    return family == socket.AF_INET6 and _lists_default(
        kernel, table, _outgoing(*answer))


def _outgoing(data: bytes, start: int, end: int) -> int:
    """ifindex of the output device, 0 for several."""
    found = route_codec.attributes(data, start + route_codec.RTMSG.size, end)
    return (0 if route_codec.RTA_MULTIPATH in found
            else route_codec.number(found.get(route_codec.RTA_OIF)))


def _lists_default(kernel: connection.Connection, table: int,
                   device: int) -> bool:
    """For IPv6, through a device (ifindex), 0 for any."""
    wanted = [('RTA_TABLE', table)]
    if device:
        wanted.append(('RTA_OIF', device))
    body = messages.encode(
        MESSAGE, wanted, family=socket.AF_INET6,
        table=table if table < 256 else 0, type=route_codec.RTN_UNICAST)
    found = (route_codec.decode(*each)
             for each in kernel.dump(RTM_GETROUTE, body))
    return any(route is not None and route.dst == _ANY[socket.AF_INET6]
               for route in found)


@functools.lru_cache(maxsize=16)
def _lookup(vrf: int, family: int) -> bytes:
    """Of :func:`has_default`; asked in each pass."""
    return messages.encode(
        MESSAGE, [('RTA_DST', _NOWHERE[family]), ('RTA_OIF', vrf)],
        family=family, **LOOKUP[family])


def divide(dumps: Iterable[Iterable[bytes]]
           ) -> dict[bytes, list[bytes]]:
    """Divide dumps of datagrams into portions, by digest.

    A portion has the IPv4 routes of one table whose destinations have the same
    first three bytes, so a change of a route changes one portion. All other
    routes are one more. The values are for :func:`connection.objects`.
    """
    found: dict[bytes, list[bytes]] = {}
    for dump in dumps:
        for data in dump:
            for key, start, end in _runs(data):
                found.setdefault(key, []).append(data[start:end])
    return {hashlib.blake2b(b''.join(each), digest_size=wire.SIZE).digest():
            each for each in found.values()}


def _runs(data: bytes) -> Iterator[tuple[bytes, int, int]]:
    """The routes of a datagram, those of a portion in a row as one."""
    at = 0
    while at + wire.HEADER.size <= len(data):
        kind, _flags, _sequence, _port, start, end = next(
            wire.messages(data, at))
        length = (end - at + 3) & ~3
        key = _OTHERS
        count = 1
        if (at + length <= len(data) and
                route_codec.is_usual(data, start, end)):
            key = data[at:][_COMMON]
            count = equal_records.count_equal(data, at, length, _COMMON.stop)
        if kind not in (wire.NLMSG_DONE, wire.NLMSG_ERROR):
            yield key, at, min(at + count * length, len(data))
        at += count * length


# Digest; None for the routes of a known portion.
Portion: typing.TypeAlias = tuple[bytes, list[route_codec.Route] | None]


class Seen(typing.NamedTuple):
    """What a reading of :func:`read_again` has found."""

    digest: str
    port: int  # netlink port id of the socket
    # (ifindex, name), of the routes.
    devices: tuple[tuple[int, str], ...]

    @property
    def same_devices(self) -> bool:
        """Whether the devices have the same names as then."""
        return all(route_codec.device(index, {}) == name
                   for index, name in self.devices)


def read_again(protocol: int, mark: Seen | None, last: Seen | None = None,
               known: Set[bytes] = frozenset()
               ) -> tuple[list[Portion] | None, Seen]:
    """All routes of a protocol, unless they are known.

    :param mark: of an answer that is not needed again: None in its place
    :param last: of the last answer
    :param known: digests of portions of the last answer
    """
    seen = mark or last
    with connection.Connection(port=seen.port if seen else 0) as kernel:
        port = kernel.port
        dumps = _dumps(kernel, protocol)
    now = wire.digest(dumps)
    if mark and now == mark.digest and mark.same_devices:
        return None, mark
    names: dict[int, str] = {}
    if last and last.same_devices:
        names = dict(last.devices)
    else:
        known = frozenset()
    found = [
        (digest, None if digest in known else route_codec.decode_all(
            connection.objects(part), names))
        for digest, part in divide(dumps).items()]
    return found, Seen(now, port, tuple(names.items()))


def read_ours(protocol: int) -> list[route_codec.Route]:
    """All routes of a protocol, in all tables and both families."""
    with connection.Connection() as kernel:
        return read(kernel, protocol)
