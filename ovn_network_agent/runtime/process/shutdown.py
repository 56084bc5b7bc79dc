# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The clean-up at the end: passes with nothing desired until all is gone."""

from collections.abc import Callable
from collections.abc import Set
import dataclasses
import threading
import time

from oslo_config import cfg
from oslo_log import log as logging

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.common import trigger as triggers
from ovn_network_agent.common import wording
from ovn_network_agent.drivers.common import announcing
from ovn_network_agent.engine import outcome as outcomes
from ovn_network_agent.engine import passes
from ovn_network_agent.engine import reconciler as reconcilers
from ovn_network_agent.forward import source
from ovn_network_agent.gateways import handover
from ovn_network_agent.ovn import view
from ovn_network_agent.runtime import pass_log

LOG = logging.getLogger(__name__)

AGAIN = 0.2  # seconds between two passes when something could not be removed
# Most seconds until the writer of egress addresses drops this node's rows.
_ROWS = 5.0
_NAMED = 5  # addresses in one message


class Ending:
    """Withdraws, waits a moment, and removes the objects of the agent.

    A second stop request sets ``second_stop``.  ``node`` makes the node where
    OVN was never seen.  ``unreached`` names backends of databases never
    reached.
    """

    def __init__(self, conf: cfg.ConfigOpts, state: view.View,
                 reconciler: reconcilers.Reconciler, trigger: triggers.Trigger,
                 second_stop: threading.Event,
                 node: Callable[[model.Phase], model.Node],
                 forwards: source.Source,
                 counters: pass_log.Record | None = None,
                 unreached: Callable[[], Set[str]] = frozenset) -> None:
        self._conf = conf
        self._view = state
        self._reconciler = reconciler
        self._trigger = trigger
        self._second_stop = second_stop
        self._node = node
        self._forwards = forwards
        self._record = counters or pass_log.Record()
        self._unreached = unreached
        self._failed = ''
        # Without the back-off of a failure, which may exceed the deadline.
        self._retry = True
        # Whether only databases never written to are missing; their
        # address may be wrong.
        self._in_vain = False
        #: why the clean-up is not complete
        self.reasons: list[str] = []

    def run(self) -> bool:
        """Remove all if ``cleanup_on_shutdown`` is on; whether it is gone."""
        if not self._conf.cleanup_on_shutdown:
            LOG.info('Stopping; everything stays as it is '
                     '(cleanup_on_shutdown is off)')
            return True
        deadline = time.monotonic() + self._conf.shutdown_timeout
        self._withdraw(deadline)
        self._wait_for_translation(deadline)
        reasons = ['not begun']
        while reasons and not self._second_stop.is_set():
            reasons = self._try_clean_up(deadline)
            if time.monotonic() >= deadline or self._in_vain:
                break
            if reasons:
                wake = self._trigger.wait(AGAIN)
                self._reconciler.invalidate(
                    revived=wake.revived if wake else ())
        self.reasons = reasons
        if reasons:
            LOG.error('Clean-up is not complete: %s', '; '.join(reasons))
        else:
            LOG.info('Clean-up complete')
        return not reasons

    def _withdraw(self, deadline: float) -> None:
        """Remove the announcements and NB rows, and wait for the effect.

        Packets still arrive for a moment.  Without rules and routes, they
        would take the default route of the main table.
        """
        outcomes = self._try_withdraw(deadline)
        # Only the pass has read the actual state.
        if any(verb == 'deleted' for outcome in outcomes
               for verb, _resource in outcome.applied):
            self._second_stop.wait(max(0.0, min(
                handover.SETTLE, deadline - time.monotonic())))

    def _try_withdraw(self, deadline: float) -> list[outcomes.Outcome]:
        """Remove what can be removed now; see :meth:`_passes`.

        Rows of NB that belong to no node are left to other agents.
        """
        outcomes = self._passes(deadline, resources.Stage.NORTHBOUND)
        for backend in self._reconciler.backends.all if outcomes else ():
            kinds = {kind.kind for kind in backend.kinds}
            if (backend.lock is not None and backend.lock.is_held and
                    backend.name not in outcomes[-1].unreadable and
                    all(ref.kind not in kinds
                        for ref in outcomes[-1].failures)):
                backend.lock.close()
        return outcomes

    def _wait_for_translation(self, deadline: float) -> None:
        """Wait until OVN translates again what this node translates.

        The writer of the rows takes the links of this node away, be it another
        agent or this one.  What is left afterwards is dropped here.
        """
        deadline = min(deadline, time.monotonic() + _ROWS)
        while (not self._failed and not self._second_stop.is_set() and
               time.monotonic() < deadline and
               self._last_of_ovn().translated_here):
            wake = self._trigger.wait(AGAIN)
            if wake and wake.revived:
                self._reconciler.invalidate(revived=wake.revived)
                self._try_withdraw(deadline)

    def _passes(self, deadline: float, down_to: resources.Stage
                ) -> list[outcomes.Outcome]:
        """Run one pass, and a second pass after work beside the loop.

        ``_failed`` then says why a pass failed; ``deadline`` is monotonic.
        """
        found: list[outcomes.Outcome] = []
        try:
            seen = self._last_view()
            if self._retry:
                _warn_of_loss(seen)
                _warn_of_machines(self._conf, seen)
            found.append(self._run(passes.Pass(
                seen, down_to=down_to, retry=self._retry)))
            self._retry = False
            if found[0].pending:
                self._wait_for_threads(deadline)
                found.append(self._run(passes.Pass(
                    self._last_view(), down_to=down_to)))
        except Exception as e:
            LOG.exception('A pass of the clean-up failed')
            self._failed = f'{type(e).__name__}: {e}'
        else:
            self._failed = ''
        return found

    def _run(self, asked: passes.Pass) -> outcomes.Outcome:
        outcome = self._reconciler.run(asked)
        self._record.made(pass_log.Passed(
            'stop', None, outcome, self._reconciler.tracker, full=True))
        return outcome

    def _try_clean_up(self, deadline: float) -> list[str]:
        found = self._passes(deadline, resources.Stage.GUARD)
        if self._failed:
            return [self._failed]
        outcome = found[-1]
        self._in_vain = bool(outcome.unreadable) and not (
            outcome.failures or outcome.broken or outcome.pending or
            outcome.unreadable.keys() - self._unreached())
        return _reasons(outcome)

    def _wait_for_threads(self, deadline: float) -> None:
        while (not self._second_stop.is_set() and
               time.monotonic() < deadline and
               not self._reconciler.wait_for_threads(0.1)):
            pass

    def _last_view(self) -> model.Snapshot:
        return self._forwards.with_rules(self._last_of_ovn())

    def _last_of_ovn(self) -> model.Snapshot:
        """The present view of OVN, or the last view without a database.

        The new owner of a router needs the rows that this agent wrote.
        """
        try:
            return self._view.snapshot(model.Phase.STOPPED)
        except view.NotReady:
            pass
        try:
            return self._view.restate(model.Phase.STOPPED)
        except view.NotReady:
            return model.Snapshot(self._node(model.Phase.STOPPED))


def _reasons(outcome: outcomes.Outcome) -> list[str]:
    """Why the clean-up is not complete.

    One database that does not answer is one reason, for all its backends.
    """
    backends: dict[str, list[str]] = {}
    for name, why in outcome.unreadable.items():
        backends.setdefault(why, []).append(name)
    return [*(f'{", ".join(names)}: {why}'
              for why, names in backends.items()),
            *dataclasses.replace(outcome, unreadable={}).degraded,
            *(f'{name} still works' for name in outcome.pending)]


def _warn_of_loss(snapshot: model.Snapshot) -> None:
    lost = sorted({
        each.address for known in snapshot.addresses.values()
        for each in known.values() if each.resident and each.answered})
    if lost:
        LOG.warning('%s withdrawn now (%s): no other node answers, because '
                    'the machines are on this node; migrate the machines '
                    'first, or clear external_mac in the NAT rows',
                    wording.count(
                        len(lost), 'distributed floating IP is',
                        'distributed floating IPs are'),
                    ', '.join(lost[:_NAMED]))


def _warn_of_machines(conf: cfg.ConfigOpts, snapshot: model.Snapshot) -> None:
    lost = sorted(each.address
                  for each in announcing.of_machines(conf, snapshot))
    if lost:
        LOG.warning('%s of machines on provider networks withdrawn now (%s): '
                    'no other node announces them while the machines are '
                    'here; move the machines by live '
                    'migration first, or set [DEFAULT] cleanup_on_shutdown = '
                    'false where only the agent is to be restarted',
                    wording.count(len(lost), 'address'),
                    ', '.join(lost[:_NAMED]))
