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

import time

from ovn_network_agent import backoff
from ovn_network_agent import model
from ovn_network_agent import networks
from ovn_network_agent import notices
from ovn_network_agent import resources
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
from ovn_network_agent.engine import table
from ovn_network_agent.engine import tracking


class Reconciler:
    """Brings the systems of the node to the state that the drivers want.

    All methods run on the loop thread.

    :param drivers: list of :class:`drivers.base.Driver`
    :param backends: list of :class:`backends.base.Backend`
    :param wake: function(reason) that wakes the loop at the end of work
        beside the loop
    :param clock: function that returns monotonic seconds
    :param beside: :class:`executor.Beside`, None to make one
    :param retries: :class:`backoff.Retries`, None to make one
    :param alive: function that is called before each step of a pass
    :ivar tracker: :class:`engine.tracking.Tracker`
    :ivar health: tuple of :class:`engine.health.Health` after the last pass,
        replaced as a whole, so that any thread may read it
    """

    def __init__(self, drivers, backends, wake, clock=time.monotonic,
                 beside=None, retries=None, alive=lambda: None):
        self._alive = alive
        self.tracker = tracking.Tracker()
        self._retries = retries or backoff.Retries(clock)
        self._beside = beside or executor.Beside(wake)
        self._backends = actual.Backends(backends, self.tracker,
                                         self._retries, self._beside, clock,
                                         alive)
        self._ledger = ledger.Ledger(self.tracker, self._retries,
                                     self._backends.owner)
        self._moments = moments.Moments(clock)
        self._wanted = contributions.Contributions(
            drivers, self.tracker, self._backends.kinds)
        self._precedence = application.Precedence(clock)
        self._removals = removal.Removals(
            self._backends, self.tracker, self._ledger, wake,
            self._beside.patience)
        self._guard = guard.Guard(self._backends, self.tracker, self._ledger,
                                  clock)
        self._work = application.Application(
            self._backends, self.tracker, self._ledger, self._beside,
            self._precedence, self._removals, alive)
        self.health = self._backends.health({})
        # Chassis and host name in the last pass.
        self._identity = None

    def run(self, asked):
        """Run one pass.

        :param asked: :class:`passes.Pass`
        :returns: :class:`outcome.Outcome`
        """
        began = time.monotonic()
        self._work.begin()
        # This comes before the reading: a backend with a job that is not
        # collected would not be read, and nothing would wake the loop for it.
        if self._beside.jobs:
            self._work.collect()
        if asked.ahead is not None:
            self._announce_ahead(asked)
        self._prepare(asked)
        prepared = time.monotonic() - began
        self._work.create(asked.urgent)
        if asked.prune:
            self._judge(asked.snapshot, asked.limits)
            self._work.delete(asked.down_to, self._guard.permits)
        else:
            self._withdraw(asked.snapshot.forwards)
        if self._backends.in_doubt:
            self._backends.catch_up()
        if not self.announcing:
            self._work.tell()
        self._retries.note(
            self._ledger.troubled() | set(self._backends.unreadable),
            self._backends.names)
        touched = self.tracker.take_changed()
        self._note_moments(touched)
        failures = {**self._ledger.failures, **self._wanted.conflicts}
        self.health = self._backends.health(failures)
        result = outcome.Outcome(
            len(self._work.applied), failures,
            self._backends.unreadable, dict(self._wanted.broken),
            self._pending(), self._wanted.left_out,
            tuple(self._work.applied),
            (('drivers and reading', prepared), *self._work.seconds),
            tuple(self._backends.readings), tuple(self._backends.lost),
            self._backends.streaks, self._guard.held, tuple(touched),
            self._announces())
        self._backends.end()
        return result

    def _announce_ahead(self, asked):
        """Begin to announce the first routers, see :attr:`passes.Pass.ahead`.

        A system in doubt is read before it is changed, as always.

        :param asked: :class:`passes.Pass`
        """
        if asked.urgent and not any(self._backends.backend(name).system
                                    for name in self._backends.in_doubt):
            self._wanted.update(asked.ahead)
            self._work.announce_ahead()

    def rows(self, chosen=lambda ref: True):
        """The state of each resource after the last pass.

        :param chosen: function(:class:`resources.Ref`), False for a Ref to
            leave out
        :returns: list of :class:`ledger.Row`, sorted by kind and key
        """
        return self._table().rows(chosen)

    def table(self):
        """The state of each resource, to look at on another thread.

        :returns: :class:`table.Table`
        """
        return self._table().copy()

    def look(self, name):
        """Read a backend without a pass, see :meth:`actual.Backends.look`."""
        return self._backends.look(name)

    def large(self, at_most):
        """Names of the backends with more objects than some, a list."""
        return self._backends.large(at_most)

    @property
    def backend_names(self):
        """Names of all backends, a tuple."""
        return tuple(self._backends.names)

    def release(self):
        """Let the next pass withdraw what the withdrawal guard holds.

        :returns: number of the held addresses
        """
        return self._guard.release()

    def _table(self):
        return table.Table(self.tracker, self._ledger, self._moments,
                           self._wanted.conflicts, self._backends.owner,
                           self._backends.kinds,
                           tuple(self._beside.jobs), self._wanted.left_out,
                           self._wanted.broken, self._backends.unreadable,
                           self._guard.held.text)

    def _note_moments(self, touched):
        """Note the resources whose state this pass has changed."""
        now = self._table()
        self._moments.note({*touched, *self._ledger.noted, *now.conflicts},
                           now.state, ledger.State.IN_PLACE)

    def _withdraw(self, forwards):
        """Withdraw the VIPs that have no living destination.

        This needs no view of OVN.  While this node announces such a VIP, no
        other node gets its clients.
        """
        down = {vip.address for vip in forwards.vips
                if vip.dead} if forwards else ()
        if down:
            self._work.delete(resources.Stage.ANNOUNCE, lambda resource: (
                resource.kind == resources.VipAddress.kind and
                resource.address.partition('/')[0] in down))

    @property
    def drivers(self):
        """The drivers in force, a list of :class:`drivers.base.Driver`."""
        return self._wanted.drivers

    def use(self, drivers):
        """Go on with the same drivers, some of which have other settings.

        :param drivers: list, in the place of :attr:`drivers`
        """
        self._wanted.drivers = drivers

    @property
    def announcing(self):
        """Whether zebra and bgpd were given addresses a moment ago."""
        return self._precedence.held

    def _announces(self):
        """Whether announcements are changed beside the loop."""
        changing = self._beside.changing()
        return any(backend.name in changing for backend
                   in self._backends.backends_at(resources.Stage.ANNOUNCE))

    def _pending(self):
        """Names of backends with work, and 'announcing', a tuple."""
        return tuple(self._beside.jobs) + (
            ('announcing',) if self.announcing else ())

    def _judge(self, snapshot, limits):
        """Have the withdrawal guard decide, if it has something to do."""
        if self._work.withdraws or self._guard.active:
            self._guard.judge(limits(), _dead(snapshot.forwards))

    def plan(self, snapshot, limits=lambda: None):
        """The changes that a pass would make, without making them.

        The actual state of an unreadable backend is unknown.  So a change
        of this backend, or a change that waits for it, has the verb
        'unknown'.

        :param snapshot: :class:`model.Snapshot`
        :param limits: see :class:`passes.Pass`
        :returns: (list of (verb, resource), :class:`outcome.Outcome`), in
            the order of the work; verbs are 'create', 'update', 'delete'
            and 'unknown'
        """
        self._prepare(passes.Pass(snapshot, full=True))
        # A plan may take its time, so all readings are waited for.
        self._beside.wait(None)
        self._work.collect()
        self._judge(snapshot, limits)
        steps = []
        for name, delta in self._deltas(sorted(resources.Stage)):
            for verb, changed in (
                    ('create', delta.create),
                    ('update', [new for _old, new in delta.update])):
                steps += [('unknown' if self._blind(name, r) else verb, r)
                          for r in changed]
        gone = [r for _name, delta in self._deltas(
            sorted(resources.Stage, reverse=True)) for r in delta.delete]
        steps += [('unknown' if self._removals.blind_under(r) else 'delete',
                   r) for r in sorted(gone, key=lambda r: not r.leaves_early)]
        self._backends.end()
        return steps, outcome.Outcome(
            0, self._wanted.conflicts, self._backends.unreadable,
            dict(self._wanted.broken), (), self._wanted.left_out,
            held=self._guard.held)

    def _blind(self, name, resource):
        """Whether a resource's or prerequisite's backend was never read."""
        return any(self._backends.unread(owner) for owner in {
            name, *(self._backends.owner(ref.kind)
                    for ref in resource.requires)})

    def _deltas(self, stages):
        for stage in stages:
            for backend, kinds in [(backend, kinds) for at, backend, kinds
                                   in self._backends.order if at is stage]:
                yield backend.name, self.tracker.delta(kinds)

    def heed(self, stale=(), revived=()):
        """Note for the next pass which backends are to be read again.

        A failure from before the return of a system no longer counts.

        :param stale: words of :mod:`ovn_network_agent.notices`, or names of
            backends, to be read again
        :param revived: likewise, to be read again without a back-off
        """
        returned = self._backends.revived(revived) if revived else ()
        if returned:
            self._retries.forget(returned)
        if stale or returned:
            self._ledger.forget(self._backends.doubt({*stale, *returned}))

    def next_retry(self):
        """Seconds until another pass has something to do, or None.

        Such a pass tries failed work again, or makes resources that follow.
        """
        return min((due for due in (self._retries.due_in(),
                                    self._precedence.due_in())
                    if due is not None), default=None)

    def wait_beside(self, timeout):
        """Wait for work beside the loop.

        :param timeout: seconds
        :returns: True when nothing is running any more
        """
        return self._beside.wait(timeout)

    def close(self):
        """Log the last changes, and close the backends."""
        self._work.tell()
        self._backends.close()

    def _prepare(self, asked):
        if asked.full and not asked.remembers and not asked.periodic:
            self._wanted.forget()
        if asked.retry:
            self.heed(revived=[name for name in self._backends.names
                               if self._retries.waiting(name)])
        self.heed({*asked.stale, *self._due(),
                   *self._identified(asked.snapshot.node),
                   *(self._backends.names if asked.full and not asked.periodic
                     else ())})
        if asked.reads or asked.periodic:
            due = set(asked.reads) or (
                self._backends.names.difference(asked.has_read))
            self._ledger.forget(due)
            self._backends.review(due)
        if asked.snapshot.node.phase is model.Phase.STOPPED:
            # This pass may be the last, so it tries everything again.
            self._ledger.forget()
        if asked.at_once or asked.snapshot.node.phase is model.Phase.STOPPED:
            self._precedence.release()
        self._alive()
        self._wanted.update(asked.snapshot)
        self._alive()
        if self._backends.in_doubt or self.tracker.delta(
                self._backends.looked_for):
            self._backends.refresh()

    def _identified(self, node):
        """The word for a node that has another name than in the last pass.

        Before all databases of OVN are there, no row is the node's own.
        """
        before, self._identity = self._identity, (node.chassis, node.marks)
        return () if before == self._identity else (notices.IDENTITY,)

    def _due(self):
        """Names of the backends with work that is due again, a set.

        The work then counts as tried.
        """
        return {self._backends.owner(due.kind)
                if isinstance(due, resources.Ref) else due
                for due in self._retries.take_due()}


def _dead(forwards):
    """The subjects of the VIPs without a living destination, a frozenset.

    :param forwards: :class:`port_forwards.Forwards`, or None
    """
    return frozenset(networks.host_prefix(vip.address)
                     for vip in (forwards.vips if forwards else ())
                     if vip.dead)
