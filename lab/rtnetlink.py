# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Host routes in messages of the kernel (rtnetlink), IPv4 and IPv6."""

from collections import abc
import socket
import struct

# linux/rtnetlink.h
IPV4_ROUTES, IPV6_ROUTES = 0x40, 0x400
_NEW, _GONE = 24, 25
_DST, OIF, GATEWAY, MULTIPATH, _TABLE = 1, 4, 5, 9, 15
_HOST = {socket.AF_INET: 32, socket.AF_INET6: 128}


def host_routes(data: bytes) -> abc.Iterator[tuple[bool, str, int, dict]]:
    """Whether it is new, address, table, attributes: of each host route."""
    while len(data) >= 16:
        length, kind = struct.unpack_from('=IH', data)
        body, data = data[16:length], data[(length + 3) & ~3:]
        if kind not in (_NEW, _GONE) or body[1] != _HOST.get(body[0]):
            continue
        found = attributes(body[12:])
        if _DST in found:
            table = (struct.unpack('=I', found[_TABLE])[0]
                     if _TABLE in found else body[4])
            yield (kind == _NEW, socket.inet_ntop(body[0], found[_DST]),
                   table, found)


def attributes(data: bytes) -> dict[int, bytes]:
    """The values of attributes by their types."""
    found = {}
    while len(data) >= 4:
        length, kind = struct.unpack_from('=HH', data)
        found[kind & 0x3fff] = data[4:length]
        data = data[(length + 3) & ~3:]
    return found
