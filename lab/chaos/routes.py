# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""When the spine's host routes changed, as the kernel says."""

import socket
import struct
import threading
import time

from lab import plan
from lab import rtnetlink

_RTNH = struct.Struct('=HBBi')  # struct rtnexthop of linux/rtnetlink.h
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


def changes(data: bytes) -> list[tuple[str, set[str]]]:
    """Next hops of the host routes of IPv4 in messages of the kernel."""
    return [(address, _hops(found) if new else set())
            for new, address, _table, found in rtnetlink.host_routes(data)
            if ':' not in address]


def _hops(found):
    hops = [found]
    data = found.get(rtnetlink.MULTIPATH, b'')
    while len(data) >= _RTNH.size:
        length = _RTNH.unpack_from(data)[0]
        hops.append(rtnetlink.attributes(data[_RTNH.size:length]))
        data = data[(length + 3) & ~3:]
    return {socket.inet_ntoa(hop[rtnetlink.GATEWAY]) for hop in hops
            if rtnetlink.GATEWAY in hop}


def _listen():
    opened = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW,
                           socket.NETLINK_ROUTE)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)
    opened.bind((0, rtnetlink.IPV4_ROUTES))
    return opened
