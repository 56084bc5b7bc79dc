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

"""Notices that something in the kernel changed, and no more than that.

A notice carries no data, only a kind: whoever gets it reads the state anew.
So nothing depends on the order or the completeness of notifications, and
when the socket's buffer overflows (ENOBUFS) all kinds are reported.

Links, addresses, rules and sysctls are reported at any change.  Routes and
neighbours change all the time on a node with BGP, so a filter in the kernel
(:mod:`netlink.bpf`) lets only those through that can be about ours: a route
of our protocol deleted, or one of another protocol put in its place.
"""

import errno
import os
import select
import socket
import threading

from oslo_log import log as logging

from ovn_network_agent.netlink import addresses
from ovn_network_agent.netlink import bpf
from ovn_network_agent.netlink import links
from ovn_network_agent.netlink import neighbours
from ovn_network_agent.netlink import routes
from ovn_network_agent.netlink import rules
from ovn_network_agent.netlink import wire
from ovn_network_agent import ownership

LOG = logging.getLogger(__name__)

LINK = 'link'
ADDRESS = 'address'
NEIGHBOUR = 'neighbour'
ROUTE = 'route'
RULE = 'rule'
SYSCTL = 'sysctl'
KINDS = (LINK, ADDRESS, NEIGHBOUR, ROUTE, RULE, SYSCTL)

# RTNLGRP_* of linux/rtnetlink.h: link, neigh, IPv4 address, route, rule,
# IPv6 address, route, rule, IPv4 netconf (forwarding, proxy_arp, rp_filter
# of a device).
_GROUPS = (1, 3, 5, 7, 8, 9, 11, 19, 24)
_NETLINK_ADD_MEMBERSHIP = 1
_SOL_NETLINK = 270
_RTM_NEWNETCONF = 80
_RTM_DELNETCONF = 81

_KIND = {
    links.RTM_NEWLINK: LINK, links.RTM_DELLINK: LINK,
    addresses.RTM_NEWADDR: ADDRESS, addresses.RTM_DELADDR: ADDRESS,
    neighbours.RTM_NEWNEIGH: NEIGHBOUR, neighbours.RTM_DELNEIGH: NEIGHBOUR,
    routes.RTM_NEWROUTE: ROUTE, routes.RTM_DELROUTE: ROUTE,
    rules.RTM_NEWRULE: RULE, rules.RTM_DELRULE: RULE,
    _RTM_NEWNETCONF: SYSCTL, _RTM_DELNETCONF: SYSCTL}

_RECEIVE_BUFFER = 1024 * 1024
_DATAGRAM = 64 * 1024
# Seconds between attempts when the socket cannot be made.
_RETRY = 1.0


class LinkWatch:
    """A thread that reports changes of the kernel's network state.

    A vanished or downed device takes its routes, addresses and neighbours
    along without a notification of their own: LINK puts all in doubt.  So
    does the last IPv4 address of a device with its IPv4 routes: ADDRESS puts
    routes and neighbours in doubt, too.

    :param callback: called with one of :data:`KINDS`, on the thread of the
        watch; must return soon
    :param neighbour_devices: names of the devices whose neighbours matter
    :param own_ports: function that returns a set of netlink port ids whose
        changes are not reported: our own, see
        :func:`ovn_network_agent.privileged.netlink.port`; asked for each
        batch of notifications, so it should remember the answer
    :param owned: function of (table, dst) that says whether we want a route
        there; decides about routes of other protocols that replaced one,
        None reports all of them
    """

    def __init__(self, callback, neighbour_devices=(), own_ports=frozenset,
                 owned=None):
        self._callback = callback
        self._neighbour_devices = frozenset(neighbour_devices)
        self._own_ports = own_ports
        self._owned = owned
        self._socket = None
        self._wake = None
        self._thread = None

    def start(self):
        """Subscribe and start the thread.

        What changes after the return is reported, so start the watch before
        the first read.

        :raises OSError: when there is no such socket
        """
        self._socket = _subscribe()
        self._wake = os.eventfd(0, os.EFD_CLOEXEC)
        self._thread = threading.Thread(
            target=self._run, name='netlink-watch', daemon=True)
        self._thread.start()

    def stop(self):
        """End the thread and close the socket; without effect twice."""
        if self._thread is None:
            return
        os.eventfd_write(self._wake, 1)
        self._thread.join()
        self._thread = None
        os.close(self._wake)
        if self._socket is not None:
            self._socket.close()

    def _run(self):
        while not self._stopped():
            try:
                kinds = self._receive()
            except (OSError, ValueError) as error:
                kinds = self._recover(error)
            for kind in KINDS:
                if kind in kinds:
                    self._tell(kind)

    def _stopped(self):
        """Wait for news; whether it is the end."""
        poll = select.poll()
        poll.register(self._wake, select.POLLIN)
        if self._socket is not None:
            poll.register(self._socket, select.POLLIN)
        ready = poll.poll(None if self._socket else _RETRY * 1000)
        return any(fd == self._wake for fd, _events in ready)

    def _recover(self, error):
        """What to report after an error: everything may have changed."""
        if getattr(error, 'errno', None) == errno.ENOBUFS:
            LOG.info('Netlink notifications were lost, reading everything')
            return KINDS
        LOG.warning('Netlink watch: %s; subscribing again', error)
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        return ()

    def _tell(self, kind):
        try:
            self._callback(kind)
        except Exception:
            # The watch must outlive a mistake in what it calls.
            LOG.exception('Callback for a change of kind %s failed', kind)

    def _receive(self):
        """Kinds of all waiting notifications.

        :raises OSError: ENOBUFS when some were lost
        """
        if self._socket is None:
            self._socket = _subscribe()
            return KINDS
        kinds = set()
        own = self._own_ports()
        try:
            # Not for ever: a storm of changes must not delay the report.
            for _datagram in range(1000):
                kinds.update(self._kinds(self._socket.recv(_DATAGRAM), own))
        except BlockingIOError:
            # All of them read.
            return kinds
        return kinds

    def _kinds(self, data, own):
        for kind, flags, _seq, port, start, end in wire.messages(data):
            name = _KIND.get(kind)
            if name is None or port in own:
                continue
            if name == NEIGHBOUR and not self._neighbour(data, start):
                continue
            if name == ROUTE and not self._route(
                    kind, flags, data, start, end):
                continue
            yield name

    def _neighbour(self, data, start):
        index = neighbours.NDMSG.unpack_from(data, start)[1]
        try:
            return socket.if_indextoname(index) in self._neighbour_devices
        except OSError:
            # The device is gone, which is reported as LINK.
            return False

    def _route(self, kind, flags, data, start, end):
        route = routes.decode(data, start, end)
        if route is None:
            return False
        if kind == routes.RTM_DELROUTE:
            return route.protocol == ownership.ROUTE_PROTOCOL
        return (bool(flags & wire.NLM_F_REPLACE)
                and route.protocol != ownership.ROUTE_PROTOCOL
                and (self._owned is None
                     or self._owned(route.table, route.dst)))


def _subscribe():
    """A socket in all our groups, behind the filter."""
    sock = socket.socket(
        socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC |
        socket.SOCK_NONBLOCK, socket.NETLINK_ROUTE)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER)
        bpf.attach(sock, bpf.route_filter(
            routes.RTM_NEWROUTE, routes.RTM_DELROUTE,
            ownership.ROUTE_PROTOCOL))
        sock.bind((0, 0))
        for group in _GROUPS:
            sock.setsockopt(_SOL_NETLINK, _NETLINK_ADD_MEMBERSHIP, group)
    except OSError:
        sock.close()
        raise
    return sock
