# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""One thread, and one wake-up, for all checks of watches.

Each is due at multiples of its pause on the monotonic clock.
"""

from collections.abc import Callable
import math
import threading
import time
import typing

from oslo_log import log as logging

from ovn_network_agent.common import trigger
from ovn_network_agent.watches import base

LOG = logging.getLogger(__name__)

#: Seconds between two checks, unless a watch wants another pause.
INTERVAL = 1.0
_EARLY = 0.05  # seconds by which a wake-up may be early


_Check: typing.TypeAlias = Callable[[], object]


class Heartbeat(base.Observer):
    """Makes checks at regular moments; none may wait for a process."""

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


def _following(now: float, pause: float) -> float:
    return pause * (1 + math.floor((now + _EARLY) / pause))
