# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Sees when routes, flows and zebra's RIB change; shares no code with us.

Routes of the main table are told by the kernel and flows by the switch, at
once.  zebra is asked over its command socket, every ten milliseconds for many
addresses and twice a millisecond for one.  For one address the questions begin
when the kernel has told of the route: zebra cannot be earlier, and each
question takes 0.3 ms of the processors that the agent needs.
"""

import contextlib
import json
import os
import re
import select
import selectors
import socket
import subprocess
import time

from lab import rtnetlink

_MAIN = 254
_EVENT = re.compile(r'event=(\w+).*cookie=0x998 .*nw_dst=([\d.]+)')
# Commands on their way to a daemon, whose answers have to fit the socket, and
# messages of the kernel between two looks.
_AT_ONCE = 200
ROUTE, FLOW, RIB = 'kernel route', 'flow', "zebra's RIB"
PLACES = (ROUTE, FLOW, RIB)
# Seconds between two questions to zebra, for one address and for many.
_OFTEN, _SELDOM = 0.0005, 0.01
# The first of many routes.
FIRST = 'first kernel route'


class Observer:
    """Where each address is, and since when."""

    def __init__(self, bridge: str, table=_MAIN, kinds=('kernel', 'static'),
                 places=PLACES):
        self._table, self._kinds, self._places = table, kinds, places
        self._where = {ROUTE: set(), FLOW: set()}
        self._selector = selectors.DefaultSelector()
        self._netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
        self._netlink.setsockopt(socket.SOL_SOCKET, 33, 1 << 24)
        self._netlink.bind((0, rtnetlink.IPV4_ROUTES))
        self._selector.register(self._netlink, selectors.EVENT_READ,
                                self._read_routes)
        self._monitor = subprocess.Popen(
            ['ovs-ofctl', 'monitor', bridge, 'watch:!initial'],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        # The answer comes to the standard output, and each later change to
        # the standard error.
        if not select.select([self._monitor.stdout], [], [], 10)[0]:
            raise RuntimeError(f'no monitor of the flows of {bridge}')
        os.set_blocking(self._monitor.stderr.fileno(), False)
        self._rest = b''
        self._selector.register(self._monitor.stderr, selectors.EVENT_READ,
                                self._read_flows)
        self._zebra = Vty('/run/frr/zebra.vty')

    def close(self):
        """Give back what it holds."""
        self._monitor.kill()
        self._monitor.wait()
        self._monitor.stdout.close()
        self._monitor.stderr.close()
        self._netlink.close()
        self._selector.close()
        self._zebra.close()

    def drain(self):
        """Take in what has been told so far, without waiting."""
        while ready := self._selector.select(0):
            for key, _events in ready:
                key.data()

    def wait(self, addresses: list[str], present, others, timeout: float = 60,
             places=None) -> dict:
        """Wait until all addresses are in all places, or in none.

        :param others: :meth:`in_rib` without these addresses
        :returns: dict of place to the monotonic time when it was so, and of
            FIRST to that of the first route
        :raises RuntimeError: when the time is over
        """
        wanted = set(addresses)
        places = places or self._places
        pause = _OFTEN if len(wanted) == 1 else _SELDOM
        found = {}
        deadline = time.monotonic() + timeout
        asked = 0
        while not found.keys() >= set(places):
            if time.monotonic() > deadline:
                raise RuntimeError(f'not within {timeout} s: only '
                                   f'{sorted(found)}')
            for key, _events in self._selector.select(pause):
                key.data()
            now = time.monotonic()
            # The cost of a look must not grow with the addresses: each of
            # thousands of messages causes one.
            if (present and ROUTE in places and FIRST not in found and
                    not wanted.isdisjoint(self._where[ROUTE])):
                found[FIRST] = now
            for place, there in self._where.items():
                if (place in places and place not in found and
                        self._all(wanted, there, present)):
                    found.setdefault(place, now)
            if (RIB in places and RIB not in found and
                    now - asked >= pause and (
                        len(wanted) > 1 or ROUTE in found or
                        ROUTE not in places)):
                if self._in_rib(wanted, present, others):
                    found[RIB] = time.monotonic()
                asked = time.monotonic()
        return found

    def _all(self, wanted, there, present):
        return (wanted <= there if present else
                wanted.isdisjoint(there))

    def _in_rib(self, wanted, present, others):
        if len(wanted) > 1:
            # All routes would be too much to ask for again and again.
            return self.in_rib() == others + len(wanted) * present
        address, = wanted
        shown = self._zebra.ask(f'show ip route {address}/32 json')
        routes = json.loads(shown or '{}').get(address + '/32', ())
        return present == any(route.get('selected') and
                              route.get('installed') for route in routes)

    def in_rib(self):
        """How many routes of our kinds zebra has selected."""
        shown = json.loads(self._zebra.ask('show ip route summary json'))
        return sum(route['fib'] for route in shown['routes']
                   if route['type'] in self._kinds)

    def wait_for_rib(self, count, timeout):
        """Wait until zebra has so many routes, if its RIB is waited for.

        :raises RuntimeError: when the time is over
        """
        deadline = time.monotonic() + timeout
        while RIB in self._places and (found := self.in_rib()) != count:
            if time.monotonic() > deadline:
                raise RuntimeError(f'zebra has {found:d} routes, not '
                                   f'{count:d}, after {timeout:g} s')
            time.sleep(0.01)

    def _read_routes(self):
        """Take in what the kernel has told, with a datagram a message."""
        with contextlib.suppress(BlockingIOError):
            for _n in range(_AT_ONCE):
                self._take_routes(self._netlink.recv(
                    1 << 16, socket.MSG_DONTWAIT))

    def _take_routes(self, data):
        for new, address, table, _found in rtnetlink.host_routes(data):
            if table == self._table:
                (self._where[ROUTE].add if new else
                 self._where[ROUTE].discard)(address)

    def _read_flows(self):
        data = self._monitor.stderr.read()
        if data == b'':
            raise RuntimeError('the monitor of flows has ended')
        *lines, self._rest = (self._rest + (data or b'')).split(b'\n')
        for line in lines:
            if found := _EVENT.search(line.decode()):
                event, address = found.groups()
                if event == 'DELETED':
                    self._where[FLOW].discard(address)
                else:
                    self._where[FLOW].add(address)


class Vty:
    """The command socket of a daemon of FRR."""

    def __init__(self, path):
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(path)
        self._rest = b''

    def __enter__(self):
        return self

    def __exit__(self, *_exception):
        self.close()

    def ask(self, command):
        """The answer to one command, text."""
        answer, = self.ask_all([command])
        return answer

    def ask_all(self, commands):
        """The answers to commands that are sent at once, a list of text."""
        answers = []
        for first in range(0, len(commands), _AT_ONCE):
            some = commands[first:first + _AT_ONCE]
            self._socket.sendall(b''.join(
                command.encode() + b'\0' for command in some))
            answers += [self._answer() for _command in some]
        return answers

    def _answer(self):
        # Text, three zero bytes and a status byte.
        while (end := self._rest.find(b'\0\0\0')) < 0 or (
                len(self._rest) < end + 4):
            data = self._socket.recv(1 << 20)
            if not data:
                raise ConnectionError('the daemon has closed the connection')
            self._rest += data
        answer, self._rest = self._rest[:end], self._rest[end + 4:]
        return answer.decode()

    def close(self):
        """Give back the socket."""
        self._socket.close()
