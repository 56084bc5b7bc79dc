# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""When the spine's host routes changed, as the kernel says."""

import socket
import struct
import threading
import time

from lab import plan

# linux/rtnetlink.h
_RTMGRP_IPV4_ROUTE = 0x40
_RTM_NEWROUTE, _RTM_DELROUTE = 24, 25
_RTA_DST, _RTA_GATEWAY, _RTA_MULTIPATH = 1, 5, 9
_RTNH = struct.Struct('=HBBi')
_BUFFER = 4 << 20


class Routes:
    """Follows the next hops of each host route of the spine.

    :ivar seen: list of (monotonic seconds, address, frozenset of the names of
        the gateways that the spine uses)
    """

    def __init__(self, cloud):
        self._cloud = cloud
        self._names = {plan.UPLINKS[name][1]: name
                       for name in cloud.gateways}
        self._now = {}
        self._ended = False
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._socket = None
        self.seen = []

    def start(self):
        """Begin to follow."""
        self._socket = self._cloud['spine'].call(_listen)
        self._socket.settimeout(1.0)
        self._compare()
        self._thread.start()

    def stop(self):
        """End it; may be called again."""
        self._ended = True
        if self._thread.is_alive():
            self._thread.join()
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _follow(self):
        while not self._ended:
            try:
                data = self._socket.recv(65536)
            except TimeoutError:
                continue
            except OSError:
                # The kernel dropped messages; the table has all of them.
                self._compare()
                continue
            for address, hops in changes(data):
                self._note(address, hops)

    def _compare(self):
        table = self._cloud.host_routes()
        for address in table.keys() | self._now.keys():
            self._note(address, {table[address]} if address in table
                       else set())

    def _note(self, address, hops):
        names = frozenset(self._names.get(hop, hop) for hop in hops)
        if self._now.get(address, frozenset()) != names:
            self._now[address] = names
            self.seen.append((time.monotonic(), address, names))


def announced_at(seen, address, owner, since, until) -> float:
    """When the spine first sent an address to a node.

    :returns: monotonic seconds: ``since`` if it did so already, None if it did
        not until ``until``
    """
    now = frozenset()
    for when, one, names in seen:
        if one != address:
            continue
        if when > until:
            break
        if when <= since:
            now = names
        elif owner in now:
            return since
        elif owner in names:
            return when
    return since if owner in now else None


def changes(data: bytes) -> list[tuple[str, set[str]]]:
    """The host routes of IPv4 in messages of the kernel."""
    found = []
    while len(data) >= 16:
        length, kind = struct.unpack_from('=LH', data)
        body = data[16:length]
        data = data[(length + 3) & ~3:]
        if kind not in (_RTM_NEWROUTE, _RTM_DELROUTE) or len(body) < 12:
            continue
        family, prefix = body[0], body[1]
        values = dict(_attributes(body[12:]))
        if family != socket.AF_INET or prefix != 32 or (
                _RTA_DST not in values):
            continue
        found.append((socket.inet_ntoa(values[_RTA_DST]),
                      _hops(values) if kind == _RTM_NEWROUTE else set()))
    return found


def _hops(values):
    hops = set()
    if _RTA_GATEWAY in values:
        hops.add(socket.inet_ntoa(values[_RTA_GATEWAY]))
    data = values.get(_RTA_MULTIPATH, b'')
    while len(data) >= _RTNH.size:
        length = _RTNH.unpack_from(data)[0]
        inner = dict(_attributes(data[_RTNH.size:length]))
        if _RTA_GATEWAY in inner:
            hops.add(socket.inet_ntoa(inner[_RTA_GATEWAY]))
        data = data[(length + 3) & ~3:]
    return hops


def _attributes(data):
    while len(data) >= 4:
        length, kind = struct.unpack_from('=HH', data)
        yield kind & 0x3fff, data[4:length]
        data = data[(length + 3) & ~3:]


def _listen():
    opened = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW,
                           socket.NETLINK_ROUTE)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)
    opened.bind((0, _RTMGRP_IPV4_ROUTE))
    return opened
