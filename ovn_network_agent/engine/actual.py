# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The actual state: the backends, and the last known state of each.

A backend that cannot be read keeps its last known state, and is tried again at
growing intervals.  A backend with a ``system`` may hang, so a thread beside
the loop reads it, for which the loop waits a usual time only.
"""

import collections
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import concurrent.futures
import dataclasses
import functools
import operator
import time
import typing

from oslo_log import log as logging

from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.common import backoff
from ovn_network_agent.common import normal_wait
from ovn_network_agent.common import wording
from ovn_network_agent.engine import executor
from ovn_network_agent.engine import health
from ovn_network_agent.engine import tracking

LOG = logging.getLogger(__name__)

# As of backends.base.Backend.reread(): another package may return any
# iterable.
_Answer: typing.TypeAlias = tuple[Iterable[resources.Resource] | None, object]

# Seconds after which a reason that comes and goes is a warning again.
_RECENT = 60.0


@dataclasses.dataclass(slots=True)
class Condition:
    """The condition of one backend."""

    backend: base.Backend
    kinds: list[str]
    unreadable: str | None = None
    # Begin of the last successful reading, seconds since the epoch.
    read: float | None = None
    # None without a reading beside the loop; else whether its reason is a
    # change by this agent.
    by_us: bool | None = None
    # When the last reading began, monotonic seconds.
    began: float = 0.0
    # Likewise the last reading that has ended.
    looked: float | None = None
    # Whether the last answer took longer than the loop waits.
    slow: bool = False
    # Reason and monotonic seconds of the last warning.
    warned: tuple[str, float] = ('', 0.0)
    # For a backend that finds only what is wanted.
    requested: frozenset[resources.Ref] = frozenset()
    # See backends.base.Backend.reread(); None after any doubt.
    mark: object = None
    # tracking.Tracker.touches() at the begin of the last reading.
    touches: int = 0


class Backends:
    """All backends and the condition of each."""

    def __init__(self, backends: Collection[base.Backend],
                 tracker: tracking.Tracker, retries: backoff.Retries,
                 threads: executor.Threads, clock: Callable[[], float],
                 alive: Callable[[], object]) -> None:
        self._alive = alive
        self.all = backends
        # By name, in the order of registration.
        self.conditions = {
            b.name: Condition(b, [kind.kind for kind in b.kinds])
            for b in backends}
        self.names = frozenset(self.conditions)
        self.owners = {k.kind: b.name for b in backends for k in b.kinds}
        self.stages = {k.kind: k.stage for b in backends for k in b.kinds}
        # (stage, backend, its kinds of this stage), in the order of creation.
        self.order = tuple(
            (stage, b, [k.kind for k in b.kinds if k.stage is stage])
            for stage in sorted(resources.Stage) for b in backends
            if any(k.stage is stage for k in b.kinds))
        self.order_down = sorted(self.order, key=operator.itemgetter(0),
                                 reverse=True)
        self.announcers = [(b, kinds) for stage, b, kinds in self.order
                           if stage is resources.Stage.ANNOUNCE]
        # A mark counts only for one that is here because time has passed, see
        # doubt().
        self.in_doubt = set(self.conditions)
        # The kinds that are found only where wanted; a change needs refresh().
        self.looked_for = [k.kind for b in backends if b.finds_wanted_only
                           for k in b.kinds]
        self._tracker = tracker
        self._retries = retries
        self._threads = threads
        self._clock = clock
        self.drift = health.Drift()
        # What others removed or changed, found in this pass.
        self.lost: list[resources.Ref] = []
        # (name of a backend, seconds), of results that came in this pass.
        self.readings: list[tuple[str, float]] = []
        self._answered: set[str] = set()
        self._put_off: set[str] = set()

    def end(self) -> None:
        """End a pass; the finds of one that raised count for the next one."""
        self._answered.clear()
        self.lost = []
        self.readings = []

    @property
    def unreadable(self) -> dict[str, str]:
        """The unreadable backends, with the reason."""
        return {name: each.unreadable for name, each in self.conditions.items()
                if each.unreadable is not None}

    def doubt(self, notices: Collection[str]) -> set[str]:
        """Have backends read in full at the next refresh; their names.

        :param notices: see :func:`backends.base.doubted`
        """
        names = base.doubted(self.all, notices)
        self.in_doubt |= names
        for name in names:
            self.conditions[name].mark = None
        return names

    def large(self, at_most: int) -> list[str]:
        """Names of the backends with more objects."""
        return [name for name, each in self.conditions.items()
                if len(self._tracker.actual(each.kinds)) > at_most]

    def refresh(self, by_us: bool = False) -> None:
        """Read the backends in doubt that have no work beside the loop.

        :param by_us: the doubt comes from a change by this agent, so that a
            missing object is no drift
        """
        for name, each in self.conditions.items():
            if each.backend.finds_wanted_only and not (
                    self._refs(each) <= each.requested):
                # It has not looked for what is wanted now.
                self.in_doubt.add(name)
        names = self._to_read()
        if not by_us:
            self._put_off = set(filter(self._changes_come_first, names))
            names = [name for name in names if name not in self._put_off]
        # The loop does not wait for a backend that was late the last time.
        awaited = [n for n in names if self.conditions[n].backend.system and
                   self.conditions[n].unreadable is None and
                   not self.conditions[n].slow]
        # Those beside the loop work while the others are read.
        for name in sorted(names, key=lambda name: not (
                self.conditions[name].backend.system)):
            self._read(name, by_us, name in awaited)
        self._threads.wait(self._threads.patience, awaited, wake=False)
        self._threads.collect(names)

    def catch_up(self) -> None:
        """Begin the readings that :meth:`refresh` has put off for changes.

        Changes of a system that still works wait for its end, which wakes the
        loop; then the changes come first again.
        """
        at_work = self._threads.systems()
        for name in self._to_read():
            if (name in self._put_off and
                    self.conditions[name].backend.system not in at_work):
                self._read(name, by_us=False)
        self._put_off = set()

    def _to_read(self) -> list[str]:
        return [name for name in self.conditions
                if name in self.in_doubt and name not in self._threads.jobs and
                not self.hopeless(name)]

    def _changes_come_first(self, name: str) -> bool:
        """Whether its system answers or works, and something is to be done.

        A system takes no changes while it is read, so one in doubt faster than
        it answers, or in overlapping readings, would be read for ever.  A
        retry of a failed reading is rare, and would be lost here, because its
        back-off begins again.
        """
        system = self.conditions[name].backend.system
        return bool(system) and (
            system in self._answered or
            self.sound(name) and system in self._threads.systems()) and any(
            self._tracker.delta(each.kinds)
            for each in self.conditions.values()
            if each.backend.system == system)

    def _read(self, name: str, by_us: bool, awaited: bool = False) -> None:
        each = self.conditions[name]
        backend = each.backend
        touches = self._tracker.touches(each.kinds)
        if touches != each.touches:
            each.mark = None
        each.began, each.by_us, each.touches = self._clock(), by_us, touches
        self.in_doubt.discard(name)
        refs = functools.cache(lambda: self._refs(each))
        if backend.finds_wanted_only:
            each.requested = refs()
        if backend.system:
            known = refs() if backend.uses_known else frozenset()
            mark = each.mark
            self._threads.begin(
                backend, lambda: backend.reread(lambda: known, mark),
                functools.partial(self._has_read, name), awaited=awaited)
            return
        self._alive()
        try:
            answer = backend.reread(refs, each.mark)
        except Exception as e:
            self._has_read(name, (), e)
        else:
            self._has_read(name, answer, None)

    def _has_read(self, name: str, answer: typing.Any,
                  error: BaseException | None) -> None:
        each = self.conditions[name]
        seconds = self._clock() - each.began
        self.readings.append((name, seconds))
        each.looked, each.slow = each.began, seconds > self._threads.patience
        by_us, each.by_us = each.by_us, None
        try:
            if error is not None:
                raise error
            self._answered.add(each.backend.system)
            self._take(each, answer, by_us)
        except Exception as e:
            self.failed(name, expected(name, e))
            return
        each.read = time.time() - (self._clock() - each.began)
        if each.unreadable:
            waited = isinstance(each.unreadable, normal_wait.Reason)
            LOG.log(logging.DEBUG if waited else logging.INFO,
                    '%s: reachable again', name)
        each.unreadable = None
        if name in self.in_doubt:
            each.mark = None

    def _take(self, each: Condition, answer: _Answer,
              by_us: bool | None) -> None:
        found, mark = answer
        lost: list[resources.Ref] = []
        if found is not None:
            lost = self._tracker.resync(
                each.kinds, found if isinstance(found, list) else list(found))
            each.mark = mark
        if not by_us:
            if lost:
                taken = each.backend.taken_over(lost)
                lost = [ref for ref in lost if ref not in taken]
            self.drift.note(each.backend.name, lost)
            self.lost += lost

    def _refs(self, each: Condition) -> frozenset[resources.Ref]:
        return self._tracker.known_refs(each.kinds)

    def first_look(self, name: str) -> bool:
        """Whether a backend is being read for the first time."""
        each = self.conditions[name]
        return (self.is_reading(name) and each.read is None and
                each.unreadable is None)

    def is_reading(self, name: str) -> bool:
        """Whether a backend is being read."""
        return self.conditions[name].by_us is not None

    def being_written(self) -> dict[resources.Ref, resources.Resource]:
        """What is being created or changed beside the loop."""
        return {r.ref: r for delta in self._threads.changing().values()
                for r in delta.wanted}

    def unread(self, name: str | None) -> bool:
        """Whether no reading of a backend has succeeded so far."""
        return name in self.conditions and self.conditions[name].read is None

    def sound(self, name: str) -> bool:
        """Whether a backend was read, and could be reached the last time."""
        each = self.conditions[name]
        return each.read is not None and each.unreadable is None

    def hopeless(self, name: str) -> bool:
        """Whether a backend failed and its back-off is not over."""
        return (self.conditions[name].unreadable is not None and
                self._retries.waiting(name))

    def failed(self, name: str, error: base.BackendError) -> None:
        """Note that a backend could not be reached, and doubt it."""
        each = self.conditions[name]
        reason = normal_wait.reason(error)
        if each.unreadable != reason:
            LOG.log(self._level(each, reason), '%s: %s', name, reason)
        each.unreadable = reason
        each.mark = None
        self.in_doubt.add(name)
        if each.backend.system:
            # The end of the pass notes the other failures.
            self._retries.note({name}, {name})

    def _level(self, each: Condition, reason: str) -> int:
        """A warning only once in a while.

        A system that can be read, and takes no change, is reached and fails in
        turns.
        """
        if isinstance(reason, normal_wait.Reason):
            return logging.DEBUG
        now, (before, when) = self._clock(), each.warned
        if reason == before and now < when + _RECENT:
            return logging.INFO
        each.warned = reason, now
        return logging.WARNING

    def look(self, name: str) -> concurrent.futures.Future[
            Sequence[resources.Resource]] | None:
        """Read a backend without taking note of the result.

        :returns: None if the backend or its system is at work
        :raises Exception: whatever the backend raises
        """
        each = self.conditions[name]
        backend, known = each.backend, self._refs(each)
        if name in self._threads.jobs or (
                backend.system and backend.system in self._threads.systems()):
            return None
        if backend.system:
            return self._threads.begin(backend, lambda: backend.read(known))
        found: concurrent.futures.Future[
            Sequence[resources.Resource]] = concurrent.futures.Future()
        found.set_result(backend.read(known))
        return found

    def health(self, failures: Mapping[resources.Ref, str]
               ) -> tuple[health.Health, ...]:
        """The health of all backends, in the order of registration."""
        failed: collections.defaultdict[
            str | None, list[str]] = collections.defaultdict(list)
        for ref, reason in failures.items():
            failed[self.owners.get(ref.kind)].append(reason)
        now = self._clock()
        found = []
        for name, each in self.conditions.items():
            due = self._retries.due_in(name)
            found.append(health.Health(
                name, each.unreadable or '', len(failed[name]),
                failed[name][0] if failed[name] else '',
                name in self._threads.jobs, each.read, each.looked,
                None if due is None else now + due,
                self.drift.repairs(name)))
        return tuple(found)

    def close(self) -> None:
        """Close the backends; the error of one does not stop the others."""
        for backend in self.all:
            try:
                backend.close()
            except Exception:
                LOG.exception('Backend %s could not be closed', backend.name)


def expected(name: str, error: BaseException) -> base.BackendError:
    """An exception as a BackendError: a bug affects one backend only."""
    if isinstance(error, base.BackendError):
        return error
    LOG.error('Backend %s failed', name, exc_info=error)
    return base.BackendError(wording.typed_error(error))
