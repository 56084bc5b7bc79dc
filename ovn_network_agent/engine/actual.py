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

"""The actual state: the backends, and the last known state of each.

A backend that cannot be read keeps its last known state.  The engine tries
the backend again at growing intervals, and the other backends go on.  A
backend with a ``system`` may hang, so a thread beside the loop reads it.  The
loop waits for the thread for a usual time, and then goes on with the last
known state.
"""

import collections
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
import concurrent.futures
import dataclasses
import functools
import operator
import time
import typing

from oslo_log import log as logging

from ovn_network_agent import backoff
from ovn_network_agent import notyet
from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.engine import drift
from ovn_network_agent.engine import executor
from ovn_network_agent.engine import health
from ovn_network_agent.engine import tracking

LOG = logging.getLogger(__name__)

# That of backends.base.Backend.reread().  A backend of another package may
# return another iterable than a list.
_Answer: typing.TypeAlias = tuple[Iterable[resources.Resource] | None, object]

# Seconds after which a reason that comes and goes is a warning again.
_RECENT = 60.0


@dataclasses.dataclass(slots=True)
class _Known:
    """The condition of one backend."""

    backend: base.Backend
    # Whether no reading has succeeded so far.
    never_read: bool = True
    # Why the backend cannot be read or reached.
    unreadable: str | None = None
    # None while no thread beside the loop reads the backend; otherwise whether
    # a change by this agent was the reason to read.
    reading: bool | None = None
    # When the last reading began, monotonic seconds.
    since: float = 0.0
    # Likewise the last reading that has ended.
    looked: float | None = None
    # When the last successful reading began, seconds since the epoch.
    read: float | None = None
    # Whether the last answer took longer than the loop waits.
    slow: bool = False
    # The reason of the last warning, and its time, monotonic seconds.
    warned: tuple[str, float] = ('', 0.0)
    # What the last successful reading was about, for a backend that finds
    # only what is wanted.
    asked: frozenset[resources.Ref] = frozenset()
    # What the last successful reading says about the system, see
    # backends.base.Backend.reread(); None after any doubt.
    mark: object = None
    # tracking.Tracker.touches() at the begin of this reading.
    touches: int = 0
    # Likewise of the last reading that has begun.
    begun: int = 0

    @property
    def kinds(self) -> list[str]:
        """The kinds that the backend is responsible for."""
        return [kind.kind for kind in self.backend.kinds]


class Backends:
    """All backends and the condition of each."""

    def __init__(self, backends: Collection[base.Backend],
                 tracker: tracking.Tracker, retries: backoff.Retries,
                 beside: executor.Beside, clock: Callable[[], float],
                 alive: Callable[[], object]) -> None:
        self._alive = alive
        self._all = backends
        self._known = {b.name: _Known(b) for b in backends}
        # By kind: the name of its backend, and its stage.
        self.owners = {k.kind: b.name for b in backends for k in b.kinds}
        self.stages = {k.kind: k.stage for b in backends for k in b.kinds}
        # (stage, backend, its kinds of this stage), in the order of creation.
        self.order = tuple(
            (stage, b, [k.kind for k in b.kinds if k.stage is stage])
            for stage in sorted(resources.Stage) for b in backends
            if any(k.stage is stage for k in b.kinds))
        # Likewise in the order of deletion.
        self.order_down = sorted(self.order, key=operator.itemgetter(0),
                                 reverse=True)
        # (backend, its kinds): those that announce, in the order of
        # registration.
        self.announcers = [(b, kinds) for stage, b, kinds in self.order
                           if stage is resources.Stage.ANNOUNCE]
        # Names of the backends that are to be read again.  A mark counts for
        # one that is here only because time has passed, see doubt().
        self.in_doubt = set(self._known)
        # The kinds that are found only where they are wanted; a change of such
        # a kind needs refresh().
        self.looked_for = [k.kind for b in backends if b.finds_wanted_only
                           for k in b.kinds]
        # Names of the backends that were read, and could be reached the last
        # time.
        self.sound: set[str] = set()
        self._tracker = tracker
        self._retries = retries
        self._beside = beside
        self._clock = clock
        self.drift = drift.Drift()
        # What others removed or changed, as found by the readings of this
        # pass.
        self.lost: list[resources.Ref] = []
        # (name of a backend, seconds): the readings whose result has come in
        # this pass.
        self.readings: list[tuple[str, float]] = []
        # The systems that have answered in this pass.
        self._answered: set[str] = set()
        self._put_off: set[str] = set()

    def end(self) -> None:
        """End a pass: no system has answered in the next one yet.

        What a pass that raised has found counts for the next one.
        """
        self._answered.clear()
        self.lost = []
        self.readings = []

    @property
    def names(self) -> set[str]:
        """Names of all backends."""
        return set(self._known)

    @property
    def unreadable(self) -> dict[str, str]:
        """The unreadable backends, with the reason."""
        return {name: known.unreadable for name, known in self._known.items()
                if known.unreadable is not None}

    def backend(self, name: str) -> base.Backend:
        """The backend of a name."""
        return self._known[name].backend

    def doubt(self, words: Collection[str]) -> set[str]:
        """Have backends read again in full at the next refresh.

        :param words: see :func:`backends.base.doubted`
        :returns: names of the doubted backends
        """
        names = base.doubted(self._all, words)
        self.in_doubt |= names
        for name in names:
            self._known[name].mark = None
        return names

    def large(self, at_most: int) -> list[str]:
        """Names of the backends with more objects."""
        return [name for name, known in self._known.items()
                if self._tracker.count(known.kinds) > at_most]

    def forget_mark(self, name: str) -> None:
        """Have the next reading of a backend be a complete one."""
        self._known[name].mark = None

    def revived(self, words: Collection[str]) -> set[str]:
        """Names of the backends whose system has come back."""
        return base.revived(self._all, words)

    def refresh(self, by_us: bool = False) -> None:
        """Read the backends in doubt that have no work beside the loop.

        :param by_us: whether the doubt comes from a change by this agent, so
            that a missing object is no drift
        """
        for name, known in self._known.items():
            if known.backend.finds_wanted_only and not (
                    self._refs(name) <= known.asked):
                # It has not looked for what is wanted now.
                self.in_doubt.add(name)
        names = self._to_read()
        if not by_us:
            self._put_off = {name for name in names
                             if self._changes_come_first(name)}
            names = [name for name in names if name not in self._put_off]
        beside = [n for n in names if self._known[n].backend.system]
        # The loop does not wait for a backend that was late the last time.
        awaited = [n for n in beside if self._known[n].unreadable is None and
                   not self._known[n].slow]
        for name in beside:
            self._read_beside(name, by_us, name in awaited)
        for name in names:
            if name not in beside:
                self._read(name, by_us)
        if beside:
            self._beside.wait(self._beside.patience, awaited, wake=False)
            for backend, _delta, found, error in self._beside.done(beside):
                self.has_read(backend.name, found, error)

    def catch_up(self) -> None:
        """Begin the readings that :meth:`refresh` has put off for changes.

        The end of a reading wakes the loop.  The changes of a system that
        still works wait for the end of this work, which wakes the loop, too;
        then the changes come first again.
        """
        at_work = self._beside.systems()
        for name in self._to_read():
            if (name in self._put_off and
                    self._known[name].backend.system not in at_work):
                self._read_beside(name, False, False)
        self._put_off = set()

    def _to_read(self) -> list[str]:
        """Names of what is in doubt and can be read now."""
        return [name for name in self._known
                if name in self.in_doubt and name not in self._beside.jobs and
                not self.hopeless(name)]

    def _changes_come_first(self, name: str) -> bool:
        """Whether its system answers or works, and something is to be done.

        A system takes no changes while it is read.  So one that was put in
        doubt faster than it answers would be read for ever, also where the
        readings of two backends overlap.  A retry of a failed reading is
        rare, and would be lost here, because its back-off begins again.
        """
        known = self._known[name]
        system = known.backend.system
        at_work = (known.unreadable is None and not known.never_read and
                   system in self._beside.systems())
        return bool(system) and (
            system in self._answered or at_work) and any(
            self._tracker.delta(known.kinds) for known in self._known.values()
            if known.backend.system == system)

    def _read_beside(self, name: str, by_us: bool, awaited: bool) -> None:
        known = self._known[name]
        self.in_doubt.discard(name)
        known.reading = by_us
        self._note_begin(known)
        self._beside.read(
            known.backend,
            self._refs(name) if known.backend.uses_known else frozenset(),
            known.mark, awaited)

    def _note_begin(self, known: _Known) -> None:
        """Note the begin of a reading; an old mark counts no more."""
        known.since = self._clock()
        known.begun = self._tracker.touches(known.kinds)
        if known.begun != known.touches:
            known.mark = None

    def _read(self, name: str, by_us: bool) -> None:
        self._alive()
        known = self._known[name]
        self._note_begin(known)
        refs = functools.cache(lambda: self._refs(name))
        try:
            self._take(name, known.backend.reread(refs, known.mark), by_us)
            if known.backend.finds_wanted_only:
                known.asked = refs()
        except Exception as e:
            self.failed(name, expected(name, e))
            return
        finally:
            self._note_end(known)
        self.in_doubt.discard(name)

    def has_read(self, name: str, found: _Answer,
                 error: BaseException | None) -> None:
        """Note the result of a reading beside the loop.

        :param found: nothing after an error
        """
        known = self._known[name]
        known.slow = self._note_end(known) > self._beside.patience
        by_us, known.reading = known.reading, None
        try:
            if error is not None:
                raise error
            self._answered.add(known.backend.system)
            self._take(name, found, by_us)
            if name in self.in_doubt:
                known.mark = None
        except Exception as e:
            self.failed_beside(name, expected(name, e))

    def _note_end(self, known: _Known) -> float:
        """Note the end of a reading; the seconds that it took."""
        known.looked = known.since
        seconds = self._clock() - known.since
        self.readings.append((known.backend.name, seconds))
        return seconds

    def _take(self, name: str, answer: _Answer, by_us: bool | None) -> None:
        known = self._known[name]
        found, mark = answer
        lost: list[resources.Ref] = []
        if found is not None:
            lost = self._tracker.resync(
                known.kinds, found if isinstance(found, list) else
                list(found))
            known.mark, known.touches = mark, known.begun
        if not by_us:
            if lost:
                taken = known.backend.taken_over(lost)
                lost = [ref for ref in lost if ref not in taken]
            self.drift.note(name, lost)
            self.lost += lost
        known.never_read = False
        known.read = time.time() - (self._clock() - known.since)
        if known.unreadable:
            waited = isinstance(known.unreadable, notyet.Reason)
            LOG.log(logging.DEBUG if waited else logging.INFO,
                    '%s: reachable again', name)
        known.unreadable = None
        self.sound.add(name)

    def _refs(self, name: str) -> frozenset[resources.Ref]:
        return self._tracker.known_refs(self._known[name].kinds)

    def first_look(self, name: str) -> bool:
        """Whether a backend is being read for the first time."""
        known = self._known[name]
        return (known.reading is not None and known.never_read and
                known.unreadable is None)

    def unread(self, name: str | None) -> bool:
        """Whether no reading of a backend has succeeded so far."""
        return name in self._known and self._known[name].never_read

    def hopeless(self, name: str) -> bool:
        """Whether a backend failed and its back-off is not over."""
        return (self._known[name].unreadable is not None and
                self._retries.waiting(name))

    def failed(self, name: str, error: base.BackendError) -> None:
        """Note that a backend could not be reached, and doubt it."""
        known = self._known[name]
        reason = notyet.reason(error)
        if known.unreadable != reason:
            LOG.log(self._level(known, reason), '%s: %s', name, reason)
        known.unreadable = reason
        known.mark = None
        self.in_doubt.add(name)
        self.sound.discard(name)

    def _level(self, known: _Known, reason: str) -> int:
        """The level of a reason: a warning only once in a while.

        A system that can be read, and takes no change, is reached and fails
        in turns.
        """
        if isinstance(reason, notyet.Reason):
            return logging.DEBUG
        now, (before, when) = self._clock(), known.warned
        if reason == before and now < when + _RECENT:
            return logging.INFO
        known.warned = reason, now
        return logging.WARNING

    def failed_beside(self, name: str, error: base.BackendError) -> None:
        """Likewise for work beside the loop, with a back-off.

        The pass itself notes only failures of its own work.
        """
        self.failed(name, error)
        self._retries.note({name}, {name})

    def look(self, name: str) -> concurrent.futures.Future[
            list[resources.Resource]] | None:
        """Read a backend without taking note of the result.

        :returns: None if the backend is at work
        :raises Exception: whatever the backend raises
        """
        backend = self._known[name].backend
        if backend.system:
            return self._beside.look(backend, self._refs(name))
        if name in self._beside.jobs:
            return None
        found: concurrent.futures.Future[
            list[resources.Resource]] = concurrent.futures.Future()
        found.set_result(backend.read(self._refs(name)))
        return found

    def health(self, failures: Mapping[resources.Ref, str]
               ) -> tuple[health.Health, ...]:
        """The health of all backends, in the order of registration.

        :param failures: see :class:`outcome.Outcome`
        """
        failed: collections.defaultdict[
            str | None, list[str]] = collections.defaultdict(list)
        for ref, reason in failures.items():
            failed[self.owners.get(ref.kind)].append(reason)
        now = self._clock()
        found = []
        for name, known in self._known.items():
            due = self._retries.due_in(name)
            found.append(health.Health(
                name, known.unreadable or '', len(failed[name]),
                failed[name][0] if failed[name] else '',
                name in self._beside.jobs, known.read, known.looked,
                None if due is None else now + due,
                self.drift.repairs(name)))
        return tuple(found)

    def close(self) -> None:
        """Close the backends; the error of one does not stop the others."""
        for name, known in self._known.items():
            try:
                known.backend.close()
            except Exception:
                LOG.exception('Backend %s could not be closed', name)


def expected(name: str, error: BaseException) -> base.BackendError:
    """An exception of a backend as a BackendError.

    A bug in a backend affects only the resources of the backend, not the
    whole pass.
    """
    if isinstance(error, base.BackendError):
        return error
    LOG.error('Backend %s failed', name, exc_info=error)
    return base.BackendError(f'{type(error).__name__}: {error}')
