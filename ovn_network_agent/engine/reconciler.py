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

"""The pass: snapshot, desired state, difference, changes.

Addition, removal, failover, restart, repair of drift, shutdown and dry run
are all this pass.  Nothing in this module knows what a floating IP is.
"""

from collections.abc import Callable
from collections.abc import Collection
import time

from ovn_network_agent import backoff
from ovn_network_agent import model
from ovn_network_agent import networks
from ovn_network_agent import notices
from ovn_network_agent import ownership
from ovn_network_agent import port_forwards
from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.drivers import base as drivers_base
from ovn_network_agent.engine import actual
from ovn_network_agent.engine import application
from ovn_network_agent.engine import contributions
from ovn_network_agent.engine import executor
from ovn_network_agent.engine import guard
from ovn_network_agent.engine import ledger
from ovn_network_agent.engine import moments
from ovn_network_agent.engine import outcome
from ovn_network_agent.engine import passes
from ovn_network_agent.engine import removal
from ovn_network_agent.engine import table as tables
from ovn_network_agent.engine import tracking


class Reconciler:
    """Brings the systems of the node to the state that the drivers want.

    All methods run on the loop thread.

    :param wake: function(reason) that wakes the loop at the end of work
        beside the loop
    :param clock: returns monotonic seconds
    :param alive: called before each step of a pass
    """

    def __init__(self, drivers: list[drivers_base.Driver],
                 backends: Collection[base.Backend],
                 wake: Callable[[str], object],
                 clock: Callable[[], float] = time.monotonic,
                 beside: executor.Beside | None = None,
                 retries: backoff.Retries | None = None,
                 alive: Callable[[], object] = lambda: None) -> None:
        self._alive = alive
        self.tracker = tracking.Tracker()
        self._retries = retries or backoff.Retries(clock)
        self._beside = beside or executor.Beside(wake)
        self.backends = actual.Backends(backends, self.tracker,
                                         self._retries, self._beside, clock,
                                         alive)
        self._ledger = ledger.Ledger(self.tracker, self._retries,
                                     self.backends.owners)
        self._moments = moments.Moments(clock)
        self._wanted = contributions.Contributions(
            drivers, self.tracker, self.backends.owners)
        self._precedence = application.Precedence(clock)
        self._removals = removal.Removals(
            self.backends, self.tracker, self._ledger, wake,
            self._beside.patience)
        self.guard = guard.Guard(self.backends, self.tracker, self._ledger,
                                  clock)
        self._work = application.Application(
            self.backends, self.tracker, self._ledger, self._beside,
            self._precedence, self._removals, alive)
        # That after the last pass, replaced as a whole, so that any thread may
        # read it.
        self.health = self.backends.health({})
        # Chassis and marks in the last pass.
        self._identity: tuple[
            str, frozenset[ownership.Owner]] | None = None

    def run(self, asked: passes.Pass) -> outcome.Outcome:
        """Run one pass."""
        began = time.monotonic()
        self._work.begin()
        # This comes before the reading: a backend with a job that is not
        # collected would not be read, and nothing would wake the loop for it.
        if self._beside.jobs:
            self._beside.collect()
        # A system in doubt is read before it is changed, as always.
        if asked.ahead is not None and asked.urgent and not any(
                self.backends.conditions[name].backend.system
                for name in self.backends.in_doubt):
            self._wanted.update(asked.ahead)
            self._work.announce_ahead()
        self._prepare(asked)
        prepared = time.monotonic() - began
        self._work.create(asked.urgent)
        if asked.prune:
            self._judge(asked.snapshot, asked.limits)
            self._work.delete(asked.down_to, self.guard.permits)
        else:
            self._withdraw(asked.snapshot.forwards)
        if self.backends.in_doubt:
            self.backends.catch_up()
        if not self.announcing:
            self._work.tell()
        self._retries.note(
            {self.backends.owners.get(ref.kind) for ref
             in self._ledger.failures} | set(self.backends.unreadable),
            self.backends.names)
        touched = self.tracker.take_changed()
        self._note_moments(touched)
        failures = {**self._ledger.failures, **self._wanted.conflicts}
        self.health = self.backends.health(failures)
        result = outcome.Outcome(
            len(self._work.applied), failures,
            self.backends.unreadable, dict(self._wanted.broken),
            (*self._beside.jobs, *(['announcing'] if self.announcing else ())),
            self._wanted.left_out, tuple(self._work.applied),
            (('drivers and reading', prepared), *self._work.seconds),
            tuple(self.backends.readings), tuple(self.backends.lost),
            self.backends.drift.streaks, self.guard.held, tuple(touched),
            self._announces())
        self.backends.end()
        return result

    def table(self) -> tables.Table:
        """The state of each resource, to look at on another thread."""
        return self._table().copy()

    def _table(self) -> tables.Table:
        return tables.Table(
            self.tracker, self._ledger.known, self._retries, self._moments,
            self._wanted.conflicts, self.backends.owners,
            tuple(self._beside.jobs), self._wanted.left_out,
            dict(self._wanted.broken), self.backends.unreadable,
            self.guard.held.text)

    def _note_moments(self, touched: list[resources.Ref]) -> None:
        """Note the resources whose state this pass has changed."""
        now = self._table()
        self._moments.note({*touched, *self._ledger.entries, *now.conflicts},
                           now.state)

    def _withdraw(self, forwards: port_forwards.Forwards | None) -> None:
        """Withdraw the VIPs that have no living destination.

        This needs no view of OVN.  While this node announces such a VIP, no
        other node gets its clients.
        """
        dead = _dead(forwards)
        if dead:
            self._work.delete(resources.Stage.ANNOUNCE, lambda resource: (
                isinstance(resource, resources.VipAddress) and
                resource.address.partition('/')[0] in dead))

    @property
    def drivers(self) -> list[drivers_base.Driver]:
        """The drivers in force."""
        return self._wanted.drivers

    def use(self, drivers: list[drivers_base.Driver]) -> None:
        """Go on with the same drivers, some of which have other settings."""
        self._wanted.drivers = drivers

    @property
    def announcing(self) -> bool:
        """Whether zebra and bgpd were given addresses a moment ago."""
        return self._precedence.held

    def _announces(self) -> bool:
        """Whether announcements are changed beside the loop."""
        changing = self._beside.changing()
        return any(backend.name in changing
                   for backend, _kinds in self.backends.announcers)

    def _judge(self, snapshot: model.Snapshot,
               limits: Callable[[], guard.Limits | None]) -> None:
        """Have the withdrawal guard decide, if it has something to do."""
        if self._work.withdraws or self.guard.active:
            self.guard.judge(limits(), frozenset(map(
                networks.host_prefix, _dead(snapshot.forwards))))

    def plan(self, snapshot: model.Snapshot,
             limits: Callable[[], guard.Limits | None] = lambda: None
             ) -> tuple[list[tuple[str, resources.Resource]], outcome.Outcome]:
        """The changes that a pass would make, without making them.

        The actual state of an unreadable backend is unknown.  So a change
        of this backend, or a change that waits for it, has the verb
        'unknown'.

        :returns: (verb, resource) in the order of the work; verbs are
            'create', 'update', 'delete' and 'unknown'
        """
        self._prepare(passes.Pass(snapshot, full=True))
        # A plan may take its time, so all readings are waited for.
        self._beside.wait(None)
        self._beside.collect()
        self._judge(snapshot, limits)
        steps: list[tuple[str, resources.Resource]] = []
        for _stage, backend, kinds in self.backends.order:
            delta = self.tracker.delta(kinds)
            for verb, changed in (
                    ('create', delta.create),
                    ('update', [new for _old, new in delta.update])):
                steps += [
                    ('unknown' if self._is_unknown(backend.name, r) else verb,
                     r) for r in changed]
        gone = [r for _stage, _backend, kinds in self.backends.order_down
                for r in self.tracker.delta(kinds).delete]
        gone.sort(key=lambda r: not r.leaves_early)
        steps += [('unknown' if self._removals.announcement_unknown(r) else
                   'delete', r) for r in gone]
        self.backends.end()
        return steps, outcome.Outcome(
            0, self._wanted.conflicts, self.backends.unreadable,
            dict(self._wanted.broken), (), self._wanted.left_out,
            held=self.guard.held)

    def _is_unknown(self, name: str, resource: resources.Resource) -> bool:
        """Whether a resource's or prerequisite's backend was never read."""
        return any(self.backends.unread(owner) for owner in {
            name, *(self.backends.owners.get(ref.kind)
                    for ref in resource.requires)})

    def invalidate(self, stale: Collection[str] = (),
             revived: Collection[str] = ()) -> None:
        """Note for the next pass which backends are to be read again.

        A failure from before the return of a system no longer counts.

        :param stale: words of :mod:`ovn_network_agent.notices`, or names of
            backends, to be read again
        :param revived: likewise, to be read again without a back-off
        """
        doubtful = set(stale)
        if revived:
            returned = base.revived(self.backends.all, revived)
            self._retries.forget(returned)
            doubtful |= returned
        if doubtful:
            self._ledger.forget(self.backends.doubt(doubtful))

    def next_retry(self) -> float | None:
        """Seconds until another pass has something to do.

        Such a pass tries failed work again, or makes resources that follow.
        """
        return min((due for due in (self._retries.due_in(),
                                    self._precedence.due_in())
                    if due is not None), default=None)

    def wait_beside(self, timeout: float) -> bool:
        """Wait for work beside the loop; True when none is left running."""
        return self._beside.wait(timeout)

    def close(self) -> None:
        """Log the last changes, and close the backends."""
        self._work.tell()
        self.backends.close()

    def _prepare(self, asked: passes.Pass) -> None:
        if asked.full and not asked.remembers and not asked.periodic:
            self._wanted.forget()
        if asked.retry:
            self.invalidate(revived=[name for name in self.backends.names
                               if self._retries.waiting(name)])
        self.invalidate({*asked.stale, *self._due(),
                   *self._identified(asked.snapshot.node),
                   *(self.backends.names if asked.full and not asked.periodic
                     else ())})
        if asked.reads or asked.periodic:
            due = set(asked.reads) or (
                self.backends.names.difference(asked.has_read))
            self._ledger.forget(due)
            self.backends.in_doubt |= due
        if asked.snapshot.node.phase is model.Phase.STOPPED:
            # This pass may be the last, so it tries everything again.
            self._ledger.forget()
        if asked.at_once or asked.snapshot.node.phase is model.Phase.STOPPED:
            self._precedence.release()
        self._alive()
        self._wanted.update(asked.snapshot)
        self._alive()
        if self.backends.in_doubt or self.tracker.delta(
                self.backends.looked_for):
            self.backends.refresh()

    def _identified(self, node: model.Node) -> Collection[str]:
        """The word for a node that has another name than in the last pass.

        Before all databases of OVN are there, no row is the node's own.
        """
        before, self._identity = self._identity, (node.chassis, node.marks)
        return () if before == self._identity else (notices.IDENTITY,)

    def _due(self) -> set[str]:
        """Names of the backends with work that is due again.

        The work then counts as tried.
        """
        names = (self.backends.owners.get(due.kind)
                 if isinstance(due, resources.Ref) else due
                 for due in self._retries.take_due())
        return {name for name in names if isinstance(name, str)}


def _dead(forwards: port_forwards.Forwards | None) -> set[str]:
    """The addresses of the VIPs without a living destination."""
    return {vip.address for vip in (forwards.vips if forwards else ())
            if vip.dead}
