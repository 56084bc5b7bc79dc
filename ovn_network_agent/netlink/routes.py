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

"""Routes: struct rtmsg and its attributes, linux/rtnetlink.h."""

import errno
import socket
import struct
import typing

from ovn_network_agent.netlink import connection
from ovn_network_agent.netlink import wire

RTM_NEWROUTE = 24
RTM_DELROUTE = 25
RTM_GETROUTE = 26

# family, destination length, source length, tos, table, protocol, scope,
# type, flags
RTMSG = struct.Struct('=BBBBBBBBI')
RTA_DST = 1
RTA_OIF = 4
RTA_GATEWAY = 5
RTA_PRIORITY = 6
RTA_MULTIPATH = 9
RTA_TABLE = 15

RTN_UNICAST = 1
# What the kernel makes for an address and removes with it.
RTPROT_KERNEL = 2
RT_SCOPE_UNIVERSE = 0
RT_SCOPE_LINK = 253
RT_SCOPE_NOWHERE = 255
RTM_F_CLONED = 0x200
# Answer with the route in the table, and with that table's number.
RTM_F_FIB_MATCH = 0x2000
RTM_F_LOOKUP_TABLE = 0x1000

MAIN_TABLE = 254
LOCAL_TABLE = 255

# Metric of a route that names none (ip-route(8); IP6_RT_PRIO_USER).
DEFAULT_METRIC = {socket.AF_INET: 0, socket.AF_INET6: 1024}
_NOWHERE = socket.inet_aton('240.0.0.1')
# Answers of a lookup that finds no route, or one of type unreachable,
# blackhole, prohibit.
_NO_ROUTE = (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EINVAL,
             errno.EACCES)
_ANY = {socket.AF_INET: '0.0.0.0/0', socket.AF_INET6: '::/0'}


class Route(typing.NamedTuple):
    """A route as the kernel shows it.

    :ivar table: routing table id
    :ivar dst: destination prefix, '0.0.0.0/0' for the default route
    :ivar dev: name of the output device, '' without a single one
    :ivar via: gateway or None
    :ivar protocol: rtm_protocol
    :ivar metric: priority; 0 is the default of IPv4, 1024 that of IPv6
    """

    table: int
    dst: str
    dev: str
    via: str | None
    protocol: int
    metric: int

    @property
    def default_metric(self):
        """Whether the metric is the one of a route that names none."""
        return self.metric == (1024 if ':' in self.dst else 0)


def encode(table, dst, index, via, protocol):
    """Body of RTM_NEWROUTE: unicast, of scope link without a gateway.

    :param index: ifindex of the output device
    :param via: gateway text or ''
    :raises ValueError: when a text is no prefix or address, or the families
        differ
    """
    family, packed, length = wire.parse_prefix(dst)
    body = wire.u32(RTA_TABLE, table) + wire.u32(RTA_OIF, index)
    scope = RT_SCOPE_UNIVERSE
    if via:
        via_family, gateway = wire.parse_address(via)
        if via_family != family:
            raise ValueError(f'{dst} and {via} are of different families')
        body += wire.attribute(RTA_GATEWAY, gateway)
    elif family == socket.AF_INET:
        scope = RT_SCOPE_LINK
    return _body(family, length, table, protocol, scope, RTN_UNICAST,
                 packed, body)


def encode_key(table, dst, protocol):
    """Body of RTM_DELROUTE for a route of exactly this protocol."""
    family, packed, length = wire.parse_prefix(dst)
    return _body(family, length, table, protocol, RT_SCOPE_NOWHERE, 0,
                 packed, wire.u32(RTA_TABLE, table))


def _body(family, length, table, protocol, scope, kind, packed, rest):
    head = RTMSG.pack(family, length, 0, 0, table if table < 256 else 0,
                      protocol, scope, kind, 0)
    if length:
        # Without the attribute the destination is the default route.
        head += wire.attribute(RTA_DST, packed)
    return head + rest


def decode(data, start, end, names=None):
    """A :class:`Route` from the body of RTM_NEWROUTE or RTM_DELROUTE.

    :param names: dict of ifindex to device name, filled on demand
    :returns: None for a cached clone of a route
    """
    (family, length, _source, _tos, table, protocol, _scope, _kind,
     flags) = RTMSG.unpack_from(data, start)
    if flags & RTM_F_CLONED or family not in _ANY:
        return None
    found = wire.attributes(data, start + RTMSG.size, end)
    dst = found.get(RTA_DST)
    gateway = found.get(RTA_GATEWAY)
    return Route(
        wire.number(found[RTA_TABLE]) if RTA_TABLE in found else table,
        f'{wire.address_text(dst)}/{length}' if dst else _ANY[family],
        _device(found, {} if names is None else names),
        wire.address_text(gateway) if gateway else None,
        protocol,
        wire.number(found.get(RTA_PRIORITY)) or 0)


def _device(found, names):
    """Name of the single output device, or ''."""
    if RTA_OIF not in found or RTA_MULTIPATH in found:
        return ''
    index = wire.number(found[RTA_OIF])
    if index not in names:
        try:
            names[index] = socket.if_indextoname(index)
        except OSError:
            # Gone since the dump, and its routes with it.
            names[index] = ''
    return names[index]


def read(kernel, protocol=0, table=0, families=tuple(DEFAULT_METRIC)):
    """Routes, filtered by the kernel.

    :param kernel: :class:`connection.Connection`
    :param protocol: rtm_protocol, 0 for all
    :param table: table id, 0 for all; one that does not exist is empty
    :param families: address families
    :returns: list of :class:`Route`
    :raises OSError: when they cannot be read
    """
    names = {}
    routes = []
    for family in families:
        body = RTMSG.pack(family, 0, 0, 0, table if table < 256 else 0,
                          protocol, 0, 0, 0)
        if table:
            body += wire.u32(RTA_TABLE, table)
        try:
            dump = kernel.dump(RTM_GETROUTE, body)
        except OSError as error:
            # No such table; EAFNOSUPPORT and EOPNOTSUPP: no IPv6 here.
            if error.errno not in (errno.ENOENT, errno.EAFNOSUPPORT,
                                   errno.EOPNOTSUPP):
                raise
            continue
        for message in dump:
            route = decode(*message, names)
            if route is not None:
                routes.append(route)
    return routes


def read_on(kernel, index):
    """IPv4 routes through a device, of all tables and protocols.

    :param kernel: :class:`connection.Connection`
    :param index: ifindex
    :returns: list of :class:`Route`
    :raises OSError: when they cannot be read
    """
    names = {}
    body = RTMSG.pack(socket.AF_INET, 0, 0, 0, 0, 0, 0, 0, 0)
    found = (decode(*message, names) for message in kernel.dump(
        RTM_GETROUTE, body + wire.u32(RTA_OIF, index)))
    return [route for route in found if route is not None]


def has_default(kernel, vrf, table):
    """Whether a VRF has a default route that can be used.

    One question to the kernel, however many routes there are: what would
    it take for an address in 240.0.0.0/4, which nothing but a default route
    covers.  It goes on to the main table where the VRF has none.

    :param kernel: :class:`connection.Connection`
    :param vrf: ifindex of the VRF
    :param table: routing table of the VRF
    :raises OSError: when the kernel does not answer
    """
    body = RTMSG.pack(socket.AF_INET, 32, 0, 0, 0, 0, 0, 0,
                      RTM_F_FIB_MATCH | RTM_F_LOOKUP_TABLE)
    body += wire.attribute(RTA_DST, _NOWHERE) + wire.u32(RTA_OIF, vrf)
    try:
        answer = kernel.ask(RTM_GETROUTE, body)
    except OSError as error:
        if error.errno in _NO_ROUTE:
            return False
        raise
    route = decode(*answer)
    return (route is not None and route.table == table and
            route.dst == _ANY[socket.AF_INET])


def read_ours(protocol):
    """All routes of a protocol, in all tables and both families."""
    with connection.Connection() as kernel:
        return read(kernel, protocol)
