# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The devices of this node, with the news that they may be others.

The kernel puts each notification into a socket's buffer before the change
returns to its author. So a reader without news has what the kernel has; a
thread that watches could be late.
"""

import contextlib
import errno
import select
import socket

from pyroute2.netlink import rtnl

from ovn_network_agent import model
from ovn_network_agent.netlink import bpf
from ovn_network_agent.netlink import multicast
from ovn_network_agent.netlink.objects import links
from ovn_network_agent.netlink.objects import routes

# A device also loses its routes with its last IPv4 address, see
# :mod:`watches.kernel`.
_GROUPS = (rtnl.RTNLGRP_LINK, rtnl.RTNLGRP_IPV4_IFADDR,
           rtnl.RTNLGRP_IPV4_ROUTE, rtnl.RTNLGRP_IPV6_ROUTE,
           multicast.NEXTHOP)
_DATAGRAM = 64 * 1024


class _Always:
    """The news while nothing tells them."""

    def poll(self, _timeout: int) -> list[tuple[()]]:
        """There may be news."""
        return [()]


class Devices:
    """Reads the devices, and has the news since the reading.

    For one thread, with its network namespace at the first reading.
    """

    def __init__(self) -> None:
        self._socket: socket.socket | None = None
        # Its poll(0) is empty as long as the last reading is true; a lost
        # notification counts as news.
        self.news: _Always | select.poll = _Always()

    def read(self) -> tuple[model.Device, ...]:
        """The present devices, see :func:`links.read_devices`.

        News from before the reading are taken away, never those since its
        begin.

        :raises OSError: when they cannot be read; then read again, whatever
            the news
        """
        self._begin()
        return links.read_devices()

    def close(self) -> None:
        """Close the socket; a further reading makes a new one."""
        self.news = _Always()
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _begin(self) -> None:
        try:
            if self._socket is None:
                self._socket = _subscribed()
                news = select.poll()
                news.register(self._socket, select.POLLIN)
                self.news = news
            _drain(self._socket)
        except OSError:
            # Without news each view reads the devices.
            self.close()


def _drain(sock: socket.socket) -> None:
    """Take the notifications away."""
    with contextlib.suppress(BlockingIOError):
        while True:
            try:
                sock.recv(_DATAGRAM)
            except OSError as error:
                # Some were lost, and the reading comes after all of them.
                if error.errno != errno.ENOBUFS:
                    raise


def _subscribed() -> socket.socket:
    """A netlink socket with the notifications about devices."""
    sock = socket.socket(
        socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC |
        socket.SOCK_NONBLOCK, socket.NETLINK_ROUTE)
    try:
        bpf.attach(sock, bpf.default_filter(routes.RTM_NEWROUTE,
                                            routes.RTM_DELROUTE))
        sock.bind((0, 0))
        multicast.join(sock, _GROUPS)
    except OSError:
        sock.close()
        raise
    return sock
