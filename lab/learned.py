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

"""The times at which the spine has learned the routes of addresses.

The spine's kernel notifies of each route that zebra installs.  Repeated
questions would take the lab's only processor from the announcing daemons.
"""

import contextlib
import socket
import struct
import threading
import time

from lab import node as nodes
from lab import plan

# linux/rtnetlink.h
_GROUP_IPV4_ROUTE = 0x40
_NEWROUTE, _DELROUTE = 24, 25
_DST, _GATEWAY = 1, 5
_HEADER = struct.Struct('=IHHII')
_ROUTE = struct.Struct('=BBBBBBBBI')
_ATTRIBUTE = struct.Struct('=HH')
# SO_RCVBUFFORCE of asm-generic/socket.h; no notification may be lost.
_RECEIVE_BUFFER_FORCE = 33
_BUFFER = 1 << 22
_DATAGRAM = 1 << 16


class Learned:
    """Follows the spine's host routes to one gateway while the block runs.

    :param cloud: the Cloud
    :param by: name of the gateway
    :ivar since: dict of address to when it was learned, monotonic seconds
    """

    def __init__(self, cloud, by):
        self._node = cloud['spine']
        self._by = by
        self._nexthop = plan.UPLINKS[by][1]
        self._stack = contextlib.ExitStack()
        self.since = {}

    def __enter__(self):
        opened = self._node.call(socket.socket, socket.AF_NETLINK,
                                 socket.SOCK_RAW, 0)
        opened.setsockopt(socket.SOL_SOCKET, _RECEIVE_BUFFER_FORCE, _BUFFER)
        opened.bind((0, _GROUP_IPV4_ROUTE))
        opened.settimeout(0.2)
        self._ended = threading.Event()
        thread = threading.Thread(target=self._follow, args=(opened,),
                                  daemon=True)
        thread.start()
        self._stack.callback(opened.close)
        self._stack.callback(thread.join)
        self._stack.callback(self._ended.set)
        return self

    def __exit__(self, *_exc):
        self._stack.close()

    def wait(self, addresses, timeout=30):
        """Wait until the spine sends all addresses to the gateway.

        :param addresses: iterable of IPv4 addresses, text
        :param timeout: seconds
        :returns: monotonic seconds at which it learned the last address
        """
        wanted = set(addresses)
        nodes.wait_until(
            lambda: f'{len(wanted)} addresses are announced by {self._by}, '
                    f'{len(wanted - self.since.keys())} are not',
            lambda: wanted <= self.since.keys(), timeout)
        return max(self.since[address] for address in wanted)

    def _follow(self, opened):
        while not self._ended.is_set():
            with contextlib.suppress(TimeoutError):
                data = opened.recv(_DATAGRAM)
                self._take(data, time.monotonic())

    def _take(self, data, now):
        for kind, address, nexthop in _host_routes(data):
            if kind == _NEWROUTE and nexthop == self._nexthop:
                self.since.setdefault(address, now)
            else:
                self.since.pop(address, None)


def _host_routes(data):
    """(type, address, next hop or '') of the routes in a datagram."""
    at = 0
    while at < len(data):
        length, kind, _flags, _sequence, _port = _HEADER.unpack_from(data, at)
        if kind in (_NEWROUTE, _DELROUTE):
            start = at + _HEADER.size
            if _ROUTE.unpack_from(data, start)[1] == 32:
                found = _addresses(data, start + _ROUTE.size, at + length)
                yield kind, found.get(_DST, ''), found.get(_GATEWAY, '')
        at += (length + 3) & ~3


def _addresses(data, at, end):
    """Attributes that are one IPv4 address: dict of type to text."""
    found = {}
    while at < end:
        length, kind = _ATTRIBUTE.unpack_from(data, at)
        if length == 8:
            found[kind] = socket.inet_ntoa(data[at + 4:at + 8])
        at += (length + 3) & ~3
    return found
