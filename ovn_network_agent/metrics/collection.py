# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The metrics of what the loop does."""

import collections
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
import time
import typing

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.engine import outcome as outcomes
from ovn_network_agent.engine import tracking
from ovn_network_agent.gateways import takeover
from ovn_network_agent.metrics import declared
from ovn_network_agent.runtime import pass_log

if typing.TYPE_CHECKING:
    from ovn_network_agent.metrics import store

_FLOWS = {ownership.COOKIE_HAIRPIN: 'hairpin',
          ownership.COOKIE_MAC_TWEAK: 'mactweak',
          ownership.COOKIE_RELAY: 'relay'}
_PLANES = {resources.KernelRoute.kind: 'kernel',
           resources.AnnouncedRoute.kind: 'kernel',
           resources.VniRoute.kind: 'kernel',
           resources.Announcement.kind: 'frr'}
_STALE = resources.StaleRoute.kind
_ANNOUNCING = (resources.Announcement.kind, resources.AnnouncedRoute.kind,
               resources.VniRoute.kind)
_FLOW = resources.Flow.kind
# The parts of a VNI, with the values of a label.
_VNIS = {resources.VniDevices.kind: 'devices',
         resources.EvpnInstance.kind: 'frr'}
_OTHERS = (_FLOW, *_VNIS)
_COUNTED = (*_ANNOUNCING, *_OTHERS)


class Collection(pass_log.Record):
    """Counts the work of the loop, on the loop thread.

    :param clock: returns monotonic seconds
    :param wall: returns seconds since 1970
    """

    def __init__(self, backends: Sequence[base.Backend],
                 clock: Callable[[], float] = time.monotonic,
                 wall: Callable[[], float] = time.time) -> None:
        # To be set before the first pass.
        self.store: store.Store
        # See store.Store; replaced as a whole, so that any thread may read it.
        self.gauges: declared.Gauges = {}
        self.backends = tuple(backend.name for backend in backends)
        self.kinds = tuple(kind.kind for backend in backends
                           for kind in backend.kinds)
        self._announcers = {
            backend.name for backend in backends if any(
                kind.stage is resources.Stage.ANNOUNCE
                for kind in backend.kinds)}
        self._clock = clock
        self._wall = wall
        self._woken_at: float | None = None
        self._takeover: takeover.Takeover | None = None
        self._failures: frozenset[resources.Ref] = frozenset()
        self._unreadable: frozenset[str] = frozenset()
        self._objects = Objects()
        # Refs of objects that are to be counted, or all objects.
        self._uncounted: set[resources.Ref] = set()
        self._uncounted_all = True

    # -- what the loop tells ----------------------------------------------

    def ended(self, seconds: float) -> None:
        """Observe a pass, in ``reconcile_duration_seconds``."""
        self.store.observe('reconcile_duration_seconds', seconds)

    def failed(self) -> None:
        """Count a failed pass, in ``reconcile_failures_total``."""
        self.store.count('reconcile_failures_total')

    def reloaded(self, good: bool) -> None:
        """Count a reload; not good if the configuration stays as it was."""
        self.store.count('config_reload_total',
                         result='success' if good else 'error')

    def drained(self, result: str, seconds: float) -> None:
        """Count a drain; its duration only if there was a port to wait for."""
        self.store.count('drain_total', result=result)
        if result != 'noop':
            self.store.observe('drain_duration_seconds', seconds)

    def made(self, passed: pass_log.Passed) -> None:
        """Count the changes, failures, drift and announcements of a pass.

        Failures count when they begin, objects if one may have changed.
        """
        outcome = passed.outcome
        self.store.count('reconcile_total', trigger=passed.trigger)
        for verb, resource in outcome.applied:
            self.store.count('changes_total', kind=resource.kind, verb=verb)
            if verb == 'deleted' and resource.kind == _STALE:
                self.store.count('stale_chassis_cleanup_total',
                                 result='success')
        self._note_failures(outcome, passed.tracker)
        self._note_drift(outcome, passed.tracker)
        self._note_announcements(passed)
        for name, seconds in outcome.seconds:
            if name in self.backends:
                self.store.observe('backend_apply_seconds', seconds,
                                   backend=name)
        for name, seconds in outcome.readings:
            self.store.observe('backend_read_seconds', seconds, backend=name)
        self._set(**self._of_pass(outcome))
        self._count_objects(passed)

    # -- the parts of a pass ----------------------------------------------

    def _note_failures(self, outcome: outcomes.Outcome,
                       tracker: tracking.Tracker) -> None:
        failing = frozenset(outcome.failures)
        for ref in failing - self._failures:
            if ref.kind == resources.Flow.kind:
                self.store.count('ovs_flow_apply_errors_total',
                                 flow=_flow(ref, tracker))
            elif ref.kind == _STALE:
                self.store.count('stale_chassis_cleanup_total',
                                 result='error')
        self._failures = failing
        unreadable = frozenset(outcome.unreadable)
        for name in unreadable - self._unreadable:
            self.store.count('backend_failures_total', backend=name)
        self._unreadable = unreadable

    def _note_drift(self, outcome: outcomes.Outcome,
                    tracker: tracking.Tracker) -> None:
        for ref in outcome.lost:
            self.store.count('repairs_total', kind=ref.kind)
            if ref.kind in _PLANES:
                self.store.count('route_drift_total', plane=_PLANES[ref.kind])
            elif ref.kind == resources.Flow.kind:
                self.store.count('ovs_flow_drift_total',
                                 flow=_flow(ref, tracker))

    def _note_announcements(self, passed: pass_log.Passed) -> None:
        """Measure from the event to the announcement.

        If a backend still works, a later pass collects the announcements.
        The time of that pass begins with the first event of the wait.
        """
        outcome, woken_at = passed.outcome, passed.woken_at
        if self._woken_at is None or (
                woken_at is not None and woken_at < self._woken_at):
            self._woken_at = woken_at
        announced = any(
            verb == 'created' and
            resource.stage is resources.Stage.ANNOUNCE
            for verb, resource in outcome.applied)
        if announced and self._woken_at is not None and (
                passed.trigger == 'event'):
            self.store.observe('announce_seconds',
                               self._clock() - self._woken_at)
        if self._announcers.isdisjoint(outcome.pending):
            self._woken_at = None
        if passed.takeover not in (None, self._takeover):
            self._takeover = passed.takeover
            self.store.count('takeovers_total')
            self.store.observe('failover_announce_seconds',
                               passed.takeover.seconds)

    def _of_pass(self, outcome: outcomes.Outcome) -> declared.Gauges:
        failed = dict.fromkeys(((kind,) for kind in self.kinds), 0)
        for ref in outcome.failures:
            failed[ref.kind,] = failed.get((ref.kind,), 0) + 1
        return {
            'failed_resources': failed,
            'drivers_broken': len(outcome.broken),
            'left_out': len(outcome.left_out),
            'withdrawals_held': len(outcome.held.subjects),
            'backend_readable': {
                (name,): int(name not in outcome.unreadable)
                for name in self.backends},
            'consecutive_readds': {
                (name,): outcome.streaks.get(name, 0)
                for name in self.backends},
            'last_reconcile_timestamp_seconds': self._wall()}

    def _count_objects(self, passed: pass_log.Passed) -> None:
        """Leave the count to the next pass if this one announces first."""
        outcome = passed.outcome
        self._uncounted.update(outcome.touched)
        self._uncounted_all |= passed.full
        if 'announcing' in outcome.pending:
            return
        if self._uncounted_all:
            self._objects.count_all(passed.tracker)
        elif self._uncounted:
            self._objects.count(passed.tracker, self._uncounted)
        if self._uncounted_all or self._uncounted:
            self._set(**self._objects.gauges)
        self._uncounted, self._uncounted_all = set(), False

    def _set(self, **gauges: declared.Gauge) -> None:
        self.gauges = {**self.gauges, **gauges}


def _flow(ref: resources.Ref, tracker: tracking.Tracker) -> str:
    """The kind of a flow: a value of the label ``flow``."""
    flow = tracker.desired(ref) or tracker.existing(ref)
    return (_FLOWS.get(flow.cookie, 'other')
            if isinstance(flow, resources.Flow) else 'other')


# -- objects that are desired and in place, kept by what changes -----------

# Owner and name.
_Name = tuple[str, str | None]


class _Names:
    """How many objects each name has, and how many names each owner has."""

    def __init__(self) -> None:
        self.objects: collections.Counter[_Name] = collections.Counter()
        self.of: collections.Counter[str] = collections.Counter()

    def change(self, name: _Name | None, number: int) -> None:
        """Count more objects of a name, or fewer; nothing for None."""
        if name is None:
            return
        before = bool(self.objects[name])
        self.objects[name] += number
        self.of[name[0]] += bool(self.objects[name]) - before
        if not self.objects[name]:
            del self.objects[name]

    @property
    def addresses(self) -> int:
        """The number of addresses and prefixes."""
        return self.of.total() - sum(bool(self.count(kind))
                                     for kind in _OTHERS)

    def count(self, kind: str) -> int:
        """The number of objects of one of :data:`_OTHERS`."""
        return self.objects[kind, '']


class Objects:
    """Counts announced addresses by driver, hairpin flows, parts of VNIs."""

    def __init__(self) -> None:
        # Those that have announced something, also if it is gone.
        self._drivers: set[str] = set()
        self._forget()

    def _forget(self) -> None:
        # By object: the name that it counts for, and whether it is in place.
        self._states: dict[resources.Ref, tuple[_Name, bool]] = {}
        self._desired, self._there = _Names(), _Names()

    def count_all(self, tracker: tracking.Tracker) -> None:
        """Count everything again."""
        self._forget()
        self.count(tracker, [r.ref for r in tracker.wanted(_COUNTED)])

    def count(self, tracker: tracking.Tracker,
              refs: Iterable[resources.Ref]) -> None:
        """Count the objects that may have changed."""
        for ref in refs:
            if ref.kind not in _COUNTED:
                continue
            name, is_there = self._states.pop(ref, (None, False))
            self._desired.change(name, -1)
            self._there.change(name, -int(is_there))
            name = _name(tracker.desired(ref), tracker)
            if name is not None:
                self._states[ref] = name, tracker.in_sync(ref)
                self._desired.change(name, 1)
                self._there.change(name, int(tracker.in_sync(ref)))

    @property
    def gauges(self) -> declared.Gauges:
        """The numbers, see :class:`store.Store`."""
        desired, there = self._desired, self._there
        self._drivers.update(desired.of.keys() - {*_OTHERS})
        return {'desired_ips': desired.addresses,
                'announced_ips': there.addresses,
                'announcements': {
                    (driver, state): number for driver in self._drivers
                    for state, number in zip(declared.ANNOUNCEMENTS, (
                        there.of[driver],
                        desired.of[driver] - there.of[driver]), strict=True)},
                'hairpin_flows_desired': desired.count(_FLOW),
                'hairpin_flows_installed': there.count(_FLOW),
                'vnis_desired': _parts(desired),
                'vnis_installed': _parts(there)}


def _parts(names: _Names) -> dict[tuple[str], int]:
    return {(part,): names.count(kind) for kind, part in _VNIS.items()}


def _name(resource: resources.Resource | None,
          tracker: tracking.Tracker) -> _Name | None:
    """One name for all objects of an address, and for each kind of others."""
    if resource is None:
        return None
    if resource.kind in _ANNOUNCING:
        return tracker.driver(resource.ref), resource.subject
    if isinstance(resource, resources.Flow) and (
            resource.cookie != ownership.COOKIE_HAIRPIN):
        return None
    return resource.kind, ''
