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

"""The work of one pass: what may be done, in which order, what came of it.

Creation runs up the stages, so that what BGP makes visible comes last, and
deletion runs down.  A resource whose prerequisite is not in place is held
back; so is the removal of what an announcement still rests on.
"""

import collections
import time

from oslo_log import log as logging

from ovn_network_agent import executor
from ovn_network_agent import outcome
from ovn_network_agent import planes
from ovn_network_agent import resources
from ovn_network_agent import succession
from ovn_network_agent.backends import base

LOG = logging.getLogger(__name__)


class Application:
    """Applies differences and remembers what failed.

    What a backend refused is not tried again at every event, but when the
    back-off of its plane is over, when something about it changed, or when
    somebody doubts the plane (:meth:`forgive`).  Until then it goes on
    counting as failed.  What stays on purpose has a back-off of its own, and
    counts as nothing.

    :param state: :class:`planes.Planes`
    :param tracker: :class:`delta.Tracker`
    :param retries: :class:`backoff.Retries`, by name of backend, and by Ref
        of what stays on purpose
    :param beside: :class:`executor.Beside`
    :param hurry: :class:`precedence.Precedence`
    """

    def __init__(self, state, tracker, retries, beside, hurry):
        self._planes = state
        self._tracker = tracker
        self._retries = retries
        self._beside = beside
        self._refused = {}
        self._successors = succession.Successors(state, tracker)
        self._left = {}
        self._precedence = hurry
        self._hurried = False
        self._untold = []
        self.begin()

    def begin(self):
        """Start the count of a new pass."""
        self.failures = {}
        self.applied = []
        self.seconds = []
        self._failed_about = collections.defaultdict(set)
        # What is done beside the loop, or waits for that.
        self._busy_about = collections.defaultdict(set)
        self._busy = set()

    def forgive(self, names=None):
        """Try again what these backends refused (None: all of them)."""
        for ref in [ref for ref, (owner, *_why) in self._refused.items()
                    if names is None or owner in names]:
            del self._refused[ref]
        self._retries.hasten([
            ref for ref in self._left
            if names is None or self._planes.owner(ref.kind) in names])

    def due(self):
        """Names of the backends in which something is due again, a set.

        What is due counts as tried.
        """
        return {self._planes.owner(due.kind)
                if isinstance(due, resources.Ref) else due
                for due in self._retries.take_due()}

    def troubled(self):
        """Names of the backends that something failed in, a set."""
        names = {self._planes.owner(ref.kind) for ref in self.failures}
        return names | set(self._planes.unreadable)

    # -- the order --------------------------------------------------------

    def create(self, urgent=False):
        """Create and update, stage by stage.

        :param urgent: announce as soon as possible, see :mod:`precedence`
        """
        for name, delta in self._beside.changing().items():
            if self._planes.backend(name).system:
                self._hold_back(delta)
        self._hurried = urgent or self._precedence.held
        if not self._hurried:
            self._go_on(lambda resource: True)
            return
        self._create(lambda resource: not resource.follows)
        announced = sum(1 for _verb, resource in self.applied
                        if resource.stage is resources.Stage.ANNOUNCE)
        if announced:
            LOG.info('Announced %d addresses first', announced)
        if announced or any(
                self._planes.stage(ref.kind) is resources.Stage.ANNOUNCE
                for ref in self._busy):
            self._precedence.hold()
        if not self._precedence.held:
            self._go_on(lambda resource: resource.follows)

    def _go_on(self, chosen):
        self._precedence.release()
        self._hurried = False
        self.tell()
        self._create(chosen)

    def _create(self, chosen):
        for stage in sorted(resources.Stage):
            for backend in self._planes.at(stage):
                delta = self._planes.delta(backend, stage)
                self._apply(backend, base.Delta(
                    tuple(r for r in delta.create
                          if chosen(r) and self._may_create(r)),
                    tuple((old, new) for old, new in delta.update
                          if chosen(new) and self._may_create(new))))

    def delete(self, down_to, only=lambda resource: True):
        """Delete, from the last stage down to ``down_to``.

        :param only: function(resource), False for what stays all the same
        """
        for stage in sorted(resources.Stage, reverse=True):
            if stage < down_to:
                return
            for backend in self._planes.at(stage):
                delta = self._planes.delta(backend, stage)
                self._successors.find(delta.delete)
                self._apply(backend, base.Delta(delete=tuple(
                    r for r in delta.delete
                    if only(r) and self._may_delete(r))))

    def _may_create(self, resource):
        """False when a prerequisite is not in place."""
        missing = [ref for ref in resource.requires
                   if not self._tracker.in_sync(ref)]
        if self._busy_before(resource) or (
                missing and self._under_way(missing)):
            return False
        waits_for = missing or self._failed_before(resource)
        if waits_for:
            self._fail(resource.ref, 'waits for %s %s' % (
                waits_for[0].kind, outcome.brief(waits_for[0].key)))
        return not waits_for and not self._still_refused(resource.ref)

    def _under_way(self, refs):
        """Whether all of them are with backends that work beside the loop.

        Then nothing has failed, and the end of that work wakes the loop.
        """
        running = self._beside.running()
        return all(self._planes.owner(ref.kind) in running or
                   ref in self._busy for ref in refs)

    def _may_delete(self, resource):
        """False while something that rests on it could not be removed."""
        if (self._retries.waiting(resource.ref) or
                self._busy_beside(resource) or
                self._first_look_under(resource)):
            return False
        held = self._successors.keep(resource)
        if not held and (self._failed_beside(resource) or
                         self.blind_under(resource)):
            held = ('stays while what announces %s could not be withdrawn'
                    % resource.subject)
        if held:
            self._fail(resource.ref, held)
        return not held and not self._still_refused(resource.ref)

    def blind_under(self, resource):
        """Whether it may be under an announcement that nobody has seen.

        A former run may have left that, or a change that took too long has
        been made after all; taking away what it rests on would attract
        traffic and drop it.
        """
        return (resource.subject is not None and
                resource.stage is not resources.Stage.ANNOUNCE and
                any(self._planes.unread(b.name) or
                    b.name in self._planes.unreadable
                    for b in self._planes.at(resources.Stage.ANNOUNCE)))

    def _first_look_under(self, resource):
        """Whether that is about to be seen."""
        return (resource.subject is not None and
                resource.stage is not resources.Stage.ANNOUNCE and
                any(self._planes.first_look(b.name)
                    for b in self._planes.at(resources.Stage.ANNOUNCE)))

    def _busy_beside(self, resource):
        """Refs under way, or held back for that, with its subject."""
        if resource.subject is None:
            return []
        return [ref for ref in self._busy_about[resource.subject]
                if ref != resource.ref]

    def _busy_before(self, resource):
        """Those of them that come first, in whatever order is made."""
        return [ref for ref in self._busy_beside(resource)
                if self._planes.stage(ref.kind) <= resource.stage]

    def _failed_beside(self, resource):
        """Refs that failed in this pass with the resource's subject."""
        if resource.subject is None:
            return []
        return [ref for ref in self._failed_about[resource.subject]
                if ref != resource.ref]

    def _failed_before(self, resource):
        """Those of them that come first, in whatever order is made."""
        return [ref for ref in self._failed_beside(resource)
                if self._planes.stage(ref.kind) <= resource.stage]

    # -- one difference ---------------------------------------------------

    def _apply(self, backend, delta):
        if not delta:
            return
        name = backend.name
        busy = backend.system and backend.system in self._beside.systems()
        if busy and name not in self._planes.unreadable:
            self._hold_back(delta)
            return
        if busy or self._planes.unread(name) or self._planes.hopeless(name):
            # Without knowing what is there nothing can be told apart.
            for ref in _refs(delta):
                self._fail(ref, self._planes.unreadable.get(
                    name, 'not read yet'))
            return
        if backend.concurrent:
            self._beside.submit(backend, delta)
            return
        if backend.system:
            self._apply_beside(backend, delta)
            return
        began = time.monotonic()
        try:
            failures = backend.apply(delta)
        except Exception as e:
            self._failed_whole(name, delta, planes.expected(name, e))
            return
        finally:
            self.seconds.append((name, time.monotonic() - began))
        self._take(backend, delta, failures)

    def _apply_beside(self, backend, delta):
        """On the loop in effect, unless it takes unusually long."""
        name = backend.name
        began = time.monotonic()
        self._beside.submit(backend, delta, awaited=True)
        if self._beside.wait(executor.PATIENCE, [name], wake=False):
            self.collect([name])
        else:
            LOG.warning('%s: no answer within %s s; what does not need it '
                        'goes on', name, executor.PATIENCE)
            self._hold_back(delta)
        self.seconds.append((name, time.monotonic() - began))

    def _hold_back(self, delta):
        """What is about the same addresses waits; that is no failure."""
        for _verb, resource in _steps(delta):
            self._busy.add(resource.ref)
            self._busy_about[resource.subject].add(resource.ref)

    def collect(self, names=None):
        """Take in what has ended beside the loop.

        :param names: of backends, None for all
        """
        for backend, delta, failures, error in self._beside.done(names):
            if delta is None:
                self._planes.take(backend.name, failures, error)
            elif error is not None:
                self._failed_whole(backend.name, delta, planes.expected(
                    backend.name, error))
            else:
                self._take(backend, delta, failures)

    def _failed_whole(self, name, delta, error):
        if self._planes.backend(name).system:
            self._planes.failed_beside(name, error)
        else:
            self._planes.failed(name, error)
        for ref in _refs(delta):
            self._fail(ref, str(error))

    def _take(self, backend, delta, failures):
        """Note what was really reached."""
        for ref, reason in failures.items():
            if isinstance(reason, base.Kept):
                self._leave(ref, reason)
                continue
            LOG.warning('%s %s: %s', ref.kind, outcome.brief(ref.key),
                        reason)
            self._refuse(backend.name, ref, reason)
        for verb, resource in _steps(delta):
            if resource.ref in failures:
                continue
            self._untold.append((verb, resource))
            self.applied.append((verb, resource))
            self._refused.pop(resource.ref, None)
            self._retries.forget([resource.ref])
            self._left.pop(resource.ref, None)
            if verb == 'deleted':
                self._tracker.gone(resource.ref)
            else:
                self._tracker.found(resource)
        if not self._hurried:
            self.tell()
        if any(not isinstance(reason, base.Kept)
               for reason in failures.values()):
            self._planes.doubt([backend.name])
        if self._planes.invalidated_by(backend):
            # What hangs on a changed link may have gone with it.
            self.forgive(backend.invalidates)
            self._planes.refresh(by_us=True)

    def _leave(self, ref, reason):
        """What stays on purpose: said once, and tried again later.

        The reason may go one day, but nobody tells.
        """
        if self._left.get(ref) != reason:
            LOG.warning('%s %s stays: %s', ref.kind, outcome.brief(ref.key),
                        reason)
        self._left[ref] = reason
        self._retries.note({ref}, frozenset())

    def tell(self):
        """Log what was done and not told yet: a line takes its time."""
        untold, self._untold = self._untold, []
        for verb, resource in untold:
            LOG.info('%s %s %s', verb, resource.kind,
                     outcome.describe(resource))

    # -- failures ---------------------------------------------------------

    def _fail(self, ref, reason):
        self.failures[ref] = reason
        self._failed_about[self._subject(ref)].add(ref)

    def _refuse(self, name, ref, reason):
        self._fail(ref, reason)
        self._refused[ref] = (name, self._tracker.desired(ref), reason)

    def _still_refused(self, ref):
        """Whether it failed a moment ago and is the same as then."""
        owner, wanted, reason = self._refused.get(ref, (None, None, None))
        if owner is None:
            return False
        if (not self._retries.waiting(owner) or
                wanted != self._tracker.desired(ref)):
            del self._refused[ref]
            return False
        self._fail(ref, reason)
        return True

    def _subject(self, ref):
        resource = self._tracker.desired(ref) or self._tracker.existing(ref)
        return resource.subject if resource else None


def _refs(delta):
    return [resource.ref for _verb, resource in _steps(delta)]


def _steps(delta):
    return ([('created', r) for r in delta.create] +
            [('updated', new) for _old, new in delta.update] +
            [('deleted', r) for r in delta.delete])
