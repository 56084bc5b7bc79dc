# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""The pace of repairs: how often a watch may have the loop repair something.

The first notice of a word wakes the loop at once, further ones half a second
later.  When the repair of one object is undone again and again by another
program, the pauses grow, and the log names the last change.  Repairs of
different objects are no fight.

Readings for another reason than a notice have no pace.
"""

import collections
from collections.abc import Callable
from collections.abc import Container
from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
import threading
import time

from oslo_log import log as logging

from ovn_network_agent import resources
from ovn_network_agent.common import trigger
from ovn_network_agent.watches import base

LOG = logging.getLogger(__name__)

#: Seconds between two repairs for one word, at least and at most.
FIRST = 0.5
LAST = 30.0
#: Repairs of one object in a row that mean another program manages it, too; as
#: in the log about drift (row FIP-13).
FIGHT = 3
# Seconds without repair, beside two pauses, that end a row of repairs.
_IDLE = 10.0
# Seconds in which a repair counts for a notice.  FRR with 10,000 routes is
# read within a second, and a slow FRR has a limit of 10 s.
_BELONGS = 20.0


@dataclasses.dataclass(slots=True)
class _Notices:
    by: str = ''  # text that names the last change, '' when it is not known
    pending: bool = False  # whether a notice waits
    fired: float | None = None  # monotonic seconds
    not_before: float = 0.0  # monotonic seconds
    # Number of repairs in a row, and monotonic seconds of the last one.
    repaired: dict[resources.Ref, tuple[int, float]] = dataclasses.field(
        default_factory=dict)

    def streak(self, now: float) -> int:
        """The longest row of repairs of one object that lasts."""
        self.repaired = {
            ref: (number, at) for ref, (number, at) in self.repaired.items()
            if now - at < _IDLE + 2 * _pause(number)}
        return max((number for number, _at in self.repaired.values()),
                   default=0)

    def repair(self, refs: Sequence[resources.Ref], now: float) -> int:
        """Note a repair; the longest row of repairs of these objects."""
        self.streak(now)
        numbers = [1 + self.repaired.get(ref, (0, now))[0] for ref in refs]
        self.repaired.update(
            (ref, (number, now))
            for ref, number in zip(refs, numbers, strict=True))
        return max(numbers)


def _pause(number: int) -> float:
    """Seconds until the next repair, by the number in a row of one object."""
    return min(LAST, max(FIRST, 2.0 ** (number - FIGHT)))


class RateLimit(base.Observer):
    """Wakes the loop for the notices of watches."""

    _trigger: trigger.Trigger

    def __init__(self, kinds: Callable[[str], Container[str]],
                 clock: Callable[[], float] = time.monotonic) -> None:
        self._kinds = kinds
        self._clock = clock
        self._notices: dict[str, _Notices] = collections.defaultdict(_Notices)
        self._news = threading.Condition()
        self._stopped = False

    def wakes(self, trigger: trigger.Trigger) -> None:
        """Set the trigger of notices that come before the start."""
        self._trigger = trigger

    def start(self, trigger: trigger.Trigger) -> None:
        """Start the thread that fires postponed notices."""
        self.wakes(trigger)
        threading.Thread(target=self._run, name='rate-limit',
                         daemon=True).start()

    def stop(self) -> None:
        """End the thread; postponed notices are lost."""
        with self._news:
            self._stopped = True
            self._news.notify_all()

    def notice(self, word: str, by: str = '') -> None:
        """Put backends in doubt, at once or after a pause (any thread)."""
        with self._news:
            known = self._notices[word]
            known.by = by or known.by
            known.pending = True
            self._fire_due()
            self._news.notify_all()

    def fire(self, reason: str, urgent: bool = False,
             stale: Iterable[str] = ()) -> None:
        """Wake the loop for rows of a database, as :class:`trigger.Trigger`.

        The agent's own changes come back this way, and takeovers must not
        wait: only words in a fight have pauses, and urgent events never.
        """
        with self._news:
            now = self._clock()
            held = set() if urgent else {
                word for word in stale
                if self._notices[word].streak(now) >= FIGHT}
            for word in held:
                self._notices[word].pending = True
                self._notices[word].by = reason
            for word in set(stale) - held:
                self._notices[word].fired = now
                self._notices[word].by = reason
            self._trigger.fire(reason, urgent=urgent,
                               stale=set(stale) - held)
            self._fire_due()
            self._news.notify_all()

    def after_pass(self, outcome: base.Outcome, tracker: base.Tracker,
                   full: bool) -> None:
        """Note the repairs of a pass for the notices that caused the pass.

        :data:`FIGHT` repairs of an object in a row are logged as an error.
        """
        if not outcome.lost:
            return
        now = self._clock()
        with self._news:
            for word, known in self._notices.items():
                if known.fired is None or now - known.fired >= _BELONGS:
                    continue
                kinds = self._kinds(word)
                refs = [ref for ref in outcome.lost if ref.kind in kinds]
                if refs:
                    self._repaired(word, known, refs, now)

    def _repaired(self, word: str, known: _Notices,
                  refs: Sequence[resources.Ref], now: float) -> None:
        streak = known.repair(refs, now)
        known.not_before = now + _pause(streak)
        if streak >= FIGHT:
            LOG.error('%s: repaired %d times in a row, and others go on to '
                      'undo it; the next repair waits for %g s at least. '
                      'Last change: %s', word, streak, _pause(streak),
                      known.by or 'by an unknown program')

    def _run(self) -> None:
        with self._news:
            while not self._stopped:
                self._news.wait(self._fire_due())

    def _fire_due(self) -> float | None:
        """Wake the loop for due notices; seconds until the next, or None."""
        now = self._clock()
        due = [word for word, known in self._notices.items()
               if known.pending and known.not_before <= now]
        for word in due:
            known = self._notices[word]
            known.pending = False
            known.fired = now
            known.not_before = now + FIRST
            self._trigger.fire(word, stale=(word,))
        return min((known.not_before - now for known in self._notices.values()
                    if known.pending), default=None)
