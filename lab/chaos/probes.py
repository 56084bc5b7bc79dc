# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Probes of all targets for a whole run, with every single sample kept."""

from collections import abc
import dataclasses
import time

from lab import node as nodes
from lab import probe

# Seconds in which the sender has to tell all that it knows.
_PATIENCE = 60.0


@dataclasses.dataclass(frozen=True)
class Samples:
    """All probes of one target, in the order in which they were sent."""

    target: object
    interval: float
    sent: list[float]
    # List of seconds until the answer, negative for a lost probe, None for a
    # probe that nobody waited for long enough
    answers: list
    # Number of probes that could not be sent in time, because the sender got
    # no processor; they are neither sent nor lost
    skipped: int = 0
    error: str = ''  # the last error of a system call, or ''

    def lateness(self):
        """Seconds that the sender was once late."""
        return max((after - before - self.interval for before, after in
                    zip(self.sent, self.sent[1:])), default=0.0)


class _Probe(probe.Probe):
    """A probe that keeps the raw results."""

    raw = None

    def _summary(self, raw):
        self.raw = raw
        return super()._summary(raw)

    def _last(self, command, timeout):
        return super()._last(command, timeout + _PATIENCE)


class Probes:
    """One sender for each target."""

    def __init__(self, targets: tuple, find: abc.Callable, interval: float):
        self._interval = interval
        self._probes = {
            target: _Probe(find(target.node), target.kind, target.address,
                           interval, skip=True,
                           **({'port': target.port} if target.port else {}))
            for target in targets}

    def start(self):
        """Start all senders."""
        for one in self._probes.values():
            one.start()

    def silent(self, deadline: float) -> list:
        """Targets that do not answer a new probe."""
        since, found = time.monotonic(), []
        for target, one in self._probes.items():
            try:
                one.wait_answered(max(0.1, deadline - time.monotonic()),
                                  after=since)
            except nodes.NodeError:
                found.append(target)
        return found

    def stop(self) -> list:
        """End all senders."""
        found = []
        for target, one in self._probes.items():
            one.stop()
            found.append(Samples(target, self._interval, one.raw['sent'],
                                 one.raw['answers'], one.raw['skipped'],
                                 one.raw['error']))
        return found

    def kill(self):
        """End the senders that still run, without any result."""
        for one in self._probes.values():
            one.__exit__()
