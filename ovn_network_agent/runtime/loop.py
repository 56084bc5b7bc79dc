# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The loop: it waits for a wake-up, makes a pass, and survives errors."""

import math
import socket
import time

from oslo_log import log as logging

from ovn_network_agent import backoff
from ovn_network_agent import model
from ovn_network_agent import notyet
from ovn_network_agent import trigger as triggers
from ovn_network_agent.conf import bridges
from ovn_network_agent.conf import plugins
from ovn_network_agent.engine import passes
from ovn_network_agent.forward import source
from ovn_network_agent.gateways import takeover
from ovn_network_agent.ovn import local_state
from ovn_network_agent.ovn import view
from ovn_network_agent.runtime import comparison
from ovn_network_agent.runtime import forerun
from ovn_network_agent.runtime import guarding
from ovn_network_agent.runtime import inside
from ovn_network_agent.runtime import loader
from ovn_network_agent.runtime import notify
from ovn_network_agent.runtime import pass_log
from ovn_network_agent.runtime import record
from ovn_network_agent.runtime import trouble
from ovn_network_agent.runtime import watchdog

LOG = logging.getLogger(__name__)

# Longest sleep of the loop, seconds; every event ends the sleep.
LONGEST_WAIT = 3600.0
# Seconds from a takeover to the next periodic comparison.  A comparison reads
# everything and starts processes of FRR, which would take the processor from
# zebra and bgpd.  These announce 100 addresses in 0.26 to 0.7 s in the lab.
AFTER_TAKEOVER = 2.0
# Most seconds by which takeovers can delay a periodic comparison.
LATEST = 10.0


class Loop:
    """Makes one pass after the other on the thread that calls :meth:`run`.

    :param conf: the oslo.config ConfigOpts
    :param state: :class:`ovn.view.View`
    :param reconciler: :class:`reconciler.Reconciler`
    :param trigger: :class:`trigger.Trigger`
    :param status: :class:`status.Status`
    :param stopping: threading.Event
    :param observers: list of :class:`watches.base.Observer`
    :param forwards: :class:`forward.source.Source`, None to make one
    :param clock: function that returns monotonic seconds
    :param parts: :class:`inside.Inside`, None to make one
    :param told: :class:`record.Record`, None for nobody
    :param watched: :class:`watchdog.Watchdog`, None for a loop that nobody
        watches
    :ivar questions: :class:`questions.Questions` of other threads
    :ivar passes: :class:`pass_log.PassLog`
    :ivar reloads: :class:`reloads.Reloads`
    """

    def __init__(self, conf, state, reconciler, trigger, status, stopping,
                 observers=(), forwards=None, clock=time.monotonic,
                 parts=None, told=None, watched=None):
        parts = parts or inside.make(reconciler, trigger)
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
        self._record = told or record.Record()
        self._watchdog = watched or watchdog.Watchdog(math.inf)
        self._takeovers = takeover.Takeovers()
        self._phase = model.Phase.RESTORING
        self._serving = model.Phase.RUNNING
        # When the first pass, which reads all systems, was made without OVN.
        self._read_at = None
        self._next_full = 0.0
        self._periodic = False
        self._compared_from = 0.0
        self._next_not_before = 0.0
        self._reloaded = False
        self._quiet_from = 0.0
        # What is left of the periodic comparison that is being made in parts,
        # or None; when it began, and whether an event was served after the
        # last part.
        self._parts, self._parts_from, self._served = None, 0.0, False
        self._parts_in_trouble = trouble.Troubles()
        self._known_troubles = frozenset()
        self._pass_retries = backoff.Retries()
        self._pass_error = ''
        self._viewed = True

    def run(self):
        """Make passes until the stop is requested."""
        self.passes.running = pass_log.Running(('start',))
        self._run_without_ovn()
        self.passes.end()
        while not self._stopping.is_set():
            wake = self._wait(self._timeout())
            if not self._stopping.is_set():
                self._take_in_configuration()
                self._guarded_pass(wake or triggers.Wake(('interval',)))
        # A reload before the stop counts for the stop, too.
        self._take_in_configuration()
        self.reloads.close()

    def drain(self, drain):
        """Make passes until the gateways have been taken over.

        :param drain: :class:`drain.Drain`
        """
        self._serving = model.Phase.DRAINING
        drain.begin(self._present())
        wake = triggers.Wake(('drain',))
        while drain.result is None:
            self._guarded_pass(wake)
            drain.consider(self._view.last,
                           self._pass_error or self._unconfirmed())
            self._status.waits(drain.waiting)
            if drain.result is None:
                wake = self._wait(min(
                    self._timeout(), drain.left())) or triggers.Wake(
                        ('interval',))
        self._status.waits(())
        if drain.unclaimed and self._conf.cleanup_on_shutdown:
            # A port whose addresses are withdrawn next must not stay bound
            # to this chassis.  No later pass will make resources that wait.
            self._view.abandon()
            self._guarded_pass(triggers.Wake(('drain',)), at_once=True)

    def _wait(self, timeout):
        """Wait for a wake-up, with answers and signs of life meanwhile.

        :param timeout: seconds, at the most
        :returns: :class:`trigger.Wake`, or None when the time passed
        """
        deadline = time.monotonic() + timeout
        while True:
            self._watchdog.alive()
            left = max(0.0, deadline - time.monotonic())
            wake = self._trigger.wait(min(left, self._watchdog.pause))
            if wake is triggers.QUESTION:
                self.questions.answer()
            elif wake is not None or left <= self._watchdog.pause:
                return wake

    def _present(self):
        """The present view, because the last pass may have been long ago."""
        try:
            return self._view.snapshot(self._serving)
        except view.NotReady:
            return self._view.last
        except Exception:
            # The passes of the drain report the error.  An exception here
            # would prevent the clean-up that follows the drain.
            LOG.exception('The present view could not be had')
            return self._view.last

    def _unconfirmed(self):
        """The reason why the view must not end a drain, '' without one.

        A gateway port that a replica lacks looks like a port that has left.
        """
        return '' if self._view.confirmed else (
            'the servers of OVN have not confirmed what is gone')

    def reload(self):
        """Have the configuration read before the next pass (any thread).

        The loop reads it between passes, so that no pass sees a mixture of
        old and new values.

        :returns: number of the request, see :class:`reloads.Reloads`
        """
        return self.reloads.ask()

    def bare_node(self, phase):
        """The node as it is known without OVN.

        :param phase: :class:`model.Phase`
        :returns: :class:`model.Node`
        """
        return model.Node('', socket.gethostname(), phase,
                          local_state.relevant_devices(self._conf, ()))

    def _timeout(self):
        times = [self._full_due() - self._clock(), LONGEST_WAIT]
        due = self._view.due_in()
        # Only the next view can handle a due time.  Without a view, the loop
        # would wake again and again; likewise for a retry below.
        if due is not None and self._viewed:
            times.append(due)
        retry = self._reconciler.next_retry()
        # A due retry stays due while passes fail before they get to it.
        if retry is not None and self._pass_retries.due_in() is None:
            times.append(retry)
        return max(0.0, min(times))

    def _full_due(self):
        """Time of the next full comparison, monotonic seconds."""
        if not self._periodic:
            return self._next_full
        return min(max(self._next_full, self._quiet_from),
                   self._next_full + LATEST)

    def _is_full(self, urgent, now):
        """Whether a pass at this time is a full comparison.

        A periodic comparison gives way to a gateway port that moves.  The
        first comparison, and the comparison after a reload, do not.  The pass
        with the first view is the first comparison.  Any pass asks the drivers
        about everything in that view, and the comparison would ask them again.
        """
        if self._view.last is None:
            return True
        gives_way = (urgent and self._periodic and
                     now < self._next_full + LATEST)
        return now >= self._full_due() and not gives_way

    def _is_first(self, now):
        """Whether a pass may have the first view, with systems just read.

        When the systems were read long ago, :meth:`_is_full` has them read
        again with the first view.
        """
        return (self._phase is model.Phase.RESTORING and not self._reloaded and
                self._read_at is not None and
                now < self._read_at + self._conf.reconcile_interval)

    def _part(self, wake, now):
        """What this pass compares beside its changes.

        A periodic comparison of many objects is made in parts.  An event goes
        first, and then at least one part is made before the next event.  So
        neither waits for the end of the other.

        :param wake: :class:`trigger.Wake`
        :param now: monotonic seconds
        :returns: :class:`comparison.Part`
        """
        if self._is_first(now):
            self._parts_from = now
            return comparison.FIRST
        if not self._is_full(wake.urgent, now):
            return comparison.NOTHING
        if self._reloaded or not self._periodic:
            self._parts, self._parts_from = None, now
            return comparison.WHOLE
        if self._parts is None:
            self._parts = comparison.parts(self._view, self._reconciler)
            self._parts_from, self._served = now, False
        if len(self._parts) > 1 and wake.since is not None and (
                not self._served):
            self._served = True
            return comparison.NOTHING
        self._served = False
        part, *self._parts = self._parts
        if not self._parts:
            self._parts = None
        return part

    def _compare_at(self, when, periodic=False):
        self._parts = None
        self._next_full = when
        self._periodic = periodic

    def _take_in_configuration(self):
        """Reload the configuration if a reload is wanted; log errors."""
        if not self.reloads.begin():
            return
        # systemd takes RELOADING only from a service that was ready.
        if self._status.is_ready:
            notify.notify(RELOADING=1, MONOTONIC_USEC=int(
                time.monotonic() * 1000000))
        drivers = self.reloads.take_in(self._conf, self._renewed)
        if drivers is not None:
            self._reconciler.wanted.drivers = drivers
        self._record.reloaded(drivers is not None)
        self._forwards.reread()
        # Backends read options themselves, so all systems are read again.
        self._reloaded = True
        if self._status.is_ready:
            notify.notify(READY=1)

    def _renewed(self, read):
        """The drivers as changed options make them."""
        return loader.renewed(self._reconciler.wanted.drivers, read)

    def _run_without_ovn(self, wake=None, waiting_for=()):
        """Make a pass while there is no view of OVN.

        The pass makes the resources that need no OVN, repairs drift, and
        tries failed work again.  It removes nothing, because objects of a
        former run may be in use.

        :param wake: :class:`trigger.Wake` or None
        :param waiting_for: tuple of reasons for the status
        """
        try:
            snapshot = self._with_rules(self._view.last or model.Snapshot(
                self.bare_node(self._phase)))
            outcome = self._reconciler.run(passes.Pass(
                snapshot, wake.stale if wake else (), prune=False))
            self._forwards.after_pass(outcome, self._reconciler.tracker)
            self._tell('event' if self._status.is_ready else 'startup',
                       wake, outcome)
        except Exception as e:
            self._pass_failed(e)
            return
        if self._read_at is None:
            self._read_at = self._clock()
        self.passes.note(outcome, trouble='; '.join(waiting_for))
        self._status.report((*waiting_for, *outcome.degraded,
                             *self._forwards.reasons, *self.reloads.reasons))

    def _guarded_pass(self, wake, at_once=False):
        """Make one pass; an exception in the pass must not end the loop.

        :param wake: :class:`trigger.Wake`
        :param at_once: see :class:`passes.Pass`
        """
        began = self._clock()
        self.passes.running = pass_log.Running(wake.reasons)
        waiting = None
        try:
            self._pass(wake, at_once)
        except view.NotReady as e:
            waiting = notyet.reason(e, f'waiting for OVN: {e}')
        except Exception as e:
            self._pass_failed(e)
        # oslo.log would add the exception to each warning of this pass.
        if waiting is not None:
            self._run_without_ovn(wake, (waiting,))
            self._compare_at(self._clock() + backoff.FIRST)
        self.passes.end()
        self._record.ended(self._clock() - began)

    def _tell(self, trigger, wake, outcome, full=False):
        self._record.made(record.Passed(
            trigger, wake.since if wake else None, outcome,
            self._reconciler.tracker, full, self._takeovers.last))

    def _pass_failed(self, error):
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
        self._compare_at(self._clock() + self._pass_retries.due_in())

    def _pass(self, wake, at_once):
        started = self._clock()
        part = self._part(wake, started)
        due = part.ends
        full = due or self._reloaded
        # A failure below must not lose the words of the wake-up.
        self._reconciler.invalidate(wake.stale, wake.revived)
        names = self._reconciler.backends.names
        if self._reloaded:
            self._reconciler.invalidate(names)
        everything = part is comparison.WHOLE
        self._viewed = False
        self._watchdog.alive()
        snapshot = self._with_rules(self._view.snapshot(
            self._serving, full and not part.has_seen,
            **({'again': part.piece} if part.piece else {})))
        self._viewed = True
        self._phase = self._serving
        viewed = self._clock() - started
        outcome = self._reconciler.run(passes.Pass(
            snapshot, prune=self._view.confirmed, urgent=wake.urgent,
            at_once=at_once,
            # A periodic comparison asks drivers only about what differs.
            full=everything and (self._reloaded or not self._periodic),
            reads=names if everything else part.reads,
            ahead=forerun.first_of(snapshot) if part.begins else None,
            limits=lambda: guarding.limits(self._conf, self._view,
                                           self._serving)))
        if outcome.held.unconfirmed:
            self._view.have_confirmed(outcome.held.unconfirmed)
        self._pass_retries.note(set(), {'pass'})
        self._pass_error = ''
        self.passes.note(outcome, full)
        self._forwards.after_pass(outcome, self._reconciler.tracker)
        self._takeovers.after_pass(snapshot, wake, outcome)
        self._tell(self._trigger_word(due), wake, outcome, full)
        if full:
            self._schedule_comparison(
                self._parts_from if part.ends else started, due)
        if self._reconciler.announcing and started >= self._quiet_from:
            self._quiet_from = started + AFTER_TAKEOVER
        LOG.debug('Pass for %s: %d changes in %.1f ms%s: %s',
                  ', '.join(wake.reasons), outcome.changes,
                  (self._clock() - started) * 1000,
                  ' (full)' if full else '', ', '.join(
                      f'{part} {seconds * 1000:.1f}' for part, seconds
                      in (('view', viewed), *outcome.seconds)))
        # Without BGP, for example, no default route comes into the VRF: what
        # observers see of FRR comes first, as the first reason is shown most.
        self._status.report((*self._observed(snapshot, outcome, full),
                             *outcome.degraded, *self._troubles(snapshot),
                             *self._forwards.reasons,
                             *self.reloads.reasons))
        if not outcome.pending:
            self.reloads.passed()
            if not self._status.is_ready:
                self._status.ready(
                    sum(1 for r in snapshot.routers if r.local_ports))

    def _with_rules(self, snapshot):
        """A view with the rules of port forwards, if there may be any."""
        return (self._forwards.with_rules(snapshot) if self._forwards.active
                else snapshot)

    def _trigger_word(self, due):
        """Why a pass is made, for the metrics."""
        if self._serving is model.Phase.DRAINING:
            return 'stop'
        if not self._status.is_ready:
            return 'startup'
        return 'periodic' if due else 'event'

    def _schedule_comparison(self, started, due):
        """Set the time of the next full comparison after one has been made.

        :param started: when that one began, monotonic seconds
        :param due: False when only a reload asked for that one.  It does not
            ask all drivers, and so does not put off one that does.
        """
        self._reloaded = False
        ended = self._clock()
        if due:
            self._compared_from = started
            # On a slow node, a comparison may take longer than the interval.
            # Then at least as much time is left for other passes.
            self._next_not_before = ended + (ended - started)
        elif not self._periodic:
            # The comparison that is due repeats a failed one.
            return
        # After a reload, the present interval counts for the comparison that
        # is already scheduled, too.
        self._compare_at(max(
            self._compared_from + self._conf.reconcile_interval,
            self._next_not_before), periodic=True)

    def _observed(self, snapshot, outcome, full):
        """The reasons of the observers after a pass, a list of str."""
        reasons = []
        for observer in self._observers:
            observer.seen(snapshot)
            observer.after_pass(outcome, self._reconciler.tracker, full)
            reasons += observer.reasons
        return reasons

    def _troubles(self, snapshot):
        """The problems of a snapshot; each is logged once."""
        troubles = self._parts_in_trouble.problems(
            snapshot, bridges.served(self._conf),
            plugins.asked(self._conf, plugins.RANKING))
        for reason in troubles:
            if reason not in self._known_troubles:
                LOG.warning('%s', reason)
        self._known_troubles = frozenset(troubles)
        return troubles
