# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Observers beside the loop: their interface, and the thread of their checks.

An observer has a thread, so a hanging daemon delays no pass.  It changes
nothing: it wakes the loop, puts backends in doubt, and reports problems.
"""

import abc
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import math
import threading
import time
import types
import typing
from typing import Any

from oslo_log import log as logging

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.common import trigger
from ovn_network_agent.common import wording
from ovn_network_agent.privileged.daemon import context

LOG = logging.getLogger(__name__)

#: Seconds between two checks, unless a watch wants another pause.
INTERVAL = 1.0
_EARLY = 0.05  # seconds by which a wake-up may be early

_Check: typing.TypeAlias = Callable[[], object]


class Outcome(typing.Protocol):
    """What observers see of an :class:`engine.outcome.Outcome`."""

    @property
    def readings(self) -> Iterable[tuple[str, float]]:
        """The readings whose result has come: the backend, and seconds."""

    @property
    def applied(self) -> Iterable[tuple[str, Any]]:
        """The changes that were made: 'created' or so, and the resource."""

    @property
    def lost(self) -> Sequence[resources.Ref]:
        """Objects that others removed or changed."""


class Tracker(typing.Protocol):
    """What observers see of an :class:`engine.tracking.Tracker`."""

    def touches(self, kinds: Iterable[str]) -> int:
        """See there, as of the other methods."""

    def wanted(self, kinds: Iterable[str]) -> Iterable[Any]:
        """Resources of the classes that belong to the kinds."""

    def in_sync(self, ref: resources.Ref) -> bool:
        """Whether a resource is as desired."""


class Observer(abc.ABC):
    """Checks something beside the loop."""

    # For the status; replaced as a whole, for any thread.  A subclass may have
    # properties instead of these attributes.
    reasons: tuple[str, ...] = ()
    # Whether this node is known not to be able to announce a gateway.
    unfit: bool = False
    # Whether it is unfit only as what lacked is not back for long enough.
    recovers: bool = False
    # Of metrics, None while unknown; replaced as a whole.
    counts: Mapping[str, float | None] = types.MappingProxyType({})

    @abc.abstractmethod
    def start(self, trigger: trigger.Trigger) -> None:
        """Start the thread, which fires the trigger."""

    def check(self) -> object:
        """Find out what a pass of a dry run needs, while the caller waits."""

    def seen(self, snapshot: model.Snapshot) -> None:
        """Note a new view, quickly, because the loop thread waits."""

    def after_pass(self, outcome: Outcome, tracker: Tracker,
                   full: bool) -> None:
        """Note the result of a pass, quickly, because the loop thread waits.

        :param tracker: valid during the call only
        :param full: whether everything was read and compared
        """

    @abc.abstractmethod
    def stop(self) -> None:
        """Tell the thread to end, without a wait; may be called twice."""


class Serving(Observer):
    """Serves clients on a thread of its own, and observes nothing.

    :param name: wakes the loop when the server's problem has changed
    """

    _trigger: trigger.Trigger

    def __init__(self, name: str) -> None:
        self._name = name
        # By a subclass: has start(), stop() and problem; None for no server.
        self._server: Any = None

    @property
    def reasons(self) -> tuple[str, ...]:  # type: ignore[override]
        """The reason why no client can connect."""
        problem = self._server.problem if self._server else ''
        return (problem,) if problem else ()

    def start(self, trigger: trigger.Trigger) -> None:
        """Start the server, if there is one."""
        self._trigger = trigger
        if self._server is not None:
            self._server.start()

    def stop(self) -> None:
        """Stop the server, if there is one."""
        if self._server is not None:
            self._server.stop()

    def _changed(self) -> None:
        self._trigger.fire(self._name)


class Heartbeat(Observer):
    """One thread for checks, at multiples of their pauses on the clock.

    No check may wait for a process.
    """

    def __init__(self,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._stopped = threading.Event()
        # By check: its pause, and the time of the next one.
        self._checks: dict[_Check, tuple[Callable[[], float], float]] = {}
        self._changing = threading.Lock()

    def start(self, trigger: trigger.Trigger) -> None:
        """Start the thread."""
        threading.Thread(target=self._run, name='heartbeat',
                         daemon=True).start()

    def stop(self) -> None:
        """End the checks after the present one, without a wait."""
        self._stopped.set()

    def add(self, check: _Check,
            pause: Callable[[], float] = lambda: INTERVAL) -> None:
        """Make a check from now on.

        :param pause: seconds to the next check, at most :data:`INTERVAL`
        """
        with self._changing:
            self._checks[check] = pause, _following(self._clock(), pause())

    def remove(self, check: _Check) -> None:
        """Make a check no more; it may be under way."""
        with self._changing:
            self._checks.pop(check, None)

    def run_due(self) -> float:
        """Make the due checks; seconds until the next one."""
        now = self._clock()
        with self._changing:
            due = [check for check, (_pause, at) in self._checks.items()
                   if at - now < _EARLY]
        for check in due:
            try:
                check()
            except Exception:
                # The other checks must outlive a bug in one.
                LOG.exception('A check of a watch failed')
        now = self._clock()
        with self._changing:
            for check in self._checks.keys() & set(due):
                pause, _at = self._checks[check]
                self._checks[check] = pause, _following(now, pause())
            return max(0.0, min(
                (at for _pause, at in self._checks.values()),
                default=now + INTERVAL) - now)

    def _run(self) -> None:
        pause = INTERVAL
        while not self._stopped.wait(pause):
            pause = self.run_due()


class Beating(Observer):
    """An observer whose check the heartbeat makes."""

    def __init__(self, heartbeats: Heartbeat) -> None:
        self._heartbeats = heartbeats

    def start(self, trigger: trigger.Trigger) -> None:
        """Start the checks."""
        self._heartbeats.add(self.look, self._pause)

    def stop(self) -> None:
        """End the checks after the present one, without a wait."""
        self._heartbeats.remove(self.look)

    @abc.abstractmethod
    def look(self) -> None:
        """Check once."""

    def _pause(self) -> float:
        """Seconds to the next check, at most :data:`INTERVAL`."""
        return INTERVAL


def _following(now: float, pause: float) -> float:
    return pause * (1 + math.floor((now + _EARLY) / pause))


def failed_check(what: str, error: Exception) -> str:
    """The text of a failed check.

    A bug is also in the log, and must not end the thread of the check.
    """
    if isinstance(error, context.FAILURES):
        return wording.error(error)
    LOG.error('%s failed', what, exc_info=error)
    return wording.typed_error(error)
