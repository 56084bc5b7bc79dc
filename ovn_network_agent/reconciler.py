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

import time

from ovn_network_agent import application
from ovn_network_agent import backoff
from ovn_network_agent import contributions
from ovn_network_agent import delta as deltas
from ovn_network_agent import executor
from ovn_network_agent import model
from ovn_network_agent import outcome
from ovn_network_agent import planes
from ovn_network_agent import precedence
from ovn_network_agent import resources


class Reconciler:
    """Brings the node to what the drivers want.

    All methods run on the loop thread.

    :param drivers: list of :class:`drivers.base.Driver`
    :param backends: list of :class:`backends.base.Backend`
    :param wake: function(reason) that wakes the loop, for work that ended
        beside it
    """

    def __init__(self, drivers, backends, wake):
        self.tracker = deltas.Tracker()
        self._retries = backoff.Retries()
        self._beside = executor.Beside(wake)
        self._planes = planes.Planes(backends, self.tracker, self._retries,
                                     self._beside)
        self._wanted = contributions.Contributions(
            drivers, self.tracker, self._planes.kinds)
        self._precedence = precedence.Precedence()
        self._work = application.Application(
            self._planes, self.tracker, self._retries, self._beside,
            self._precedence)

    def run(self, snapshot, stale=(), full=False, prune=True,
            down_to=resources.Stage.LINK, urgent=False):
        """One pass.

        :param snapshot: :class:`model.Snapshot`
        :param stale: names of backends to read again
        :param full: recompute and read everything
        :param prune: delete what is no longer desired; False as long as
            the snapshot is not the whole truth: then only VIPs without a
            backend are withdrawn
        :param down_to: :class:`resources.Stage` where deletion ends; what
            belongs to earlier stages stays for another pass
        :param urgent: a gateway has moved: announce as soon as possible
        :returns: :class:`outcome.Outcome`
        """
        began = time.monotonic()
        self._work.begin()
        # Before anything is read: a backend that still counts as working
        # beside the loop is not read, and nobody would wake us for it.
        self._work.collect()
        self._prepare(snapshot, stale, full)
        prepared = time.monotonic() - began
        self._work.create(urgent)
        if prune:
            self._work.delete(down_to)
        else:
            self._withdraw(snapshot.forwards)
        self._retries.note(self._work.troubled(), self._planes.names)
        return outcome.Outcome(
            len(self._work.applied),
            {**self._work.failures, **self._wanted.conflicts},
            self._planes.unreadable, dict(self._wanted.broken),
            self._pending(), self._wanted.problems,
            tuple(self._work.applied),
            (('drivers and reading', prepared), *self._work.seconds))

    def _withdraw(self, forwards):
        """Withdraw the VIPs that have no backend left.

        That they are dead is known without OVN, and as long as this node
        attracts their clients nobody else gets them.
        """
        down = {vip.address for vip in forwards.vips
                if vip.dead} if forwards else ()
        if down:
            self._work.delete(resources.Stage.ANNOUNCE, lambda resource: (
                resource.kind == resources.VipAddress.kind and
                resource.address.partition('/')[0] in down))

    @property
    def announcing(self):
        """Whether zebra and bgpd were given addresses a moment ago."""
        return self._precedence.held

    def _pending(self):
        """Names of what is under way."""
        return self._beside.running() + (
            ('announcing',) if self.announcing else ())

    def plan(self, snapshot):
        """What a pass would do, without doing it.

        Of a plane that cannot be read nobody knows what is there; what is
        wanted in it has the verb 'unknown', and so has a deletion that
        would wait for it.

        :returns: (list of (verb, resource), :class:`outcome.Outcome`), in
            the order of the work; verbs are 'create', 'update', 'delete'
            and 'unknown'
        """
        self._prepare(snapshot, (), True)
        # Nothing waits for this pass.
        self._beside.wait(None)
        self._work.collect()
        steps = []
        for name, delta in self._deltas(sorted(resources.Stage)):
            for verb, changed in (
                    ('create', delta.create),
                    ('update', [new for _old, new in delta.update])):
                steps += [('unknown' if self._blind(name, r) else verb, r)
                          for r in changed]
        for _name, delta in self._deltas(
                sorted(resources.Stage, reverse=True)):
            steps += [('unknown' if self._work.blind_under(r) else 'delete',
                       r) for r in delta.delete]
        return steps, outcome.Outcome(
            0, self._wanted.conflicts, self._planes.unreadable,
            dict(self._wanted.broken), (), self._wanted.problems)

    def _blind(self, name, resource):
        """Whether its plane, or one that it waits for, was never read."""
        return any(self._planes.unread(plane) for plane in {
            name, *(self._planes.owner(ref.kind)
                    for ref in resource.requires)})

    def _deltas(self, stages):
        for stage in stages:
            for backend in self._planes.at(stage):
                yield backend.name, self._planes.delta(backend, stage)

    def doubt(self, names):
        """Have these backends read again at the next pass."""
        self._planes.doubt(names)
        self._work.forgive(names)

    def revive(self, names):
        """Read these backends at the next pass, back-off or not.

        For a system that has just come back: what failed while it was away
        says nothing any more.
        """
        self._retries.forget(names)
        self.doubt(names)

    def hasten(self):
        """Try everything that failed at the next pass, back-off or not."""
        self.revive([name for name in self._planes.names
                     if self._retries.waiting(name)])

    def release(self):
        """Have nothing wait for its turn at the next pass."""
        self._precedence.release()

    def next_retry(self):
        """Seconds until another pass has something to do, or None.

        That is until what failed is due again, or what had to wait.
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
        """Give back what backends hold."""
        self._work.tell()
        self._planes.close()

    def _prepare(self, snapshot, stale, full):
        if full:
            self._wanted.forget()
            self.doubt(self._planes.names)
        self.doubt(stale)
        self.doubt(self._work.due())
        if snapshot.node.phase is model.Phase.STOPPED:
            # There is no later.
            self._work.forgive()
            self._precedence.release()
        self._wanted.update(snapshot)
        self._planes.refresh()
