# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The judge: probes, watch and verdict of one run."""

from collections import abc
import contextlib
import dataclasses
import threading
import time

from lab import moves
from lab import node as nodes
from lab import probe
from lab.chaos import invariants
from lab.chaos import routes
from lab.chaos import summary as summaries
from lab.chaos import values
from lab.chaos import verdict

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


# Seconds between two verdicts while everything settles, at least.  A verdict
# takes processor time from the agents, so that the pause is also as long as
# the verdict was.
_AGAIN = 0.5
# Seconds after which the judge says what it waits for, and how many things.
_PATIENT, _NAMED = 5.0, 3
# Seconds that a target has at least to answer, whatever the deadline.
_ANSWER = 5.0


class Judge:
    """Settled when oracle, observation and all targets agree.

    :ivar routes: :class:`routes.Routes`, what the spine has known
    """

    def __init__(self, cloud, world, profile: values.Profile,
                 say: abc.Callable[[str], object]):
        self._cloud = cloud
        self._world = world
        self._profile = profile
        self._say = say
        self._lock = threading.Lock()
        self._fresh = []
        self._all = []
        self._began = self._ended = 0.0
        self._samples = []
        self._leaks = {}
        self._probes = Probes(world.targets(), world.node,
                              profile.probe_interval)
        self._verdict = verdict.Verdict(cloud, world, profile)
        self._watch = invariants.Watch(cloud, world, self._note)
        self.routes = routes.Routes(cloud)
        self._moves = moves.Moves(cloud)
        self._stack = contextlib.ExitStack()

    def start(self):
        """Begin; everything should be as it has to be."""
        self._stack.enter_context(self._moves)
        self.routes.start()
        for kind, subject, text in self._verdict.remember():
            self._note(kind, subject, 'at the start: ' + text)
        self._probes.start()
        self._watch.start()
        self._began = time.monotonic()

    def moves(self, since):
        """The values.Move of each gateway port from a moment on, a tuple."""
        names = {lrp: name for name, (_uuid, lrp) in
                 self._world.state().routers.items()}
        return tuple(values.Move(when, names.get(lrp, lrp), owner)
                     for when, lrp, owner in list(self._moves.seen)
                     if when >= since)

    def settled(self, timeout: float) -> list:
        """Wait until everything is as it has to be.

        :returns: list of values.Violation: what the watch saw since the last
            call, and what is still wrong at the deadline
        """
        deadline = time.monotonic() + timeout
        said = ''
        while True:
            began = time.monotonic()
            wrong = self._wrong(deadline)
            took = time.monotonic() - began
            if not wrong or time.monotonic() >= deadline:
                break
            said = self._waiting(wrong, said,
                                 timeout - deadline + time.monotonic())
            time.sleep(max(_AGAIN, took))
        if not wrong:
            self._watch.measure()
        for kind, subject, text in (*wrong, *self._verdict.leaked()):
            self._note(kind, subject, text)
        return self._taken()

    def _waiting(self, wrong: list, said, since: float) -> str:
        """Say what the judge waits for, when this is news."""
        text = '; '.join(' '.join(one) for one in wrong[:_NAMED])
        if since >= _PATIENT and text != said:
            self._say(f'  waiting for {since:.0f} s, {len(wrong):d} '
                      f'differences: {text}')
            return text
        return said

    def _wrong(self, deadline):
        """What is wrong now; the cheap looks come first."""
        wrong = self._verdict.quick() or self._verdict.all()
        if wrong and time.monotonic() < deadline:
            return wrong
        if wrong:
            # The last look is a complete one.
            wrong = self._verdict.all()
        silent = self._probes.silent(
            max(deadline, time.monotonic() + _ANSWER))
        wrong += [(values.PROBE, target.subject, 'does not answer')
                  for target in silent
                  if not self._world.exempt(values.PROBE, target.subject)]
        return wrong or self._verdict.quick()

    def stop(self):
        """End everything; the rest of what is wrong goes to the summary.

        It may be called again, and does nothing then.
        """
        if self._ended:
            return
        self._ended = time.monotonic()
        for kind, subject, text in self._verdict.foreign():
            self._note(kind, subject, 'at the end: ' + text)
        self._leaks = self._verdict.leaks()
        self._watch.stop()
        for subject, text in self._watch.growth.grown():
            self._note(values.GROWTH, subject, text)
        self._samples = self._probes.stop()
        self.close()

    def close(self):
        """End what still runs; may be called at any time."""
        self._watch.stop()
        self.routes.stop()
        self._probes.kill()
        self._stack.close()

    def summary(self, episodes: list[values.Episode]) -> dict:
        """The summary as JSON can write it; after :meth:`stop`."""
        with self._lock:
            violations = list(self._all)
        return summaries.make(summaries.Material(
            profile=self._profile, began=self._began, ended=self._ended,
            samples=self._samples, episodes=episodes, violations=violations,
            moves=self.moves(0.0), leaks=self._leaks,
            growth=self._watch.growth, errors=self._watch.errors))

    def _note(self, kind, subject, text):
        violation = values.Violation(kind, subject, text, time.monotonic())
        with self._lock:
            self._fresh.append(violation)
            self._all.append(violation)
        self._say(f'VIOLATION {kind} {subject}: {text}')

    def _taken(self):
        with self._lock:
            taken, self._fresh = self._fresh, []
        return taken
