# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The agent on a node of its own, as the scenarios see each subject.

A world has ``fill(size)``, ``start()``, ``stop()`` and ``change(addresses,
present)``.  Times are milliseconds from before the transaction is sent, or
before the program is started: dict of place to time, with ALL, the last of
the places that count.
"""

import json
import time

from ovn_network_agent.control.socket import client
from tools.bench import host as hosts
from tools.bench import observe
from tools.bench import processes
from tools.bench import routing

ALL, COMMIT, LAUNCHED = 'all', 'NB commit', 'launched'
# Seconds for a change, and further seconds for each present address: the peer
# needs 0.2 to 0.4 for each at its start.
_PATIENCE, _PATIENCE_EACH = 60, 0.6
# A time in seconds without consequences of a change: in such a time, all
# programs of a node use less of the processor than so many milliseconds.  Open
# vSwitch reads all routes again after a change, for up to 0.25 s beside
# 10,000, and would keep the processor and the kernel's lock from the next
# subject.
_QUIET, _STILL = 0.3, 10
# Seconds of waiting at the most: not every subject rests.
_RESTLESS = 5
# A second in which the subject uses less of the processor is one of rest, in
# milliseconds; so many of them in a row are needed.
_IDLE, _CALM = 100, 2
# Seconds between two looks at what the agent says of itself.
_LOOK = 0.5
_CONTROL = '/run/ovn-network-agent/control.ctl'


class CannotDo(Exception):
    """The subject has no such thing."""


class World:
    """A node, its rows in OVN, and the agent."""

    def __init__(self, host, method):
        self.host = host
        self.method = method
        self.size = 0
        self._observer = None
        self._began = None
        # Routes in zebra that are not the subject's.
        self._foreign = 0

    def fill(self, size):
        """Bring the number of present addresses to SIZE, without the agent.

        :raises ValueError: when so many are there already
        """
        if size < self.size:
            raise ValueError(f'{self.size:d} addresses are present, which is '
                             f'more than {size:d}')
        hosts.fill(self.host, hosts.addresses(
            hosts.FIRST + self.size, size - self.size))
        self.size = size

    @property
    def _patience(self):
        return _PATIENCE + _PATIENCE_EACH * self.size

    @property
    def present(self):
        """The present addresses, a list."""
        return hosts.addresses(hosts.FIRST, self.size)

    def start(self) -> dict:
        """Start the agent and wait until all is in place.

        :returns: dict of place to milliseconds, and LAUNCHED to the number of
            launched processes and threads
        """
        self._watch()
        before = self.host.launched()
        others = self._observer.in_rib()
        self._foreign = others
        wanted = self.host.gateways + self.present
        started = self.host.start_agent(self.method)
        found = self._times(started, self._observer.wait(
            wanted, True, others, self._patience))
        calm()
        return {**found, LAUNCHED: self.host.launched() - before}

    def stop(self):
        """End the agent in good order; nothing of it is left."""
        self.host.stop_agent()
        # zebra still works on it, and a start would count its routes.
        self._observer.wait_for_rib(self._foreign, self._patience)
        self._forget()

    def change(self, addresses: list[str], present):
        """Have addresses come, or go: as of :meth:`start`, and COMMIT."""
        self._observer.drain()
        others = self._observer.in_rib() - (0 if present else len(addresses))
        before = self.host.launched()
        change = self.host.add_fips if present else self.host.remove_fips
        started = change(addresses)
        commit = time.monotonic()
        found = self._observer.wait(addresses, present, others, self._patience)
        found = {**self._times(started, found),
                 COMMIT: (commit - started) * 1000}
        calm()
        return {**found, LAUNCHED: self.host.launched() - before}

    def move(self, here):
        """Have the gateway port of the first router come, or leave.

        :returns: as of :meth:`start`, without LAUNCHED, and the two times of
            the neighbour
        """
        with routing.Learning() as learning:
            started, found = self._moved(here)
            learned = self._learned(learning, here)
        self.rest()
        return {**found, **milliseconds(started, learned)}

    def _moved(self, here):
        """A move; returns monotonic seconds before, and times as dict."""
        self._observer.drain()
        addresses = self._of_first_router()
        others = self._observer.in_rib() - (0 if here else len(addresses))
        started = self.host.move(0, here)
        return started, announced(self._times(started, self._observer.wait(
            addresses, here, others, self._patience)))

    def _learned(self, learning, here):
        """Times of the neighbour, as of :meth:`routing.Learning.wait`."""
        count = len(self._of_first_router())
        return learning.wait(count if here else -count, self._patience)

    def _of_first_router(self):
        return self.host.gateways[:1] + self.present[::self.host.routers]

    def compare_every(self, seconds):
        """Have the agent compare everything at this interval, and rest."""
        self.host.interval = seconds
        self.host.configure(self.method)
        self.host.reload_agent()
        self.rest()

    def wait_for_comparison(self):
        """Wait until a periodic comparison of everything has ended.

        :raises RuntimeError: when none comes
        """
        deadline = time.monotonic() + 2 * self.host.interval + self._patience
        before = self._comparisons()
        while self._comparisons() <= before:
            if time.monotonic() > deadline:
                raise RuntimeError('the subject compares nothing')
            time.sleep(_LOOK)

    @staticmethod
    def _comparisons():
        """When the last pass began that has compared everything, text."""
        found = json.loads(client.call(_CONTROL, 'status', ['--json'], 30))
        return max((made['at'] for made in found['passes'] if made['full']),
                   default='')

    def renew(self):
        """Have the subject read all systems again, and wait for the end."""
        client.call(_CONTROL, 'resync', ['--timeout=60', '--'], 90)

    def reload(self):
        """Have the subject read its configuration again."""
        self.host.reload_agent()

    def processes(self):
        """Process ids of the subject, a list.

        :raises CannotDo: when it is no program
        """
        return self.host.processes()

    def rest(self):
        """Wait until the subject has nothing to do.

        :raises RuntimeError: when it goes on
        """
        deadline = time.monotonic() + self._patience
        calm = 0
        while calm < _CALM:
            before = processes.load(self.processes())
            time.sleep(1)
            used = processes.load(self.processes()).since(before)
            calm = calm + 1 if used.processor < _IDLE else 0
            if time.monotonic() > deadline:
                raise RuntimeError('the subject does not come to rest')

    def begin(self):
        """A time without events begins."""
        self._began = time.monotonic(), processes.load(self.processes())

    def end(self):
        """It ends; returns (seconds, :class:`processes.Load`)."""
        after = processes.load(self.processes())
        started, before = self._began
        return time.monotonic() - started, after.since(before)

    def _times(self, started, found):
        times = milliseconds(started, found)
        return {**times, ALL: max(times.values())}

    def _watch(self):
        self._forget()
        self._observer = self.host.observer()

    def _forget(self):
        if self._observer:
            self._observer.close()
            self._observer = None


def calm():
    """Wait until the consequences of a change are over on this node."""
    deadline = time.monotonic() + _RESTLESS
    used = _STILL
    while used >= _STILL and time.monotonic() < deadline:
        before = processes.load(processes.others())
        time.sleep(_QUIET)
        used = processes.load(processes.others()).since(before).processor


def milliseconds(started: float, found: dict):
    """Times since a start."""
    return {place: (when - started) * 1000 for place, when in found.items()}


def announced(found: dict[str, float]):
    """Times of a move: ALL without the flows, which may come later."""
    return {**found, ALL: max(
        when for place, when in found.items()
        if place in (observe.ROUTE, observe.RIB))}
