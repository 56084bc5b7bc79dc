# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The loop waits for a wake-up, makes a pass, and survives errors.

A start announces its first routers before it knows all others: with
``announce_method = static``, FRR takes 0.2 ms for each address and the drivers
0.03 ms, so FRR works while they are asked about the others.
"""

from collections.abc import Callable
from collections.abc import Sequence
import dataclasses
import math
import socket
import threading
import time

from oslo_config import cfg
from oslo_log import log as logging

from ovn_network_agent import model
from ovn_network_agent.common import backoff
from ovn_network_agent.common import bridges
from ovn_network_agent.common import normal_wait
from ovn_network_agent.common import trigger as triggers
from ovn_network_agent.conf import plugins
from ovn_network_agent.engine import outcome as outcomes
from ovn_network_agent.engine import passes
from ovn_network_agent.engine import reconciler as reconcilers
from ovn_network_agent.forward import source
from ovn_network_agent.gateways import drain as drains
from ovn_network_agent.gateways import takeover
from ovn_network_agent.ovn import local_state
from ovn_network_agent.ovn import view
from ovn_network_agent.runtime import comparison
from ovn_network_agent.runtime import loader
from ovn_network_agent.runtime import ovn_side
from ovn_network_agent.runtime import pass_log
from ovn_network_agent.runtime import questions
from ovn_network_agent.runtime import snapshot_problems
from ovn_network_agent.runtime.process import status as statuses
from ovn_network_agent.watches import base as watches

LOG = logging.getLogger(__name__)

LONGEST_WAIT = 3600.0  # seconds
#: Addresses: FRR takes 0.4 s for them, the drivers answer 10,000 meanwhile.
AT_MOST = 2000
_WORTH_IT = 2  # So many times as many, as FRR then makes one more transaction


def first_of(snapshot: model.Snapshot) -> model.Snapshot | None:
    """The view with its first routers alone, without machines.

    None with few addresses, or few before a router that has too many.

    The order is of UUIDs, as that of preference at a conflict
    (:mod:`engine.tracking`): no resource gives way to one of a later router.
    """
    some, count = {}, 0
    for uuid, addresses in snapshot.addresses.items():
        if count + len(addresses) > AT_MOST:
            break
        some[uuid] = addresses
        count += len(addresses)
    total = sum(map(len, snapshot.addresses.values()))
    if total <= _WORTH_IT * AT_MOST or count < AT_MOST // _WORTH_IT:
        return None
    return dataclasses.replace(
        snapshot, routers=tuple(router for router in snapshot.routers
                                if router.uuid in some),
        addresses=some, groups=(), networks={}, machines={})


class Loop:
    """Makes the passes, on the thread that calls :meth:`run`."""

    def __init__(self, conf: cfg.ConfigOpts, state: view.View,
                 reconciler: reconcilers.Reconciler, trigger: triggers.Trigger,
                 status: statuses.Status, stopping: threading.Event,
                 observers: Sequence[watches.Observer] = (),
                 forwards: source.Source | None = None,
                 clock: Callable[[], float] = time.monotonic,
                 parts: questions.Internals | None = None,
                 counters: pass_log.Record | None = None,
                 watched: statuses.Watchdog | None = None) -> None:
        parts = parts or questions.make(reconciler, trigger)
        self.passes, self.questions = parts.passes, parts.questions
        self.reloads = parts.reloads
        self._clock = clock
        self._conf = conf
        self._view = state
        self._reconciler = reconciler
        self._trigger = trigger
        self._status = status
        self._stopping = stopping
        self._observers = observers
        self._forwards = forwards or source.Source(conf)
        self._record = counters or pass_log.Record()
        self._watchdog = watched or statuses.Watchdog(math.inf)
        self._takeovers = takeover.Takeovers()
        self._phase = model.Phase.RESTORING
        self._serving = model.Phase.RUNNING
        self._schedule = comparison.Schedule(conf, state, reconciler, clock)
        self._snapshot_problems = snapshot_problems.SnapshotProblems()
        self._known_troubles: frozenset[str] = frozenset()
        self._pass_retries = backoff.Retries()
        self._pass_error = ''
        self._viewed = True

    def run(self) -> None:
        """Make passes until the stop is requested."""
        self.passes.running = pass_log.Running(('start',))
        self._run_without_ovn()
        self.passes.end()
        while not self._stopping.is_set():
            wake = self._wait(self._timeout())
            if not self._stopping.is_set():
                self._apply_configuration()
                self._guarded_pass(wake or triggers.Wake(('interval',)))
        # A reload before the stop counts for the stop, too.
        self._apply_configuration()
        self.reloads.close()

    def drain(self, drain: drains.Drain) -> None:
        """Make passes until the gateways have been taken over."""
        self._serving = model.Phase.DRAINING
        seen = self._present()
        drain.begin(seen)
        wake = triggers.Wake(('drain',))
        while seen is not None and drain.result is None:
            self._guarded_pass(wake)
            seen = self._view.last or seen
            drain.consider(seen, self._pass_error or self._unconfirmed())
            self._status.waits(drain.waiting)
            if drain.result is None:
                wake = self._wait(min(
                    self._timeout(), drain.left())) or triggers.Wake(
                        ('interval',))
        self._status.waits(())
        if drain.unclaimed and self._conf.cleanup_on_shutdown:
            # A port whose addresses go next must not stay bound to this
            # chassis; no later pass makes resources that wait.
            self._view.abandon()
            self._guarded_pass(triggers.Wake(('drain',)), immediate=True)

    def _wait(self, timeout: float) -> triggers.Wake | None:
        deadline = time.monotonic() + timeout
        while True:
            self._watchdog.alive()
            left = max(0.0, deadline - time.monotonic())
            wake = self._trigger.wait(min(left, self._watchdog.pause))
            if wake is triggers.QUESTION:
                self.questions.answer()
            elif wake is not None or left <= self._watchdog.pause:
                return wake

    def _present(self) -> model.Snapshot | None:
        """The last pass may have been long ago."""
        try:
            return self._view.snapshot(self._serving)
        except view.NotReady:
            return self._view.last
        except Exception:
            # An exception would prevent the clean-up after the drain.
            LOG.exception('The current view is not available')
            return self._view.last

    def _unconfirmed(self) -> str:
        """Why the view must not end a drain, '' without a reason.

        A gateway port that a replica lacks looks like a port that has left.
        """
        return '' if self._view.confirmed else (
            'the servers of OVN have not confirmed what is gone')

    def reload(self) -> int:
        """Ask for a reload, from any thread; the number of the request.

        It takes place between passes: no pass mixes old and new values.
        """
        return self.reloads.ask()

    def own_node(self, phase: model.Phase) -> model.Node:
        """The node as it is known without OVN."""
        return model.Node('', socket.gethostname(), phase,
                          local_state.relevant_devices(self._conf, ()))

    def _timeout(self) -> float:
        times = [self._schedule.due_at() - self._clock(), LONGEST_WAIT]
        due = self._view.due_in()
        # Without a view, a due time or retry would wake the loop endlessly.
        if due is not None and self._viewed:
            times.append(due)
        retry = self._reconciler.next_retry()
        if retry is not None and self._pass_retries.due_in() is None:
            times.append(retry)
        return max(0.0, min(times))

    def _apply_configuration(self) -> None:
        if not self.reloads.begin():
            return
        # systemd takes RELOADING only from a service that was ready.
        if self._status.is_ready:
            statuses.notify(RELOADING=1, MONOTONIC_USEC=int(
                time.monotonic() * 1000000))
        drivers = self.reloads.apply(
            self._conf, lambda read: loader.renewed(
                self._reconciler.wanted.drivers, read))
        if drivers is not None:
            self._reconciler.wanted.drivers = drivers
        self._record.reloaded(drivers is not None)
        self._forwards.reread()
        self._schedule.reloaded = True
        if self._status.is_ready:
            statuses.notify(READY=1)

    def _run_without_ovn(self, wake: triggers.Wake | None = None,
                         waiting_for: tuple[str, ...] = ()) -> None:
        """Make a pass while there is no view of OVN.

        It removes nothing: objects of a former run may be in use.
        """
        try:
            snapshot = self._with_rules(self._view.last or model.Snapshot(
                self.own_node(self._phase)))
            outcome = self._reconciler.run(passes.Pass(
                snapshot, wake.stale if wake else (), prune=False))
            self._forwards.after_pass(outcome, self._reconciler.tracker)
            self._tell('event' if self._status.is_ready else 'startup',
                       wake, outcome)
        except Exception as e:
            self._pass_failed(e)
            return
        self._schedule.read_all()
        self.passes.note(outcome, problem='; '.join(waiting_for))
        self._status.report((*waiting_for, *outcome.degraded,
                             *self._forwards.reasons, *self.reloads.reasons))

    def _guarded_pass(self, wake: triggers.Wake, immediate: bool = False
                      ) -> None:
        """An exception in the pass must not end the loop."""
        began = self._clock()
        self.passes.running = pass_log.Running(wake.reasons)
        waiting = None
        try:
            self._pass(wake, immediate)
        except view.NotReady as e:
            waiting = normal_wait.reason(e, f'waiting for OVN: {e}')
        except Exception as e:
            self._pass_failed(e)
        # oslo.log would add the exception to each warning of this pass.
        if waiting is not None:
            self._run_without_ovn(wake, (waiting,))
            self._schedule.compare_at(self._clock() + backoff.FIRST)
        self.passes.end()
        self._record.ended(self._clock() - began)

    def _tell(self, trigger: str, wake: triggers.Wake | None,
              outcome: outcomes.Outcome, full: bool = False) -> None:
        self._record.made(pass_log.Passed(
            trigger, wake.fired_at if wake else None, outcome,
            self._reconciler.tracker, full, self._takeovers.last))

    def _pass_failed(self, error: Exception) -> None:
        """Log a failure once in full, and wait at growing intervals."""
        self._record.failed()
        reason = f'a pass failed: {type(error).__name__}: {error}'
        if reason == self._pass_error:
            LOG.error('Again, %s', reason)
        else:
            LOG.exception('A pass failed; the last good state stays')
        self._status.report((reason,))
        self.passes.fail(reason)
        self._pass_error = reason
        self._pass_retries.take_due()
        self._pass_retries.note({'pass'}, {'pass'})
        self._schedule.compare_at(
            self._clock() + (self._pass_retries.due_in() or 0.0))

    def _pass(self, wake: triggers.Wake, immediate: bool) -> None:
        started = self._clock()
        restoring = self._phase is model.Phase.RESTORING
        part = comparison.NOTHING
        if restoring or started >= self._schedule.next_full:
            part = self._schedule.part(wake, started, restoring)
        full = part.ends or self._schedule.reloaded
        # A failure below must not lose the words of the wake-up.
        self._reconciler.invalidate(wake.stale, wake.revived)
        names = self._reconciler.backends.names
        if self._schedule.reloaded:
            self._reconciler.invalidate(names)
        self._viewed = False
        self._watchdog.alive()
        snapshot = self._with_rules(self._view.snapshot(
            self._serving, full and not part.has_seen,
            **({'batch': part.batch} if part.batch else {})))
        self._viewed = True
        self._phase = self._serving
        viewed = self._clock() - started
        outcome = self._reconciler.run(passes.Pass(
            snapshot, prune=self._view.confirmed, urgent=wake.urgent,
            immediate=immediate,
            full=part.asks_all, reads=names if part.reads_all else part.reads,
            first_part=(first_of(snapshot) if part.begins
                        else None),
            limits=lambda: ovn_side.guard_limits(
                self._conf, self._view, self._serving)))
        if outcome.held.unconfirmed:
            self._view.have_confirmed(outcome.held.unconfirmed)
        self._pass_retries.note(set(), {'pass'})
        self._pass_error = ''
        self.passes.note(outcome, full)
        self._forwards.after_pass(outcome, self._reconciler.tracker)
        self._takeovers.after_pass(snapshot, wake, outcome)
        self._tell(self._trigger_word(part.ends), wake, outcome, full)
        if full:
            self._schedule.compared(part)
        if self._reconciler.announcing:
            self._schedule.taken_over(started)
        LOG.debug('Pass for %s: %d changes in %.1f ms%s: %s',
                  ', '.join(wake.reasons), outcome.changes,
                  (self._clock() - started) * 1000,
                  ' (full)' if full else '', ', '.join(
                      f'{part} {seconds * 1000:.1f}' for part, seconds
                      in (('view', viewed), *outcome.seconds)))
        # The first reason is shown most.  FRR comes first: without BGP, no
        # default route comes into the VRF, for example.
        self._status.report((*self._observed(snapshot, outcome, full),
                             *outcome.degraded, *self._troubles(snapshot),
                             *self._forwards.reasons,
                             *self.reloads.reasons))
        if not outcome.pending:
            self.reloads.passed()
            if not self._status.is_ready:
                self._status.ready(
                    sum(1 for r in snapshot.routers if r.local_ports))

    def _with_rules(self, snapshot: model.Snapshot) -> model.Snapshot:
        return (self._forwards.with_rules(snapshot) if self._forwards.active
                else snapshot)

    def _trigger_word(self, due: bool) -> str:
        if self._serving is model.Phase.DRAINING:
            return 'stop'
        if not self._status.is_ready:
            return 'startup'
        return 'periodic' if due else 'event'

    def _observed(self, snapshot: model.Snapshot, outcome: outcomes.Outcome,
                  full: bool) -> list[str]:
        reasons: list[str] = []
        for observer in self._observers:
            observer.seen(snapshot)
            observer.after_pass(outcome, self._reconciler.tracker, full)
            reasons += observer.reasons
        return reasons

    def _troubles(self, snapshot: model.Snapshot) -> tuple[str, ...]:
        troubles = self._snapshot_problems.problems(
            snapshot, bridges.served(self._conf),
            plugins.requested(self._conf, plugins.RANKING))
        for reason in troubles:
            if reason not in self._known_troubles:
                LOG.warning('%s', reason)
        self._known_troubles = frozenset(troubles)
        return troubles
