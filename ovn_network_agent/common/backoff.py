# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The times at which failed work is tried again."""

from collections.abc import Callable
from collections.abc import Hashable
from collections.abc import Iterable
from collections.abc import Set
import random
import time

FIRST = 1.0
LAST = 60.0


def spread(longest: float) -> float:
    """A random part, at least half, of the seconds of a pause.

    All agents would repeat their work at once otherwise.
    """
    return random.SystemRandom().uniform(longest / 2, longest)


class Retries:
    """The back-off of each name: FIRST to LAST seconds, doubled each time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic,
                 first: float = FIRST, last: float = LAST) -> None:
        self._clock = clock
        self._first = first
        self._last = last
        self._delay: dict[Hashable, float] = {}
        self._due: dict[Hashable, float] = {}

    def note(self, troubled: Set[Hashable], everything: Set[Hashable]) -> None:
        """Note the result of a pass.

        A name that already waits keeps its time: passes for other reasons
        neither hurry nor postpone the next attempt.
        """
        for name in everything - troubled:
            self._delay.pop(name, None)
            self._due.pop(name, None)
        for name in troubled - self._due.keys():
            delay = self._delay.get(name, self._first / 2) * 2
            self._delay[name] = min(delay, self._last)
            self._due[name] = self._clock() + self._delay[name]

    def due_in(self, name: Hashable = None) -> float | None:
        """Seconds until a name, or the earliest of all, is due (0 when past).

        None without a wait.
        """
        due = (min(self._due.values(), default=None) if name is None else
               self._due.get(name))
        return None if due is None else max(0.0, due - self._clock())

    def waiting(self, name: Hashable) -> bool:
        """Whether a name failed and is not due yet."""
        return self._due.get(name, 0.0) > self._clock()

    def forget(self, names: Iterable[Hashable]) -> None:
        """Treat names as if they had never failed."""
        for name in names:
            self._delay.pop(name, None)
            self._due.pop(name, None)

    def hasten(self, names: Iterable[Hashable]) -> None:
        """Make names due; the wait after a further failure is longer."""
        for name in names:
            self._due.pop(name, None)

    def copy(self) -> 'Retries':
        """The same times, for another thread."""
        made = Retries(self._clock)
        made._delay.update(self._delay)
        made._due.update(self._due)
        return made

    def take_due(self) -> list[Hashable]:
        """The names that are due; they count as tried then."""
        now = self._clock()
        names = [name for name, due in self._due.items() if due <= now]
        for name in names:
            del self._due[name]
        return names
