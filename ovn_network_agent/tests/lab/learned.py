# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The times at which the spine has learned the routes of addresses.

The spine's kernel notifies of each route that zebra installs.  Repeated
questions would take the lab's only processor from the announcing daemons.
"""

from collections import abc
import contextlib
import socket
import sys
import threading
import time

from lab import node as nodes
from lab import rtnetlink

# SO_RCVBUFFORCE of asm-generic/socket.h; no notification may be lost.
_RECEIVE_BUFFER_FORCE = 33
_BUFFER = 1 << 22
_DATAGRAM = 1 << 16


class Learned:
    """Follows the spine's host routes to one gateway while the block runs.

    :ivar since: dict of address to when it was learned, monotonic seconds
    """

    def __init__(self, cloud, by: str):
        self._node = cloud['spine']
        self._by = by
        self._device = 0
        self._stack = contextlib.ExitStack()
        self.since = {}

    def __enter__(self):
        opened = self._node.call(socket.socket, socket.AF_NETLINK,
                                 socket.SOCK_RAW, 0)
        opened.setsockopt(socket.SOL_SOCKET, _RECEIVE_BUFFER_FORCE, _BUFFER)
        opened.bind((0, rtnetlink.IPV4_ROUTES | rtnetlink.IPV6_ROUTES))
        self._device = self._node.call(socket.if_nametoindex,
                                       'to-' + self._by)
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

    def wait(self, addresses: abc.Iterable[str], timeout: float = 30) -> float:
        """Wait until the spine sends all addresses to the gateway.

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
        for new, address, _table, found in rtnetlink.host_routes(data):
            # A route with several devices has no such attribute.
            device = int.from_bytes(found.get(rtnetlink.OIF, b''),
                                    sys.byteorder)
            if new and device == self._device:
                self.since.setdefault(address, now)
            else:
                self.since.pop(address, None)
