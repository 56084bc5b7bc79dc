# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Wake-ups of the loop, and their coalescing.

An event carries no data into the agent: it says that something may have
changed, which cached state is in doubt, and whether the change is urgent.
"""

from collections.abc import Callable
from collections.abc import Iterable
import threading
import time
import typing


class Wake(typing.NamedTuple):
    """The reasons of one wake-up of the loop."""

    # Each once, in the order of the events.
    reasons: tuple[str, ...] = ()
    # Words of ovn_network_agent.common.notices, or names of backends.
    stale: frozenset[str] = frozenset()
    # Whether a gateway port moved.
    urgent: bool = False
    # As stale, for systems that have come back: read without a back-off.
    revived: frozenset[str] = frozenset()
    # Monotonic seconds of the first urgent event, else of the first event.
    fired_at: float | None = None


#: The wake-up for a question to the loop, see :meth:`Trigger.ask`.
QUESTION = Wake()


class Trigger:
    """Thread-safe latch between watchers and the loop thread.

    :param coalesce: seconds between two passes under load; an urgent event, or
        an event after a quiet time, wakes the loop at once
    """

    def __init__(self, coalesce: float,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self._coalesce = coalesce
        self._clock = clock
        self._condition = threading.Condition()
        self._reasons: dict[str, None] = {}
        self._stale: set[str] = set()
        self._revived: set[str] = set()
        self._urgent = False
        self._question = False
        # Whether a question was the last wake-up.
        self._answered = False
        self._not_before = 0.0
        self._fired_at: float | None = None

    def fire(self, reason: str, urgent: bool = False,
             stale: Iterable[str] = (), revived: Iterable[str] = ()) -> None:
        """Wake the loop; never blocks, may be called from any thread.

        :param urgent: do not coalesce
        :param stale: words of :mod:`ovn_network_agent.common.notices`, or
            names of backends whose state is in doubt
        :param revived: likewise, of backends whose system has come back
        """
        with self._condition:
            if not self._reasons or (urgent and not self._urgent):
                self._fired_at = self._clock()
            self._reasons[reason] = None
            self._stale.update(stale)
            self._revived.update(revived)
            self._urgent = self._urgent or urgent
            self._condition.notify_all()

    def ask(self) -> None:
        """Wake the loop for a question; never blocks, on any thread.

        No event is coalesced with a question.  An urgent event comes first.
        Other events take turns with questions, so that neither waits for the
        end of the other.
        """
        with self._condition:
            self._question = True
            self._condition.notify_all()

    def wait(self, timeout: float) -> Wake | None:
        """Wait for a wake-up; None after TIMEOUT seconds without one."""
        deadline = self._clock() + timeout
        with self._condition:
            while True:
                now = self._clock()
                due = self._reasons and now >= self._not_before
                if self._question and not self._urgent and not (
                        due and self._answered):
                    self._question, self._answered = False, True
                    return QUESTION
                if due or self._urgent:
                    return self._take(now)
                until = deadline
                if self._reasons:
                    until = min(deadline, self._not_before)
                elif now >= deadline:
                    return None
                if now >= deadline:
                    return None
                self._condition.wait(max(0.0, until - now))

    def _take(self, now: float) -> Wake:
        wake = Wake(tuple(self._reasons), frozenset(self._stale),
                    self._urgent, frozenset(self._revived), self._fired_at)
        self._reasons, self._stale, self._urgent = {}, set(), False
        self._answered = False
        self._revived = set()
        self._not_before = now + self._coalesce
        return wake
