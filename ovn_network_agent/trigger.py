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

"""Wake-ups of the loop and how they are coalesced.

Events carry no data into the agent: they say that something may have
changed, what cached state that puts in doubt, and whether it is urgent.
"""

import dataclasses
import threading
import time


@dataclasses.dataclass(frozen=True, slots=True)
class Wake:
    """Why the loop was woken.

    :ivar reasons: tuple of str, in the order they came, each once
    :ivar stale: frozenset of words of :mod:`ovn_network_agent.notices`, or
        names of backends: what is to be read again
    :ivar urgent: True when a gateway moved
    :ivar revived: likewise, what has come back: it is read again whatever
        its back-off says
    :ivar since: monotonic seconds when the first of the reasons came up, the
        first urgent one if there is any; None when there was none
    """

    reasons: tuple = ()
    stale: frozenset = frozenset()
    urgent: bool = False
    revived: frozenset = frozenset()
    since: float | None = None


class Trigger:
    """Thread-safe latch between watchers and the loop thread.

    :param coalesce: seconds between two passes under load; an event after
        a quiet time and an urgent one are handed out at once
    :param clock: function that returns monotonic seconds
    """

    def __init__(self, coalesce, clock=time.monotonic):
        self._coalesce = coalesce
        self._clock = clock
        self._condition = threading.Condition()
        self._reasons = {}
        self._stale = set()
        self._revived = set()
        self._urgent = False
        self._not_before = 0.0
        self._since = None

    def fire(self, reason, urgent=False, stale=(), revived=()):
        """Wake the loop; never blocks, may be called from any thread.

        :param reason: short text for the log
        :param urgent: do not coalesce
        :param stale: words of :mod:`ovn_network_agent.notices`, or names of
            backends: whose state is in doubt
        :param revived: likewise, whose system has come back
        """
        with self._condition:
            if not self._reasons or (urgent and not self._urgent):
                self._since = self._clock()
            self._reasons[reason] = None
            self._stale.update(stale)
            self._revived.update(revived)
            self._urgent = self._urgent or urgent
            self._condition.notify_all()

    def wait(self, timeout):
        """Wait for a wake-up.

        :param timeout: seconds, at the most
        :returns: :class:`Wake`, or None when the time passed without one
        """
        deadline = self._clock() + timeout
        with self._condition:
            while True:
                now = self._clock()
                if self._reasons and (self._urgent or
                                      now >= self._not_before):
                    return self._take(now)
                until = deadline
                if self._reasons:
                    until = min(deadline, self._not_before)
                elif now >= deadline:
                    return None
                if now >= deadline:
                    return None
                self._condition.wait(max(0.0, until - now))

    def _take(self, now):
        wake = Wake(tuple(self._reasons), frozenset(self._stale),
                    self._urgent, frozenset(self._revived), self._since)
        self._reasons, self._stale, self._urgent = {}, set(), False
        self._revived = set()
        self._not_before = now + self._coalesce
        return wake
