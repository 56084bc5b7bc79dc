# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What may never be: watched once a second while the run goes on.

The watch reads NB and SB from their replicas, and asks only the spine's bgpd,
through its socket: it starts no process.
"""

from collections import abc
import contextlib
import dataclasses
import os
import statistics
import threading
import time

from lab import node as nodes
from lab.chaos import observed
from lab.chaos import oracle
from lab.chaos import picture
from lab.chaos import values

# Agents are measured when all is settled.  So many measurements at the begin
# of a life are compared with so many at its end, if the life has at least
# twice as many and that many seconds between the two.
_SAMPLE, _LIFE = 3, 60.0
# How much each may grow afterwards.  An agent opens a descriptor and a thread
# for each kind of work when it comes up for the first time; memory is that of
# the agent with its daemons.
LIMITS = {'descriptors': 12, 'threads': 8, 'kilobytes': 40_000}


@dataclasses.dataclass(frozen=True)
class Measure:
    """An agent with its daemons."""

    at: float
    descriptors: int
    threads: int
    kilobytes: int


def measure(at, pids: list[int]):
    """Measure processes; one that has just ended counts nothing."""
    descriptors, threads, kilobytes = 0, 0, 0
    for pid in pids:
        with contextlib.suppress(OSError):
            descriptors += len(os.listdir(f'/proc/{pid:d}/fd'))
            with open(f'/proc/{pid:d}/status', encoding='ascii',
                      errors='replace') as opened:
                for line in opened:
                    name, _, value = line.partition(':')
                    if name == 'Threads':
                        threads += int(value)
                    elif name == 'VmRSS':
                        kilobytes += int(value.split()[0])
    return Measure(at, descriptors, threads, kilobytes)


class Growth:
    """The measurements of all agents."""

    def __init__(self):
        self.series = {}

    def add(self, name, start, measured):
        """Note a measurement."""
        self.series.setdefault((name, start), []).append(measured)

    def grown(self):
        """What has grown too much, list of (node, text)."""
        return [(name, text) for (name, _start), found in
                self.series.items() for text in grown(found)]


def grown(found: list):
    """What has grown too much in one life of an agent, list of text."""
    base, late = found[:_SAMPLE], found[-_SAMPLE:]
    if len(found) < 2 * _SAMPLE or late[0].at - base[-1].at < _LIFE:
        return []
    texts = []
    for name, limit in LIMITS.items():
        before = statistics.median(getattr(one, name) for one in base)
        after = statistics.median(getattr(one, name) for one in late)
        if after - before > limit:
            texts.append(f'{name}: {before:.0f} at first, {after:.0f} after '
                         f'{late[-1].at - found[0].at:.0f} s')
    return texts


# Seconds between two looks.
PERIOD = 1.0
# Seconds for which two gateways may announce one address.  A power failure
# takes the hold time of BGP, 9 s; a move takes less.
DOUBLE = 15.0
# Seconds for which an owner may be outranked: an agent gives OVN 10 s to
# follow another program's priorities, and then writes its own.
RANK = 25.0


class Lasting:
    """Remembers since when each of some conditions holds."""

    def __init__(self, limit: float):
        self.limit = limit
        self._since = {}

    def see(self, now: float, conditions: dict[str, str]) -> list:
        """The conditions that hold too long, each once."""
        self._since = {subject: self._since.get(subject, now)
                       for subject in conditions}
        late = [(subject, conditions[subject])
                for subject, since in self._since.items()
                if since is not None and now - since > self.limit]
        for subject, _text in late:
            self._since[subject] = None
        return late


class Watch:
    """The thread that watches."""

    def __init__(self, cloud, world, note: abc.Callable):
        self._cloud = cloud
        self._world = world
        self._note = note
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._double = Lasting(DOUBLE)
        self._rank = Lasting(RANK)
        self.growth = Growth()
        self.errors = []

    def start(self):
        """Begin to watch."""
        self._thread.start()

    def stop(self):
        """End it; may be called again."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self):
        while not self._ended.wait(PERIOD):
            try:
                self._look()
            except (nodes.NodeError, OSError, LookupError,
                    ValueError) as e:
                self.errors.append(f'{type(e).__name__}: {e}')

    def _look(self):
        gateways = self._world.state().gateways
        now = time.monotonic()
        self._report(values.DOUBLE, self._double, now, doubles(
            self._cloud.bgp_table()))
        self._report(values.RANK, self._rank, now, oracle.rank(
            picture.read(self._cloud), gateways))

    def _report(self, kind, lasting, now, conditions):
        """Exempt conditions begin again when their exemption ends."""
        for subject, text in lasting.see(now, {
                subject: text for subject, text in conditions.items()
                if not self._world.exempt(kind, subject)}):
            self._note(kind, subject,
                       f'for more than {lasting.limit:.0f} s: {text}')

    def measure(self):
        """Measure all agents that run; for a moment when all is settled."""
        for name, gateway in self._world.state().gateways.items():
            if not gateway.powered or gateway.agent != 'running':
                continue
            agent = self._cloud.agents[name]
            if agent.process.poll() is None:
                self.growth.add(name, agent.starts, measure(
                    time.monotonic(),
                    [agent.process.pid, *agent.children()]))


def doubles(table: dict) -> dict:
    """Addresses of the provider network with more than one announcer."""
    return {address: 'announced by ' + ', '.join(sorted(hops))
            for address, hops in observed.announced(table).items()
            if len(hops) > 1 and not observed.is_vip(address)}
