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

"""The work of one pass: its order, its conditions and its results.

Creation goes up the stages, so that announcements come last, and deletion
goes down.  The engine holds back a resource whose prerequisite is not in
place; :mod:`engine.removal` holds back removals.

After a gateway port has moved here, clients get no answer before the addresses
are announced.  So an urgent pass first makes the announcements and their
prerequisites.  The resources that ``follow`` wait for a moment, in which the
agent leaves the processor to zebra and bgpd.
"""

from collections.abc import Callable
from collections.abc import Container
import functools
import time
import typing

from oslo_log import log as logging

from ovn_network_agent import notyet
from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.engine import actual
from ovn_network_agent.engine import executor
from ovn_network_agent.engine import ledger
from ovn_network_agent.engine import outcome
from ovn_network_agent.engine import removal
from ovn_network_agent.engine import telling
from ovn_network_agent.engine import tracking

LOG = logging.getLogger(__name__)

_Condition: typing.TypeAlias = Callable[[resources.Resource], bool]

# Seconds: zebra and bgpd had sent 100 addresses after 0.06 to 0.1 s, 0.05 s of
# it the pause that bgpd makes before it looks at what is new.
PAUSE = 0.25


class Precedence:
    """Decides whether the resources that follow have to wait."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._until: float | None = None

    @property
    def held(self) -> bool:
        """Whether the resources that follow have to wait."""
        return self._until is not None and self._clock() < self._until

    def hold(self) -> None:
        """Begin to wait, because an address has been announced.

        A further announcement does not prolong the wait.
        """
        if self._until is None:
            self._until = self._clock() + PAUSE

    def release(self) -> None:
        """End the wait."""
        self._until = None

    def due_in(self) -> float | None:
        """Seconds until the wait ends, None when there is no wait."""
        return (None if self._until is None else
                max(0.0, self._until - self._clock()))


class Application:
    """Applies differences, and notes in the ledger what failed."""

    def __init__(self, backends: actual.Backends, tracker: tracking.Tracker,
                 entries: ledger.Ledger, beside: executor.Beside,
                 precedence: Precedence, removals: removal.Removals,
                 alive: Callable[[], object]) -> None:
        self._alive = alive
        self._backends = backends
        self._tracker = tracker
        self._ledger = entries
        self._beside = beside
        self._removals = removals
        self._precedence = precedence
        self._unlogged: list[tuple[str, resources.Resource]] = []
        self.begin()

    def begin(self) -> None:
        """Start the count of a new pass."""
        if self._ledger.entries or self._ledger.lasting:
            self._ledger.begin()
        # (verb, resource), see resources.Delta.steps.
        self.applied: list[tuple[str, resources.Resource]] = []
        # (name of a backend, seconds).
        self.seconds: list[tuple[str, float]] = []
        # The systems that :meth:`announce_ahead` has given work.
        self._ahead: set[str] = set()

    # -- the order --------------------------------------------------------

    def create(self, urgent: bool) -> None:
        """Create and update, stage by stage.

        :param urgent: announce as soon as possible, see :class:`Precedence`
        """
        if self._beside.jobs:
            for job in self._beside.jobs.values():
                if job.delta is not None and job.backend.system:
                    self._hold_back(job.delta)
        if not (urgent or self._precedence.held):
            self._precedence.release()
            self._create(lambda resource: True)
            return
        self._create(lambda resource: not resource.follows)
        announced = sum(1 for _verb, resource in self.applied
                        if resource.stage is resources.Stage.ANNOUNCE)
        if announced:
            LOG.info('Announced %d addresses first', announced)
        if announced or any(
                self._ledger.is_under_way(ref) and
                self._backends.stages[ref.kind] is resources.Stage.ANNOUNCE
                for ref in self._ledger.entries):
            self._precedence.hold()
        if not self._precedence.held:
            self._precedence.release()
            self._create(lambda resource: resource.follows)

    def announce_ahead(self) -> None:
        """Begin with announcements whose system works beside the loop.

        Their prerequisites are made first.  What follows an announcement
        waits for a later call of :meth:`create`.

        Where :meth:`create` has more for the same system, it waits for them.
        """
        systems = {backend.system
                   for backend, kinds in self._backends.announcers
                   if backend.system and self._tracker.delta(kinds).create}
        if systems:
            self._create(lambda resource: not resource.follows, True)
        self._ahead = systems

    def _create(self, chosen: _Condition, ahead: bool = False) -> None:
        """Create and update the chosen resources.

        :param ahead: do not wait for announcements beside the loop
        """
        for stage, backend, kinds in self._backends.order:
            delta = self._tracker.delta(kinds)
            if delta and backend.system in self._ahead:
                self._await_ahead(backend.system)
                delta = self._tracker.delta(kinds)
            if delta:
                self._apply(backend, resources.Delta(
                    tuple(r for r in delta.create
                          if chosen(r) and self._may_create(r)),
                    tuple((old, new) for old, new in delta.update
                          if chosen(new) and self._may_create(new))),
                    awaited=not (ahead and
                                 stage is resources.Stage.ANNOUNCE))

    def _await_ahead(self, system: str) -> None:
        """Wait a usual time for the end of :meth:`announce_ahead`."""
        self._ahead.discard(system)
        names = [name for name, job in self._beside.jobs.items()
                 if job.backend.system == system]
        self._beside.wait(self._beside.patience, names, wake=False)
        self._beside.collect(names)

    def delete(self, down_to: resources.Stage, only: _Condition) -> None:
        """Delete, from the last stage down to ``down_to``.

        The resources that leave early come first.  With 10,000 routes in the
        kernel, Open vSwitch takes a quarter of a second after each change of
        a route, because it reads all routes again, and a flow would wait for
        that.
        """
        for early in (True, False):
            for stage, backend, kinds in self._backends.order_down:
                if stage < down_to:
                    break
                unwanted = [r for r in self._tracker.delta(kinds).delete
                            if bool(r.leaves_early) is early and only(r)]
                self._apply(backend, resources.Delta(delete=tuple(
                    self._removals.permitted(unwanted))))

    @property
    def withdraws(self) -> bool:
        """Whether an announcement is to go."""
        return any(self._tracker.delta(kinds).delete
                   for _backend, kinds in self._backends.announcers)

    def _may_create(self, resource: resources.Resource) -> bool:
        """Whether a resource may be made; notes in the ledger why not."""
        if self._ledger.entries and self._ledger.is_under_way(resource.ref):
            # FRR may take seconds for thousands of them.
            return False
        missing = [ref for ref in resource.requires
                   if not self._tracker.in_sync(ref)]
        if not (missing or self._ledger.entries or self._ledger.lasting):
            # Nothing has failed, and nothing waits or is under way.
            return True
        if self._before(resource, ledger.WORKING) or (
                missing and self._under_way(missing)):
            return False
        holders = missing or self._before(resource, ledger.FAILING)
        if holders:
            holder = holders[0]
            self._ledger.put(
                resource.ref, ledger.State.WAITS,
                f'waits for {holder.kind} {outcome.brief(holder.key)}', holder)
        return not holders and not self._ledger.still_refused(resource.ref)

    def _under_way(self, refs: list[resources.Ref]) -> bool:
        """Whether the backends of all these refs work beside the loop.

        Then nothing has failed, and the end of this work wakes the loop.
        """
        return all(self._backends.owners.get(ref.kind) in self._beside.jobs or
                   self._ledger.is_under_way(ref) for ref in refs)

    def _before(self, resource: resources.Resource,
                states: Container[ledger.State]) -> list[resources.Ref]:
        """Refs of the same address, up to its stage and in some states."""
        return [ref for ref in self._ledger.beside(resource, states)
                if self._backends.stages[ref.kind] <= resource.stage]

    # -- one difference ---------------------------------------------------

    def _apply(self, backend: base.Backend, delta: resources.Delta,
               awaited: bool = True) -> None:
        if not delta:
            return
        self._alive()
        name = backend.name
        busy = backend.system and backend.system in self._beside.systems()
        condition = self._backends.conditions[name]
        trouble = condition.unreadable
        if busy and trouble is None:
            self._hold_back(delta)
            return
        if condition.read is None or trouble is not None and (
                busy or self._backends.hopeless(name)):
            # Without the actual state, the difference may be wrong.
            self._unreachable(delta, trouble or 'not read yet')
            return
        if backend.concurrent:
            self._submit(backend, delta)
            return
        if backend.system:
            self._apply_beside(backend, delta, awaited)
            return
        began = time.monotonic()
        failures: object = None
        error: Exception | None = None
        try:
            failures = backend.apply(delta)
        except Exception as e:
            error = e
        self.seconds.append((name, time.monotonic() - began))
        self._note(backend, delta, failures, error)

    def _submit(self, backend: base.Backend, delta: resources.Delta,
                awaited: bool = False) -> None:
        self._beside.begin(
            backend, lambda: backend.apply(delta),
            functools.partial(self._note, backend, delta), delta, awaited)

    def _apply_beside(self, backend: base.Backend, delta: resources.Delta,
                      awaited: bool) -> None:
        """Apply on a thread, and wait for the end for a usual time.

        :param awaited: False to go on at once, as after very many changes; the
            end of the work then wakes the loop
        """
        name = backend.name
        began = time.monotonic()
        most = backend.awaited_at_most
        if not awaited or (most is not None and len(delta) > most):
            self._submit(backend, delta)
            self._hold_back(delta)
            return
        self._submit(backend, delta, awaited=True)
        usual = backend.patience is None
        patience = (self._beside.patience if backend.patience is None else
                    backend.patience)
        if self._beside.wait(patience, [name], wake=False):
            self._beside.collect([name])
        else:
            LOG.log(logging.WARNING if usual else logging.INFO,
                    '%s: no answer within %s s; what does not need it '
                    'goes on', name, patience)
            self._hold_back(delta)
        self.seconds.append((name, time.monotonic() - began))

    def _hold_back(self, delta: resources.Delta) -> None:
        """Have resources of the same addresses wait, without a failure."""
        for _verb, resource in delta.steps:
            self._ledger.put(resource.ref, ledger.State.UNDER_WAY,
                             subject=resource.subject)

    def _unreachable(self, delta: resources.Delta, reason: str) -> None:
        for _verb, resource in delta.steps:
            self._ledger.put(resource.ref, ledger.State.UNREACHABLE, reason)

    def _note(self, backend: base.Backend, delta: resources.Delta,
              answer: object, error: BaseException | None) -> None:
        """Note the result of :meth:`backends.base.Backend.apply`."""
        try:
            if error is not None:
                raise error
            failures = _checked(answer)
        except Exception as e:
            expected = actual.expected(backend.name, e)
            self._backends.failed(backend.name, expected)
            self._unreachable(delta, str(expected))
            return
        if failures:
            self._note_failures(backend.name, failures)
        for verb, resource in delta.steps:
            if resource.ref in failures:
                continue
            self._unlogged.append((verb, resource))
            self.applied.append((verb, resource))
            if self._ledger.entries or self._ledger.lasting:
                self._ledger.reached(resource.ref)
            if verb == 'deleted':
                self._tracker.gone(resource.ref)
            else:
                self._tracker.found(resource)
        if backend.invalidates and (
                invalid := self._backends.doubt(backend.invalidates)):
            # The kernel removes dependent objects along with a link.
            self._ledger.forget(invalid)
            self._backends.refresh(by_us=True)

    def _note_failures(self, name: str,
                       failures: dict[resources.Ref, str]) -> None:
        # Nobody knows what the system has made of them.
        self._backends.conditions[name].mark = None
        if not all(isinstance(reason, base.Kept)
                   for reason in failures.values()):
            self._backends.doubt([name])
        for ref, reason in failures.items():
            # Each attempt is refused for the same reason, perhaps for days.
            LOG.log(logging.DEBUG if not self._ledger.refused(ref, reason) else
                    logging.INFO if isinstance(reason, notyet.Reason) else
                    logging.WARNING, '%s %s%s: %s', ref.kind,
                    outcome.brief(ref.key),
                    ' stays' if isinstance(reason, base.Kept) else '', reason)

    def tell(self) -> None:
        """Log the changes that are not logged yet.

        No change waits for its line, because the lines take time.
        """
        unlogged, self._unlogged = self._unlogged, []
        telling.tell(unlogged)


def _checked(failures: object) -> dict[resources.Ref, str]:
    """The answer of :meth:`backends.base.Backend.apply`, checked.

    A backend may be foreign code.  An answer of a wrong type must neither end
    the pass nor count as success.

    :raises TypeError: when the answer is something else
    """
    if not isinstance(failures, dict) or not all(
            isinstance(ref, resources.Ref) for ref in failures):
        raise TypeError(f'apply() answered {failures!r}, which is no dict of '
                        'Ref to reason')
    return failures
