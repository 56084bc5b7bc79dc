# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Whether announced routes have taken effect in zebra and bgpd.

FRR accepts a route before it has any effect.  So the changed routes are asked
about half a second later, and all at each full pass, unless the digest of
zebra's counts and of what bgpd has sent is that of a time without faults.

A route that zebra lacks is added again by the next pass.  What is wrong twice
in a row is reported, at pauses that grow until all routes are right: without a
session, all routes of a gateway are wrong.  For an address that bgpd goes on
to keep back, see :mod:`frr_relisting`.
"""

from collections.abc import Callable
from collections.abc import Iterable
import shutil
import threading
import time
import typing
from typing import Any

from oslo_config import cfg
from oslo_log import log as logging

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.common import ip_text
from ovn_network_agent.common import notices
from ovn_network_agent.common import trigger
from ovn_network_agent.frr import effect
from ovn_network_agent.privileged.daemon import context
from ovn_network_agent.privileged.network import netlink
from ovn_network_agent.privileged.routing import bgp
from ovn_network_agent.watches import base
from ovn_network_agent.watches.frr import frr_relisting

LOG = logging.getLogger(__name__)

# Seconds from a change to the first check and on to the second, and the
# longest pause.  In the lab, bgpd sent a route after 0.1 to 0.3 s.
_FIRST = 0.5
_AGAIN = 1.0
_LAST = 30.0
# A check of so few costs little, so a reason ends soon after its cause.
_FEW = 50
_LAST_OF_FEW = 5.0
# Addresses of one question: 10,000 would take 10 MB in daemon and agent.
_PIECE = 500
# Seconds between two repairs of an address that zebra lacks (trap T39).
_REPAIR_INTERVAL = 60.0
_ADDRESS = (notices.kernel('address'),)
# By kind: the protocol in zebra, and the word for doubt about the backend.
_PROTOCOL = {resources.Announcement.kind: 'static',
             resources.AnnouncedRoute.kind: 'kernel'}
_DOUBT = {'static': notices.ZEBRA_STATIC, 'kernel': notices.ZEBRA_KERNEL}


# The protocol of each prefix; whether these are all that changed or were
# wrong; the number of changes so far if they are all announced, else None.
Work: typing.TypeAlias = tuple[dict[str, str], bool, int | None]


def advertised(vrf: str, prefixes: Iterable[str]) -> set[str]:
    """The addresses that BGP has advertised to some neighbour.

    :raises OSError: or others of :data:`context.FAILURES`, when FRR is silent
    """
    _active, known = bgp.read_effect(vrf, sorted(prefixes), True)
    return {prefix for prefix, neighbours in known.items() if neighbours}


class Verification(base.Observer):
    """Asks zebra and bgpd about the announced routes."""

    _trigger: trigger.Trigger

    def __init__(self, conf: cfg.ConfigOpts,
                 clock: Callable[[], float] = time.monotonic,
                 trigger: trigger.Trigger | None = None) -> None:
        self._conf = conf
        self._clock = clock
        self._relisting = frr_relisting.Relisting(conf, clock)
        if trigger is not None:
            self._trigger = trigger
        self._news = threading.Condition()
        self._stopped = False
        self._wanted: dict[str, str] = {}
        # How often the wanted routes changed; Tracker.touches() when full.
        self._changes = 0
        self._touches: int | None = None
        self._pending: set[str] = set()
        # Whether all are to be looked at; what was seen before the last look
        # at all, if it found no fault.
        self._all = False
        self._right: tuple[int, str, str] | None = None
        # Prefixes that were announced or withdrawn during a check.
        self._changed: set[str] = set()
        # Faults of the last check, and those found twice.
        self._suspects: dict[str, str] = {}
        self._certain: dict[str, str] = {}
        # For the changed routes, and for the wrong ones.
        self._due: float | None = None
        self._again_due: float | None = None
        self._delay = _AGAIN
        self._not_before = 0.0
        self.repairs = 0
        # Announced prefixes that were wrong twice, None while unknown.
        self.wrong: int | None = None

    @property
    def counts(self) -> dict[str, int | None]:  # type: ignore[override]
        """The metrics ``nexthop_repairs_total`` and ``inactive_routes``."""
        return {'nexthop_repairs_total': self.repairs,
                'inactive_routes': self.wrong}

    def start(self, trigger: trigger.Trigger) -> None:
        """Start the thread, which checks what the passes have noted."""
        self._trigger = trigger
        threading.Thread(target=self._run, name='frr-verification',
                         daemon=True).start()

    def stop(self) -> None:
        """End the thread; then the number of wrong routes is unknown."""
        with self._news:
            self._stopped = True
            self.wrong = None
            self._news.notify_all()

    # -- what is to be looked at (loop thread) -----------------------------

    def after_pass(self, outcome: base.Outcome, tracker: base.Tracker,
                   full: bool) -> None:
        """Note the changed announcements, or all after a full pass."""
        with self._news:
            for _verb, resource in outcome.applied:
                if resource.kind in _PROTOCOL:
                    # Nothing is wrong with this announcement so far.
                    self._suspects.pop(resource.subject, None)
                    self._changed.add(resource.subject)
            if full:
                # Wrong routes keep their own pace.
                if not self._suspects:
                    self._delay = _AGAIN
                if self._touches != tracker.touches(_PROTOCOL):
                    self._touches = tracker.touches(_PROTOCOL)
                    self._changes += 1
                    self._wanted = {
                        r.subject: _PROTOCOL[r.kind]
                        for r in tracker.wanted(_PROTOCOL)
                        if tracker.in_sync(r.ref)}
                self._look_at_all()
                return
            for verb, resource in outcome.applied:
                if resource.kind in _PROTOCOL:
                    self._note(verb, resource)

    def everything(self) -> None:
        """Check all routes again after a restart of FRR (any thread)."""
        with self._news:
            self._delay = _AGAIN
            self._changes += 1
            self._look_at_all()

    def _note(self, verb: str, resource: Any) -> None:
        self._changes += 1
        if verb == 'deleted':
            # Another method may announce the address at this moment.
            if self._wanted.get(resource.subject) == _PROTOCOL[resource.kind]:
                del self._wanted[resource.subject]
        else:
            self._wanted[resource.subject] = _PROTOCOL[resource.kind]
            self._pending.add(resource.subject)
        self._due = _earlier(self._due, self._clock() + _FIRST)
        self._news.notify_all()

    def _look_at_all(self) -> None:
        self._all = True
        self._again_due = _earlier(self._again_due, self._clock() + _FIRST)
        self._news.notify_all()

    # -- the thread --------------------------------------------------------

    def _run(self) -> None:
        while True:
            work = self._wait()
            if work is None:
                return
            self.look(*work)

    def _wait(self) -> Work | None:
        with self._news:
            while not self._stopped:
                now = self._clock()
                everything = _reached(self._again_due, now)
                if everything or _reached(self._due, now):
                    return self._take(everything)
                due = _earlier(self._due, self._again_due)
                self._news.wait(None if due is None else due - now)
            return None

    def _take(self, everything: bool) -> Work:
        prefixes, self._pending = self._pending, set()
        self._due = None
        if everything:
            self._again_due = None
            prefixes = prefixes | self._suspects.keys()
            if self._all:
                self._all = False
                return dict(self._wanted), True, self._changes
        return {p: self._wanted[p] for p in prefixes
                if p in self._wanted}, everything, None

    def look(self, pending: dict[str, str], everything: bool = True,
             changes: int | None = None) -> None:
        """Check once and report.

        :param pending: the protocol of each prefix
        :param everything: whether these are all that changed or were wrong;
            then the prerequisites of announcing are checked even without a
            fault
        :param changes: so far, if these are all announced prefixes, else None
        """
        right, self._right = self._right, None
        with self._news:
            self._changed.clear()
        try:
            seen = self._see(changes, len(pending))
            known = seen is not None and seen == right
            problems, reasons = self._examine({} if known else pending,
                                              everything)
            if not problems and not reasons and not self._suspects:
                self._right = right if changes is None else seen
            self.wrong = len(self._certain)
        except Exception as error:
            # They are still to be checked.
            text = base.failed_check('The check of what FRR announces', error)
            self.wrong = None
            with self._news:
                problems = {p: kind for p, kind in self._suspects.items()
                            if p in pending}
                self._pending |= pending.keys()
            reasons = (f'what FRR announces cannot be checked: {text}',)
        self._plan(problems, pending, everything, bool(reasons))
        if reasons != self.reasons:
            self.reasons = reasons
            # A backend may wait for this proof.
            self._trigger.fire('announcements checked',
                               revived=(notices.BGP_CHANGED,))

    def _see(self, changes: int | None,
             count: int) -> tuple[int, str, str] | None:
        vrf = self._conf.frr.vrf_name
        if changes is None or not self._conf.frr.bgp_check:
            return None
        digest, lines = bgp.read_effect_digest(vrf)
        return (changes, vrf, digest) if digest and lines >= count else None

    def _examine(self, pending: dict[str, str],
                 everything: bool) -> tuple[dict[str, str], tuple[str, ...]]:
        vrf = self._conf.frr.vrf_name
        asks_bgp = self._conf.frr.bgp_check
        problems: dict[str, str] = {}
        prefixes = sorted(pending)
        for at in range(0, len(prefixes), _PIECE):
            some = prefixes[at:at + _PIECE]
            found = effect.Found(*bgp.read_effect(vrf, some, asks_bgp))
            for prefix in some:
                wrong = effect.problem(prefix, pending[prefix], found,
                                       asks_bgp)
                if wrong is not None:
                    problems[prefix] = wrong
        # zebra and bgpd take a moment, so a problem counts the second time.
        self._certain = {
            **self._others(self._certain, pending),
            **{p: kind for p, kind in problems.items()
               if p in self._suspects}}
        if not self._wanted or not (
                problems or everything or self.reasons):
            return problems, ()
        state = effect.Surroundings(**bgp.read_surroundings(vrf, asks_bgp))
        self._repair({p for p in problems if problems[p] == effect.INACTIVE},
                     {p for p in self._certain
                      if self._certain[p] == effect.INACTIVE},
                     pending, state)
        self._relisting.repair(self._certain, bool(state.established),
                               self._trigger)
        return problems, effect.reasons(self._certain, dict(self._wanted),
                                        state, vrf, self._nexthop)

    def _others(self, faults: dict[str, str],
                pending: dict[str, str]) -> dict[str, str]:
        return {p: kind for p, kind in faults.items()
                if p in self._wanted and p not in pending}

    def _plan(self, problems: dict[str, str], pending: dict[str, str],
              everything: bool, reported: bool) -> None:
        with self._news:
            problems = {p: kind for p, kind in problems.items()
                        if p not in self._changed}
            fresh = problems.keys() - self._suspects.keys()
            self._suspects = {**self._others(self._suspects, pending),
                              **problems}
            if not self._suspects and not reported:
                self._delay = _AGAIN
                return
            now = self._clock()
            if everything or self._again_due is None:
                longest = _LAST_OF_FEW if self.wrong is not None and len(
                    self._suspects) <= _FEW else _LAST
                self._again_due = _earlier(
                    self._again_due, now + min(self._delay, longest))
                self._delay = min(self._delay * 2, longest)
            elif fresh:
                # The second check makes them certain.
                self._pending |= fresh
                self._due = _earlier(self._due, now + _AGAIN)

    @property
    def _nexthop(self) -> str:
        return str(self._conf.veth_leak.veth_nexthop
                   if self._conf.frr.vrf_name else self._conf.bridge_dev)

    # -- repair ------------------------------------------------------------

    def _repair(self, inactive: set[str], certain: set[str],
                pending: dict[str, str], state: effect.Surroundings) -> None:
        new = inactive - self._suspects.keys()
        stale = {_DOUBT[pending[p]] for p in new}
        if stale:
            self._trigger.fire('not in zebra', stale=stale)
        if (certain and self._conf.frr.vrf_name and
                not state.reaches(self._nexthop)):
            self._tell_zebra()

    def _tell_zebra(self) -> None:
        """Set an address again, so that zebra learns its network again."""
        now = self._clock()
        if now < self._not_before:
            return
        self._not_before = now + _REPAIR_INTERVAL
        ends = self._conf.veth_leak
        address = ends.veth_provider_ip or (
            ip_text.address(ends.veth_nexthop) + 1)
        try:
            done = netlink.renew_address(ownership.VETH_PROVIDER,
                                         f'{address}/30')
        except context.FAILURES:
            # The agent's own change would not wake the loop.
            self._trigger.fire('address in doubt', stale=_ADDRESS)
            raise
        if done:
            self.repairs += 1
            LOG.warning('zebra did not know the network of %s on %s: the '
                        'address was set again', address,
                        ownership.VETH_PROVIDER)
            self._trigger.fire('address set again', stale=_ADDRESS)
            self.everything()


def _earlier(*times: float | None) -> float | None:
    return min((time for time in times if time is not None), default=None)


def _reached(due: float | None, now: float) -> bool:
    return due is not None and now >= due


def tools(conf: cfg.ConfigOpts) -> bool:
    """Whether the node has vtysh, or its wrapper, so that FRR can be asked."""
    return bool(shutil.which(
        (conf.frr.vtysh_wrapper.split() or ['vtysh'])[0]))


def announced(conf: cfg.ConfigOpts, prefixes: Iterable[str]) -> set[str]:
    """The addresses known to be announced; runs processes, not for the loop.

    By bgpd with [frr] bgp_check, else by zebra; all with announce_method
    kernel and no FRR tools, as another program announces the kernel's routes.

    :raises OSError: or others of :data:`context.FAILURES`, when FRR fails
    """
    vrf = conf.frr.vrf_name
    if conf.frr.bgp_check:
        return advertised(vrf, prefixes)
    method = conf.fip_route.announce_method
    if method == 'kernel' and not tools(conf):
        return set(prefixes)
    active, _known = bgp.read_effect(vrf, sorted(prefixes), False)
    return {prefix for prefix in prefixes
            if method in active.get(prefix, ())}


def witness(conf: cfg.ConfigOpts) -> str:
    """The begin of a message about an address that is not announced."""
    return 'BGP does not advertise' if conf.frr.bgp_check else (
        'zebra has not selected and installed')
