# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Descriptors, threads and memory of agents, and whether they grow."""

import contextlib
import dataclasses
import os
import statistics

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
