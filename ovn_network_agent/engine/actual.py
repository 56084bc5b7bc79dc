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
import concurrent.futures
import dataclasses
import functools
import time

from oslo_log import log as logging

from ovn_network_agent import notyet
from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.engine import drift
from ovn_network_agent.engine import health

LOG = logging.getLogger(__name__)

# Seconds after which a reason that comes and goes is a warning again.
_RECENT = 60.0


@dataclasses.dataclass(slots=True)
class _Known:
    """The condition of one backend.

    :ivar backend: :class:`backends.base.Backend`
    :ivar never_read: whether no reading has succeeded so far
    :ivar unreadable: text why the backend cannot be read or reached, or None
    :ivar reading: None while no thread beside the loop reads the backend;
        otherwise whether a change by this agent was the reason to read
    :ivar since: monotonic seconds of the begin of the last reading
    :ivar looked: likewise of the last reading that has ended, or None
    :ivar read: when the last successful reading began, seconds since the
        epoch, or None
    :ivar slow: whether the last answer took longer than the loop waits
    :ivar asked: frozenset of :class:`resources.Ref` that the last successful
        reading was about, for a backend that finds only what is wanted
    :ivar warned: the reason of the last warning, and its time, monotonic
        seconds
    :ivar mark: what the last successful reading says about the system, see
        :meth:`backends.base.Backend.reread`; None after any doubt
    :ivar touches: :meth:`tracking.Tracker.touches` at the begin of this
        reading
    :ivar begun: likewise of the last reading that has begun
    """

    backend: base.Backend
    never_read: bool = True
    unreadable: str | None = None
    reading: bool | None = None
    since: float = 0.0
    looked: float | None = None
    read: float | None = None
    slow: bool = False
    warned: tuple = ('', 0.0)
    asked: frozenset = frozenset()
    mark: object = None
    touches: int = 0
    begun: int = 0

    @property
    def kinds(self):
        """Names of the kinds that the backend is responsible for, a list."""
        return [kind.kind for kind in self.backend.kinds]


class Backends:
    """All backends and the condition of each.

    :param backends: list of :class:`backends.base.Backend`
    :param tracker: :class:`engine.tracking.Tracker` that takes the actual
        state
    :param retries: :class:`backoff.Retries`
    :param beside: :class:`executor.Beside`
    :param clock: function that returns monotonic seconds
    :param alive: function that is called before each reading
    :ivar lost: list of Ref: what others removed or changed, as found by the
        readings of this pass
    :ivar readings: list of (name of a backend, seconds): the readings whose
        result has come in this pass
    :ivar order: tuple of (:class:`resources.Stage`, backend, list of the
        names of its kinds of this stage), in the order of creation
    :ivar in_doubt: set of the names of the backends that are to be read again
    :ivar looked_for: list of the names of the kinds that are found only where
        they are wanted; a change of such a kind needs :meth:`refresh`
    :ivar sound: set of the names of the backends that were read, and could be
        reached the last time
    """

    def __init__(self, backends, tracker, retries, beside, clock,
                 alive=lambda: None):
        self._alive = alive
        self._known = {b.name: _Known(b) for b in backends}
        self._owners = {k.kind: b.name for b in backends for k in b.kinds}
        self._stages = {k.kind: k.stage for b in backends for k in b.kinds}
        self.order = tuple(
            (stage, b, [k.kind for k in b.kinds if k.stage is stage])
            for stage in sorted(resources.Stage) for b in backends
            if any(k.stage is stage for k in b.kinds))
        self.in_doubt = set(self._known)
        self.looked_for = [k.kind for b in backends if b.finds_wanted_only
                           for k in b.kinds]
        self.sound = set()
        self._tracker = tracker
        self._retries = retries
        self._beside = beside
        self._clock = clock
        self._drift = drift.Drift()
        self.lost = []
        self.readings = []
        self._answered = set()
        self._put_off = set()

    def end(self):
        """End a pass: no system has answered in the next one yet.

        What a pass that raised has found counts for the next one.
        """
        self._answered.clear()
        self.lost = []
        self.readings = []

    @property
    def names(self):
        """Names of all backends, a set."""
        return set(self._known)

    @property
    def kinds(self):
        """Names of all kinds that have a backend, a set."""
        return set(self._owners)

    @property
    def streaks(self):
        """Readings in a row that found drift, dict of backend to int."""
        return self._drift.streaks

    @property
    def unreadable(self):
        """The unreadable backends, dict of name to text with the reason."""
        return {name: known.unreadable for name, known in self._known.items()
                if known.unreadable is not None}

    def is_unreadable(self, name):
        """Whether a backend cannot be read or reached."""
        return self._known[name].unreadable is not None

    def backend(self, name):
        """The :class:`backends.base.Backend` of a name."""
        return self._known[name].backend

    def backends_at(self, stage):
        """Backends with a kind of a stage, in the order of registration."""
        return [backend for other, backend, _kinds in self.order
                if other is stage]

    def stage(self, kind):
        """:class:`resources.Stage` of a kind."""
        return self._stages[kind]

    def owner(self, kind):
        """Name of the backend of a kind, or None."""
        return self._owners.get(kind)

    def doubt(self, words):
        """Have backends read again at the next refresh.

        :param words: see :func:`backends.base.doubted`
        :returns: names of the doubted backends, a set
        """
        names = base.doubted(self._all(), words) if words else set()
        self.in_doubt |= names
        for name in names:
            self.forget_mark(name)
        return names

    def review(self, names):
        """Have backends read again, only because time has passed.

        A backend that finds its system as at the last reading may say so.

        :param names: set of names of backends
        """
        self.in_doubt |= names

    def large(self, at_most):
        """Names of the backends with more objects, a list."""
        return [name for name, known in self._known.items()
                if self._tracker.count(known.kinds) > at_most]

    def forget_mark(self, name):
        """Have the next reading of a backend be a complete one."""
        self._known[name].mark = None

    def revived(self, words):
        """Names of the backends whose system has come back, a set."""
        return base.revived(self._all(), words) if words else set()

    def invalidated_by(self, backend):
        """Doubt the backends whose objects a change by a backend may remove.

        :param backend: :class:`backends.base.Backend` that made the change
        :returns: set of names of the backends to read again
        """
        return self.doubt(backend.invalidates)

    def refresh(self, by_us=False):
        """Read the backends in doubt that have no work beside the loop.

        :param by_us: whether the doubt comes from a change by this agent, so
            that a missing object is no drift
        """
        self._doubt_the_unlooked()
        names = self._to_read()
        if not by_us:
            self._put_off = {name for name in names
                             if self._first_to_be_changed(name)}
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
                self._has_read(backend.name, found, error)

    def catch_up(self):
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

    def _doubt_the_unlooked(self):
        """Doubt a backend that has not looked for what is wanted now."""
        for name, known in self._known.items():
            if known.backend.finds_wanted_only and not (
                    self._refs(name) <= known.asked):
                self.in_doubt.add(name)

    def _to_read(self):
        """Names of what is in doubt and can be read now, a list."""
        return [name for name in self._known
                if name in self.in_doubt and name not in self._beside.jobs and
                not self.hopeless(name)]

    def _first_to_be_changed(self, name):
        """Whether its system answers or works, and something is to be done.

        A system takes no changes while it is read.  So one that was put in
        doubt faster than it answers would be read for ever, also where the
        readings of two backends overlap.  A retry of a failed reading is
        rare, and would be lost here, because its back-off begins anew.
        """
        known = self._known[name]
        system = known.backend.system
        at_work = (known.unreadable is None and not known.never_read and
                   system in self._beside.systems())
        return bool(system) and (
            system in self._answered or at_work) and any(
            self._tracker.delta(known.kinds) for known in self._known.values()
            if known.backend.system == system)

    def _read_beside(self, name, by_us, awaited):
        known = self._known[name]
        self.in_doubt.discard(name)
        known.reading = by_us
        self._begins(known)
        self._beside.read(
            known.backend,
            self._refs(name) if known.backend.uses_known else frozenset(),
            known.mark, awaited)

    def _begins(self, known):
        """Note the begin of a reading; an old mark counts no more."""
        known.since = self._clock()
        known.begun = self._tracker.touches(known.kinds)
        if known.begun != known.touches:
            known.mark = None

    def _read(self, name, by_us):
        self._alive()
        known = self._known[name]
        self._begins(known)
        refs = functools.cache(lambda: self._refs(name))
        try:
            self._found(name, known.backend.reread(refs, known.mark), by_us)
            if known.backend.finds_wanted_only:
                known.asked = refs()
        except Exception as e:
            self.failed(name, expected(name, e))
            return
        finally:
            known.looked = known.since
            self._has_taken(name)
        self.in_doubt.discard(name)

    def has_read(self, name, found, error):
        """Note the result of a reading that an earlier pass began.

        :param name: name of the backend
        :param found: as of :meth:`backends.base.Backend.reread`, or None
        :param error: exception that the reading raised, or None
        """
        if error is None:
            self._answered.add(self._known[name].backend.system)
        self._has_read(name, found, error)

    def _has_read(self, name, found, error):
        known = self._known[name]
        known.slow = self._clock() - known.since > self._beside.patience
        known.looked = known.since
        self._has_taken(name)
        by_us, known.reading = known.reading, None
        try:
            if error is not None:
                raise error
            self._found(name, found, by_us)
            if name in self.in_doubt:
                known.mark = None
        except Exception as e:
            self.failed_beside(name, expected(name, e))

    def _has_taken(self, name):
        self.readings.append(
            (name, self._clock() - self._known[name].since))

    def _found(self, name, answer, by_us):
        known = self._known[name]
        found, mark = answer
        lost = []
        if found is not None:
            # The backend of another package may return another iterable.
            lost = self._tracker.resync(
                known.kinds, found if isinstance(found, list) else
                list(found))
            known.mark, known.touches = mark, known.begun
        if not by_us:
            if lost:
                taken = known.backend.taken_over(lost)
                lost = [ref for ref in lost if ref not in taken]
            self._drift.note(name, lost)
            self.lost += lost
        known.never_read = False
        known.read = time.time() - (self._clock() - known.since)
        self.reached(name)

    def _refs(self, name):
        return self._tracker.known_refs(self._known[name].kinds)

    def _all(self):
        return [known.backend for known in self._known.values()]

    def first_look(self, name):
        """Whether a backend is being read for the first time."""
        known = self._known[name]
        return (known.reading is not None and known.never_read and
                known.unreadable is None)

    def unread(self, name):
        """Whether no reading of a backend has succeeded so far."""
        return name in self._known and self._known[name].never_read

    def hopeless(self, name):
        """Whether a backend failed and its back-off is not over."""
        return (self._known[name].unreadable is not None and
                self._retries.waiting(name))

    def failed(self, name, error):
        """Note that a backend could not be reached, and doubt it."""
        known = self._known[name]
        reason = notyet.reason(error)
        if known.unreadable != reason:
            LOG.log(self._level(known, reason), '%s: %s', name, reason)
        known.unreadable = reason
        known.mark = None
        self.in_doubt.add(name)
        self.sound.discard(name)

    def _level(self, known, reason):
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

    def failed_beside(self, name, error):
        """Likewise for work beside the loop, with a back-off.

        The pass itself notes only failures of its own work.
        """
        self.failed(name, error)
        self._retries.note({name}, {name})

    def reached(self, name):
        """Note that a backend answered."""
        known = self._known[name]
        if known.unreadable:
            waited = isinstance(known.unreadable, notyet.Reason)
            LOG.log(logging.DEBUG if waited else logging.INFO,
                    '%s: reachable again', name)
        known.unreadable = None
        if not known.never_read:
            self.sound.add(name)

    def look(self, name):
        """Read a backend without taking note of the result.

        :param name: name of a backend
        :returns: concurrent.futures.Future of the result of
            :meth:`backends.base.Backend.read`, or None if the backend is at
            work
        :raises Exception: whatever the backend raises
        """
        backend = self._known[name].backend
        if backend.system:
            return self._beside.look(backend, self._refs(name))
        if name in self._beside.jobs:
            return None
        found = concurrent.futures.Future()
        found.set_result(backend.read(self._refs(name)))
        return found

    def health(self, failures):
        """The health of all backends.

        :param failures: dict of Ref to text, see :class:`outcome.Outcome`
        :returns: tuple of :class:`health.Health`, in the order of
            registration
        """
        failed = collections.defaultdict(list)
        for ref, reason in failures.items():
            failed[self._owners.get(ref.kind)].append(reason)
        now = self._clock()
        found = []
        for name, known in self._known.items():
            due = self._retries.due_in(name)
            found.append(health.Health(
                name, known.unreadable or '', len(failed[name]),
                failed[name][0] if failed[name] else '',
                name in self._beside.jobs, known.read, known.looked,
                None if due is None else now + due,
                self._drift.repairs(name)))
        return tuple(found)

    def close(self):
        """Close the backends; the error of one does not stop the others."""
        for name, known in self._known.items():
            try:
                known.backend.close()
            except Exception:
                LOG.exception('Backend %s could not be closed', name)


def expected(name, error):
    """An exception of a backend as a BackendError.

    A bug in a backend affects only the resources of the backend, not the
    whole pass.

    :param name: name of the backend
    :param error: exception
    :returns: :class:`backends.base.BackendError`
    """
    if isinstance(error, base.BackendError):
        return error
    LOG.error('Backend %s failed', name, exc_info=error)
    return base.BackendError(f'{type(error).__name__}: {error}')
