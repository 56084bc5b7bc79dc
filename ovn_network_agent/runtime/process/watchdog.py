# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Signs of life to the supervisor: sd_watchdog_enabled(3).

Only the loop sets the flag that a thread passes on, so a loop that hangs is
silent.
"""

import math
import os
import threading
import time

from oslo_log import log as logging

from ovn_network_agent.runtime.process import notify

LOG = logging.getLogger(__name__)

_MICROSECONDS = 1000000
_AT_MOST = 10  # signs per interval, of the many steps of a pass


class Watchdog:
    """Tells the supervisor that the loop makes progress.

    :param interval: seconds until it takes a silent process for dead, math.inf
        without a supervisor that watches
    """

    def __init__(self, interval: float) -> None:
        # Seconds after which a waiting loop has to call alive.
        self.pause = interval / 2
        self._between = interval / _AT_MOST
        self._sign = threading.Event()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._supervised = interval != math.inf
        self.alive = self._sign.set
        self.last = time.monotonic()  # monotonic seconds

    def also_within(self, seconds: float) -> None:
        """Have signs for readers of :attr:`last`; before :meth:`start`."""
        self.pause = min(self.pause, seconds)
        self._between = min(self._between, seconds / _AT_MOST)

    def start(self) -> None:
        """Begin to pass the signs on, if anybody watches."""
        if self.pause == math.inf or self._thread is not None:
            return
        self._thread = threading.Thread(target=self._pass_on, daemon=True,
                                        name='watchdog')
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._ended.set()
        self._sign.set()
        if self._thread is not None:
            self._thread.join()

    def _pass_on(self) -> None:
        while True:
            self._sign.wait()
            if self._ended.is_set():
                return
            self._sign.clear()
            self.last = time.monotonic()
            if self._supervised:
                notify.notify(WATCHDOG=1)
            self._ended.wait(self._between)


def from_environment() -> Watchdog:
    """The watchdog of WATCHDOG_USEC, if WATCHDOG_PID is this or none."""
    interval = os.environ.get('WATCHDOG_USEC')
    process = os.environ.get('WATCHDOG_PID', str(os.getpid()))
    if interval is None or process != str(os.getpid()):
        return Watchdog(math.inf)
    if not interval.isdecimal() or not int(interval):
        LOG.warning('WATCHDOG_USEC = %r is no number of microseconds, so the '
                    'supervisor gets no watchdog notifications; set '
                    'WatchdogSec= of the unit', interval)
        return Watchdog(math.inf)
    return Watchdog(int(interval) / _MICROSECONDS)
