# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The pass: snapshot, desired state, difference, changes.

Addition, removal, failover, restart, repair of drift, shutdown and dry run are
all this pass.  Creation goes up the stages, so that announcements come last,
and deletion goes down; :mod:`engine.removal` holds back removals.

After a gateway port has moved here, clients get no answer before the addresses
are announced.  So an urgent pass first makes the announcements and their
prerequisites.  The resources that ``follow`` wait for a moment, in which the
agent leaves the processor to zebra and bgpd.
"""

from collections.abc import Callable
from collections.abc import Collection
import time

from oslo_log import log as logging

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.common import backoff
from ovn_network_agent.common import networks
from ovn_network_agent.common import notices
from ovn_network_agent.common import wording
from ovn_network_agent.drivers import base as drivers_base
from ovn_network_agent.engine import actual
from ovn_network_agent.engine import application
from ovn_network_agent.engine import contributions
from ovn_network_agent.engine import executor
from ovn_network_agent.engine import guard
from ovn_network_agent.engine import ledger
from ovn_network_agent.engine import outcome
from ovn_network_agent.engine import passes
from ovn_network_agent.engine import plan_text
from ovn_network_agent.engine import removal
from ovn_network_agent.engine import table as tables
from ovn_network_agent.engine import tracking

LOG = logging.getLogger(__name__)

# Seconds: zebra and bgpd had sent 100 addresses after 0.06 to 0.1 s, 0.05 s of
# it the pause that bgpd makes before it looks at what is new.
PAUSE = 0.25


class Reconciler:
    """Brings the systems of the node to the state that the drivers want.

    All methods run on the loop thread.

    :param wake: takes the reason, at the end of work beside the loop
    :param alive: called before each step of a pass
    """

    def __init__(self, drivers: list[drivers_base.Driver],
                 backends: Collection[base.Backend],
                 wake: Callable[[str], object],
                 clock: Callable[[], float] = time.monotonic,
                 threads: executor.Threads | None = None,
                 retries: backoff.Retries | None = None,
                 alive: Callable[[], object] = lambda: None) -> None:
        self._clock = clock
        self._alive = alive
        self.tracker = tracking.Tracker()
        self._retries = retries or backoff.Retries(clock)
        self._threads = threads or executor.Threads(wake)
        self.backends = actual.Backends(
            backends, self.tracker, self._retries, self._threads, clock, alive)
        self._ledger = ledger.Ledger(self.tracker, self._retries,
                                     self.backends.owners)
        self._times = tables.StateTimes(clock)
        self.wanted = contributions.Contributions(
            drivers, self.tracker, self.backends.owners)
        self._removals = removal.Removals(
            self.backends, self.tracker, self._ledger, wake,
            self._threads.patience)
        self.guard = guard.Guard(self.backends, self.tracker, self._ledger,
                                 clock)
        self._work = application.Application(
            self.backends, self._ledger, self._threads, self._note)
        # Replaced as a whole, so that any thread may read it.
        self.health = self.backends.health({})
        self._identity: tuple[str, frozenset[ownership.Owner]] | None = None
        # Monotonic seconds.
        self._announcing_until: float | None = None
        # The systems that have work of :meth:`_announce_ahead`.
        self._ahead: set[str] = set()
        # Names of backends that have more changes than fit into one apply().
        self._more: set[str] = set()

    def run(self, request: passes.Pass) -> outcome.Outcome:
        """Run one pass."""
        began = time.monotonic()
        if self._ledger.entries or self._ledger.lasting:
            self._ledger.begin()
        self._work.applied, self._work.seconds = [], []
        # This comes before the reading: a backend with a job that is not
        # collected would not be read, and nothing would wake the loop for it.
        if self._threads.jobs:
            self._threads.collect()
        self._ahead = set()
        # A system in doubt is read before it is changed, as always.
        if request.first_part is not None and request.urgent and not any(
                self.backends.conditions[name].backend.system
                for name in self.backends.in_doubt):
            self.wanted.update(request.first_part)
            self._announce_ahead()
        self._prepare(request)
        prepared = time.monotonic() - began
        self._create(request.urgent)
        dead = request.dead_vips
        if request.prune:
            inherited = self._removals.inherited(
                bool(self.wanted.broken or request.snapshot.unmade) and
                request.snapshot.node.phase is not model.Phase.STOPPED)
            self.guard.judge(request.limits, map(networks.host_prefix, dead))
            self._delete(request.down_to, lambda resource: (
                resource.ref not in inherited and
                self.guard.permits(resource)))
        elif dead:
            # This needs no view of OVN.  While this node announces such a VIP,
            # no other node gets its clients.
            self._delete(resources.Stage.ANNOUNCE, lambda resource: (
                isinstance(resource, resources.VipAddress) and
                resource.address.partition('/')[0] in dead))
        if self.backends.in_doubt:
            self.backends.catch_up()
        if not self.announcing:
            self._work.log_changes()
        self._retries.note(
            {self.backends.owners.get(ref.kind) for ref
             in self._ledger.failures} | set(self.backends.unreadable),
            self.backends.names)
        touched = self.tracker.take_changed()
        now = self._table()
        self._times.note({*touched, *now.entries, *now.conflicts}, now.state)
        failures = {**self._ledger.failures, **now.conflicts}
        self.health = self.backends.health(failures)
        changing = self._threads.changing()
        result = outcome.Outcome(
            len(self._work.applied), failures, now.unreadable, now.broken,
            (*now.working, *(['announcing'] if self.announcing else ())),
            now.problems, tuple(self._work.applied),
            (('drivers and reading', prepared), *self._work.seconds),
            tuple(self.backends.readings), tuple(self.backends.lost),
            self.backends.drift.streaks, self.guard.held, tuple(touched),
            any(backend.name in changing
                for backend, _kinds in self.backends.announcers))
        self.backends.end()
        return result

    def _prepare(self, request: passes.Pass) -> None:
        node = request.snapshot.node
        stopped = node.phase is model.Phase.STOPPED
        if request.retry:
            self.invalidate(revived=[name for name in self.backends.names
                                     if self._retries.waiting(name)])
        stale = set(request.stale)
        # Work that is due again counts as tried.
        for due in self._retries.take_due():
            stale.add(self.backends.owners[due.kind]
                      if isinstance(due, resources.Ref) else str(due))
        # Before all databases of OVN are there, no row is the node's own.
        if self._identity != (node.chassis, node.marks):
            self._identity = node.chassis, node.marks
            stale.add(notices.IDENTITY)
        if request.full:
            self.wanted.forget()
            stale |= self.backends.names
        self.invalidate(stale)
        if request.reads:
            self._ledger.forget(request.reads)
            self.backends.in_doubt.update(request.reads)
        if stopped:
            # This pass may be the last, so it tries everything again.
            self._ledger.forget()
        if request.immediate or stopped:
            self._announcing_until = None
        self._alive()
        self.wanted.update(request.snapshot)
        self._alive()
        if self.backends.in_doubt or self.tracker.delta(
                self.backends.looked_for):
            self.backends.refresh()

    def invalidate(self, stale: Collection[str] = (),
                   revived: Collection[str] = ()) -> None:
        """Note for the next pass which backends are to be read again.

        A failure from before the return of a system no longer counts.

        :param stale: see :class:`passes.Pass`
        :param revived: likewise, without a back-off
        """
        doubtful = set(stale)
        if revived:
            returned = base.revived(self.backends.all, revived)
            self._retries.forget(returned)
            doubtful |= returned
        if doubtful:
            self._ledger.forget(self.backends.doubt(doubtful))

    def _create(self, urgent: bool) -> None:
        for job in self._threads.jobs.values():
            if job.delta is not None and job.backend.system:
                self._ledger.put_all(job.delta, ledger.State.UNDER_WAY)
        follow = None
        if urgent or self.announcing:
            self._make(False)
            announced = sum(1 for _verb, resource in self._work.applied
                            if resource.stage is resources.Stage.ANNOUNCE)
            if announced:
                LOG.info('Announced %s first',
                         wording.count(announced, 'address'))
            # A further announcement does not prolong the wait.
            if self._announcing_until is None and (announced or any(
                    self._ledger.is_under_way(ref) and
                    self.backends.stages[ref.kind] is resources.Stage.ANNOUNCE
                    for ref in self._ledger.entries)):
                self._announcing_until = self._clock() + PAUSE
            if self.announcing:
                return
            follow = True
        self._announcing_until = None
        self._make(follow)

    def _announce_ahead(self) -> None:
        """Begin with announcements whose system works beside the loop.

        :meth:`_create` makes what follows; it waits for a system with more.
        """
        systems = {backend.system
                   for backend, kinds in self.backends.announcers
                   if backend.system and self.tracker.delta(kinds).create}
        if systems:
            self._make(False, ahead=True)
        self._ahead = systems

    def _make(self, follow: bool | None, ahead: bool = False) -> None:
        """Create and update resources.

        :param follow: whether those that follow announcements, None for all
        :param ahead: do not wait for announcements beside the loop
        """
        for stage, backend, kinds in sorted(
                self.backends.order,
                key=lambda each: each[1].name in self._more):
            delta = self.tracker.delta(kinds)
            if not delta:
                self._more.discard(backend.name)
            if delta and backend.system in self._ahead:
                self._ahead.discard(backend.system)
                self._work.finish(backend.system)
                delta = self.tracker.delta(kinds)
            if delta:
                self._apply(backend, resources.Delta(
                    tuple(r for r in delta.create
                          if (follow is None or r.follows is follow) and
                          self._may_make(r)),
                    tuple((old, new) for old, new in delta.update
                          if (follow is None or new.follows is follow) and
                          self._may_make(new))),
                    awaited=not (ahead and
                                 stage is resources.Stage.ANNOUNCE))

    def _delete(self, down_to: resources.Stage,
                only: Callable[[resources.Resource], bool]) -> None:
        for backend, delta in self._removals.steps(down_to, only):
            self._apply(backend, delta)

    def _may_make(self, resource: resources.Resource) -> bool:
        """Whether a resource may be made; notes in the ledger why not."""
        found = self._ledger
        if found.entries and found.is_under_way(resource.ref):
            # FRR may take seconds for thousands of them.
            return False
        # What is being removed, and is wanted again, still counts as there.
        missing = [ref for ref in resource.requires
                   if not self.tracker.in_sync(ref) or
                   self._threads.jobs and self._threads.removes(ref) or
                   found.entries and found.is_under_way(ref)]
        if not (missing or found.entries or found.lasting):
            return True
        return not self._work.holds(resource, missing)

    def _apply(self, backend: base.Backend, delta: resources.Delta,
               awaited: bool = True) -> None:
        """Make changes; see :meth:`application.Application.begin`."""
        if not delta:
            return
        self._alive()
        name = backend.name
        busy = backend.system and backend.system in self._threads.systems()
        condition = self.backends.conditions[name]
        unreadable = condition.unreadable
        if busy and unreadable is None:
            self._ledger.put_all(delta, ledger.State.UNDER_WAY)
        elif condition.read is None or unreadable is not None and (
                busy or self.backends.hopeless(name)):
            # Without the actual state, the difference may be wrong.
            self._ledger.put_all(delta, ledger.State.UNREACHABLE,
                                 unreadable or 'not read yet')
        elif backend.concurrent or backend.system:
            delta, rest = delta.split(backend.max_changes or len(delta))
            self._more.discard(name)
            if rest:
                self._more.add(name)
                self._ledger.put_all(rest, ledger.State.UNDER_WAY)
            self._work.begin(backend, delta, awaited and not rest)
        else:
            began = time.monotonic()
            failures: object = None
            error: Exception | None = None
            try:
                failures = backend.apply(delta)
            except Exception as e:
                error = e
            self._work.seconds.append((name, time.monotonic() - began))
            self._note(backend, delta, failures, error)

    def _note(self, backend: base.Backend, delta: resources.Delta,
              answer: object, error: BaseException | None) -> None:
        failures = {} if answer == {} else self._work.failures(
            backend, delta, answer, error)
        if failures is None:
            return
        for verb, resource in delta.steps:
            if resource.ref in failures:
                continue
            self._work.applied.append((verb, resource))
            self._work.unlogged.append((verb, resource))
            if self._ledger.entries or self._ledger.lasting:
                self._ledger.reached(resource.ref)
            if verb == 'deleted':
                self.tracker.removed(resource.ref)
            else:
                self.tracker.found(resource)
        if backend.invalidates and (
                invalid := self.backends.doubt(backend.invalidates)):
            # The kernel removes dependent objects along with a link.
            self._ledger.forget(invalid)
            self.backends.refresh(by_us=True)

    @property
    def announcing(self) -> bool:
        """Whether zebra and bgpd were given addresses a moment ago."""
        return (self._announcing_until is not None and
                self._clock() < self._announcing_until)

    def next_retry(self) -> float | None:
        """Seconds until failed work is tried again, or others follow."""
        due = self._retries.due_in()
        if self._announcing_until is None:
            return due
        left = max(0.0, self._announcing_until - self._clock())
        return left if due is None else min(left, due)

    def table(self) -> tables.Table:
        """The state of each resource, to look at on another thread."""
        return self._table().copy()

    def _table(self) -> tables.Table:
        return tables.Table(
            self.tracker, self._ledger.known, self._retries, self._times,
            self.wanted.conflicts, self.backends.owners,
            tuple(self._threads.jobs), self.wanted.left_out,
            dict(self.wanted.broken), self.backends.unreadable,
            self.guard.held.text)

    def plan(self, snapshot: model.Snapshot,
             limits: Callable[[], guard.Limits | None] = lambda: None
             ) -> tuple[list[tuple[str, resources.Resource]], outcome.Outcome]:
        """The steps that a pass would make, and what it would report."""
        request = passes.Pass(snapshot, full=True, limits=limits)
        self._prepare(request)
        # A plan may take its time, so all readings are waited for.
        self._threads.wait(None)
        self._threads.collect()
        self.guard.judge(request.limits, map(
            networks.host_prefix, request.dead_vips))
        steps = plan_text.steps(self.backends, self.tracker, self._removals)
        self.backends.end()
        now = self._table()
        return steps, outcome.Outcome(
            0, now.conflicts, now.unreadable, now.broken, (), now.problems,
            held=self.guard.held)

    def wait_for_threads(self, timeout: float) -> bool:
        """Wait for work beside the loop; True when none is left running."""
        return self._threads.wait(timeout)

    def close(self) -> None:
        """Log the last changes, and close the backends."""
        self._work.log_changes()
        self.backends.close()
