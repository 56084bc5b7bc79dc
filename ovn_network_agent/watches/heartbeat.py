# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""One thread for all checks that a watch makes once a second.

A thread for each watch would wake the processor once a second each.  The
checks here share a wake-up: each is due at the whole multiples of its pause on
the monotonic clock.
"""

import math
import threading
import time

from oslo_log import log as logging

from ovn_network_agent.watches import base

LOG = logging.getLogger(__name__)

#: Seconds between two checks, unless a watch wants another pause.
INTERVAL = 1.0
# Seconds by which the clock may be before the moment that was waited for.
_EARLY = 0.05


class Heartbeat(base.Observer):
    """Makes checks at regular moments.

    A check must not wait for another process, because the others wait then.

    :param clock: function that returns monotonic seconds
    """

    def __init__(self, clock=time.monotonic):
        self._clock = clock
        self._stopped = threading.Event()
        # From a check to its pause, and to the time of the next one.
        self._checks = {}
        self._changing = threading.Lock()

    def start(self, trigger):
        """Start the thread.

        :param trigger: not needed, because the checks wake the loop
        """
        threading.Thread(target=self._run, name='heartbeat',
                         daemon=True).start()

    def stop(self):
        """End the checks after the present one, without a wait."""
        self._stopped.set()

    def add(self, check, pause=lambda: INTERVAL):
        """Make a check from now on.

        :param check: function without arguments
        :param pause: function without arguments that returns the seconds to
            the next check, at most :data:`INTERVAL`
        """
        with self._changing:
            self._checks[check] = pause, _following(self._clock(), pause())

    def remove(self, check):
        """Make a check no more; it may be under way."""
        with self._changing:
            self._checks.pop(check, None)

    def beat(self):
        """Make the checks that are due.

        :returns: seconds until the next one is due
        """
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

    def _run(self):
        pause = INTERVAL
        while not self._stopped.wait(pause):
            pause = self.beat()


def _following(now, pause):
    """The next moment for a check, in monotonic seconds."""
    return pause * (1 + math.floor((now + _EARLY) / pause))
