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

"""The one pass that everything is: snapshot, desired, difference, apply.

Add, remove, failover, restart, drift repair, shutdown and dry run all go
through :meth:`Reconciler.run`.  Nothing here knows what a floating IP is.
"""

import collections
import dataclasses

from oslo_log import log as logging

from ovn_network_agent import backoff
from ovn_network_agent import delta as deltas
from ovn_network_agent import desired
from ovn_network_agent import executor
from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.backends import base

LOG = logging.getLogger(__name__)

# So many contributions are named in the debug log.
_NAMED = 10


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """What one pass came to.

    :ivar changes: number of objects created, updated or deleted
    :ivar failures: dict of Ref to str: what is not as it should be
    :ivar unreadable: dict of backend name to str: planes that could not be
        read or reached
    :ivar broken: dict of contributor to str: drivers that raised
    :ivar pending: names of backends that still work beside the loop
    """

    changes: int = 0
    failures: dict = dataclasses.field(default_factory=dict)
    unreadable: dict = dataclasses.field(default_factory=dict)
    broken: dict = dataclasses.field(default_factory=dict)
    pending: tuple = ()

    @property
    def degraded(self):
        """Reasons why the system is not as desired, a list of str."""
        reasons = ['%s: %s' % item for item in self.unreadable.items()]
        reasons += ['driver %s: %s' % (name, why)
                    for name, why in self.broken.items()]
        reasons += ['%s %s: %s' % (ref.kind, _brief(ref.key), why)
                    for ref, why in self.failures.items()]
        return reasons

    @property
    def settled(self):
        """True when everything is as desired and nothing is under way."""
        return not (self.failures or self.unreadable or self.broken or
                    self.pending)


class Reconciler:
    """Brings the node to what the drivers want.

    All methods run on the loop thread.

    :param drivers: list of :class:`drivers.base.Driver`
    :param backends: list of :class:`backends.base.Backend`
    :param wake: function(reason) that wakes the loop, for work that ended
        beside it
    """

    def __init__(self, drivers, backends, wake):
        self._drivers = drivers
        self._backends = {b.name: b for b in backends}
        self._kinds = {b.name: tuple(k.kind for k in b.kinds)
                       for b in backends}
        self._known_kinds = {kind for kinds in self._kinds.values()
                             for kind in kinds}
        self.tracker = deltas.Tracker()
        self._state = desired.DesiredState(self.tracker)
        self._memo = {}
        self._broken = {}
        self._stale = set(self._backends)
        self._never_read = set(self._backends)
        self._unreadable = {}
        self._failures = {}
        self._failed_about = collections.defaultdict(set)
        self._retries = backoff.Retries()
        self._beside = executor.Beside(wake)
        self._changes = 0
        self._computed = []

    # -- the pass ---------------------------------------------------------

    def run(self, snapshot, stale=(), full=False, prune=True,
            down_to=resources.Stage.LINK):
        """One pass.

        :param snapshot: :class:`model.Snapshot`
        :param stale: names of backends to read again
        :param full: recompute and read everything
        :param prune: delete what is no longer desired; False as long as
            the snapshot is not the whole truth
        :param down_to: :class:`resources.Stage` where deletion ends; what
            belongs to earlier stages stays for another pass
        :returns: :class:`Outcome`
        """
        self._failures = {}
        self._failed_about = collections.defaultdict(set)
        self._changes = 0
        # Before anything is read: a backend that still counts as working
        # beside the loop is not read, and nobody would wake us for it.
        self._collect_beside()
        self._prepare(snapshot, stale, full)
        self._create()
        if prune:
            self._delete(down_to)
        self._note_retries()
        return Outcome(self._changes, {**self._failures,
                                       **self._state.conflicts},
                       dict(self._unreadable), dict(self._broken),
                       self._beside.running())

    def plan(self, snapshot):
        """What a pass would do, without doing it.

        :returns: (list of (verb, resource), :class:`Outcome`), in the order
            of the work
        """
        self._prepare(snapshot, (), True)
        steps = []
        for stage in sorted(resources.Stage):
            for backend in self._at(stage):
                delta = self._delta(backend, stage)
                steps += [('create', r) for r in delta.create]
                steps += [('update', new) for _old, new in delta.update]
        for stage in sorted(resources.Stage, reverse=True):
            for backend in self._at(stage):
                delta = self._delta(backend, stage)
                steps += [('delete', r) for r in delta.delete]
        return steps, Outcome(0, self._state.conflicts,
                              dict(self._unreadable), dict(self._broken))

    def doubt(self, names):
        """Have these backends read again at the next pass."""
        self._stale.update(n for n in names if n in self._backends)

    def next_retry(self):
        """Seconds until something that failed is due again, or None."""
        return self._retries.due_in()

    def wait_beside(self, timeout):
        """Wait for work beside the loop.

        :param timeout: seconds
        :returns: True when nothing is running any more
        """
        return self._beside.wait(timeout)

    def close(self):
        """Give back what backends hold."""
        for backend in self._backends.values():
            backend.close()

    def _prepare(self, snapshot, stale, full):
        if full:
            self._memo.clear()
            self.doubt(self._backends)
        self.doubt(stale)
        self.doubt(self._retries.take_due())
        self._contribute(snapshot)
        self._refresh()

    # -- desired ----------------------------------------------------------

    def _contribute(self, snapshot):
        node = snapshot.node
        present = set()
        self._computed = []
        for driver in self._drivers:
            present.add((driver.name, 'node'))
            self._ask((driver.name, 'node'), driver.for_node, node,
                      node.phase)
            for router in snapshot.routers:
                present.add((driver.name, router.uuid))
                self._ask((driver.name, router.uuid), driver.for_router,
                          router, node.phase, node)
        for contributor in self._state.contributors() - present:
            self._state.contribute(contributor, ())
        for known in (self._memo, self._broken):
            for contributor in known.keys() - present:
                del known[contributor]
        LOG.debug('Computed %d of %d contributions: %s',
                  len(self._computed), len(present),
                  ', '.join('/'.join(c) for c in self._computed[:_NAMED]))

    def _ask(self, contributor, method, subject, phase, *args):
        """Have a driver contribute, unless its input is the same."""
        asked = (subject, *args)
        if self._memo.get(contributor) == asked:
            self._broken.pop(contributor, None)
            return
        self._computed.append(contributor)
        try:
            wanted = self._understood(method(*asked))
        except Exception as e:
            # A driver is foreign code.  Its last contribution stays: a bug
            # in it must not withdraw what works.
            LOG.exception('Driver %s failed on %s', *contributor)
            if phase is not model.Phase.STOPPED:
                self._broken[contributor] = '%s: %s' % (
                    type(e).__name__, e)
                return
            wanted = self._state.contributed(contributor)
        else:
            self._memo[contributor] = asked
        self._broken.pop(contributor, None)
        if phase is model.Phase.STOPPED:
            # The end is the same pass with nothing desired; what belongs
            # to others is still left alone.
            wanted = [r for r in wanted if r.kind == resources.Keep.kind]
        self._state.contribute(contributor, wanted)

    def _understood(self, wanted):
        """A list of what a driver yields, each item looked at once.

        :raises ValueError: when somewhat is no resource, or there is no
            backend for it: it would silently never be made
        """
        wanted = list(wanted)
        for resource in wanted:
            if not isinstance(resource, resources.Resource):
                raise ValueError('%r is not a resource' % (resource,))
            hash(resource.ref)
            if (resource.kind not in self._known_kinds and
                    resource.kind != resources.Keep.kind):
                raise ValueError('no backend makes a %s' % resource.kind)
        return wanted

    # -- actual -----------------------------------------------------------

    def _refresh(self):
        for name in [n for n in self._backends if n in self._stale]:
            if name in self._beside.running() or self._hopeless(name):
                continue
            kinds = self._kinds[name]
            try:
                self.tracker.resync(kinds, self._backends[name].read(
                    self.tracker.known_refs(kinds)))
            except Exception as e:
                self._mark_unreadable(name, _expected(name, e))
                continue
            self._stale.discard(name)
            self._never_read.discard(name)
            self._reachable(name)

    def _hopeless(self, name):
        """Unreachable a moment ago: no use in waiting for it again now."""
        return name in self._unreadable and self._retries.waiting(name)

    def _mark_unreadable(self, name, error):
        if self._unreadable.get(name) != str(error):
            LOG.warning('%s: %s', name, error)
        self._unreadable[name] = str(error)

    def _reachable(self, name):
        if self._unreadable.pop(name, None):
            LOG.info('%s: reachable again', name)

    # -- apply ------------------------------------------------------------

    def _at(self, stage):
        """Backends with a kind of that stage, in order of registration."""
        return [b for b in self._backends.values()
                if any(k.stage is stage for k in b.kinds)]

    def _delta(self, backend, stage):
        return self.tracker.delta(
            [k.kind for k in backend.kinds if k.stage is stage])

    def _create(self):
        for stage in sorted(resources.Stage):
            for backend in self._at(stage):
                delta = self._delta(backend, stage)
                create = tuple(r for r in delta.create
                               if self._may_create(r))
                update = tuple((old, new) for old, new in delta.update
                               if self._may_create(new))
                self._apply(backend, base.Delta(create, update))

    def _delete(self, down_to):
        for stage in sorted(resources.Stage, reverse=True):
            if stage < down_to:
                return
            for backend in self._at(stage):
                delta = self._delta(backend, stage)
                self._apply(backend, base.Delta(delete=tuple(
                    r for r in delta.delete if self._may_delete(r))))

    def _may_create(self, resource):
        """False when a prerequisite is not in place."""
        missing = [ref for ref in resource.requires
                   if not self.tracker.in_sync(ref)]
        waits_for = missing or self._failed_beside(resource)
        if waits_for:
            self._fail(resource.ref, 'waits for %s %s' % (
                waits_for[0].kind, _brief(waits_for[0].key)))
        return not waits_for

    def _may_delete(self, resource):
        """False while something that rests on it could not be removed."""
        held = self._failed_beside(resource) or (
            resource.subject is not None and
            resource.stage is not resources.Stage.ANNOUNCE and
            self._blind_to_announcements())
        if held:
            self._fail(resource.ref,
                       'stays while what announces %s could not be '
                       'withdrawn' % resource.subject)
        return not held

    def _blind_to_announcements(self):
        """Whether there may be announcements that nobody has seen yet.

        A former run may have left them; taking away what is under them
        would attract traffic and drop it.
        """
        return any(b.name in self._never_read
                   for b in self._at(resources.Stage.ANNOUNCE))

    def _failed_beside(self, resource):
        """Refs that failed in this pass with the resource's subject."""
        if resource.subject is None:
            return []
        return [ref for ref in self._failed_about[resource.subject]
                if ref != resource.ref]

    def _fail(self, ref, reason):
        self._failures[ref] = reason
        self._failed_about[self._subject(ref)].add(ref)

    def _subject(self, ref):
        resource = self.tracker.desired(ref) or self.tracker.existing(ref)
        return resource.subject if resource else None

    def _apply(self, backend, delta):
        if not delta:
            return
        if backend.name in self._never_read or self._hopeless(backend.name):
            # Without knowing what is there nothing can be told apart.
            for ref in _refs(delta):
                self._fail(ref, self._unreadable.get(backend.name,
                                                     'not read yet'))
            return
        if backend.concurrent:
            self._beside.submit(backend, delta)
            return
        try:
            failures = backend.apply(delta)
        except Exception as e:
            self._failed_whole(backend.name, delta,
                               _expected(backend.name, e))
            return
        self._take(backend, delta, failures)

    def _collect_beside(self):
        for backend, delta, failures, error in self._beside.done():
            if error is not None:
                self._failed_whole(backend.name, delta,
                                   _expected(backend.name, error))
            else:
                self._take(backend, delta, failures)

    def _failed_whole(self, name, delta, error):
        self._mark_unreadable(name, error)
        self.doubt([name])
        for ref in _refs(delta):
            self._fail(ref, str(error))

    def _take(self, backend, delta, failures):
        """Note what was really reached."""
        for ref, reason in failures.items():
            LOG.warning('%s %s: %s', ref.kind, _brief(ref.key), reason)
            self._fail(ref, reason)
        for verb, resource in _steps(delta):
            if resource.ref in failures:
                continue
            LOG.info('%s %s %s', verb, resource.kind, describe(resource))
            self._changes += 1
            if verb == 'deleted':
                self.tracker.gone(resource.ref)
            else:
                self.tracker.found(resource)
        self._reachable(backend.name)
        if failures:
            self.doubt([backend.name])
        self._invalidate(backend)

    def _invalidate(self, backend):
        """What hangs on a changed link may have gone with it."""
        names = [n for n in backend.invalidates if n in self._backends]
        if names:
            self.doubt(names)
            self._refresh()

    # -- retry ------------------------------------------------------------

    def _note_retries(self):
        """Back off where something failed, forget where all is well."""
        troubled = set(self._unreadable)
        for ref in self._failures:
            troubled.update(n for n, kinds in self._kinds.items()
                            if ref.kind in kinds)
        self._retries.note(troubled, set(self._backends))
        if self._broken or self._state.conflicts:
            LOG.debug('Degraded: %s %s', self._broken,
                      self._state.conflicts)


def describe(resource):
    """A resource's values as one line for the log and the plan."""
    return ' '.join(
        '%s=%s' % (field.name, _brief(getattr(resource, field.name)))
        for field in dataclasses.fields(resource)
        if field.compare and getattr(resource, field.name) is not None
    ).replace('cookie=%d ' % getattr(resource, 'cookie', 0),
              'cookie=%#x ' % getattr(resource, 'cookie', 0))


def _expected(name, error):
    """The error as a BackendError.

    A bug in one backend costs what it owns, not the whole pass.
    """
    if isinstance(error, base.BackendError):
        return error
    LOG.error('Backend %s failed', name, exc_info=error)
    return base.BackendError('%s: %s' % (type(error).__name__, error))


def _brief(value):
    if isinstance(value, tuple):
        return ','.join(_brief(v) for v in value if v is not None)
    return str(value)


def _refs(delta):
    return [resource.ref for _verb, resource in _steps(delta)]


def _steps(delta):
    return ([('created', r) for r in delta.create] +
            [('updated', new) for _old, new in delta.update] +
            [('deleted', r) for r in delta.delete])
