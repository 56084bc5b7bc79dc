# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""How many lines FRR gets in one transaction.

Each also costs time for the routes that are there, but meanwhile the daemon
answers nobody, and watchfrr restarts it after 10 s (watchfrr(8), --timeout).
"""

from collections.abc import Callable
from collections.abc import Iterator
import time

# Lines at an unknown speed: a route takes 0.2 ms on a common machine, 1.4 ms
# on a very slow one, so within 10 s.
_UNKNOWN = 2500
# seconds for each transaction, by the speed of the one before
_BUSY = 2.0
# by this factor the last may be longer, so that no short one follows
_LAST = 1.25
# seconds that a route takes at least, for a clock that stands
_QUICKEST = 0.0001
# tells the speed: fewer lines take most time for present routes
_TELLING = 1000
# seconds for which a speed counts, as FRR or the machine may be busy
_RECENT = 10.0


class BatchSize:
    """The speed of FRR in the last transactions, by monotonic seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        # seconds for a line, and until when they count
        self._known: tuple[float, float] | None = None

    def forget(self) -> None:
        """Take the speed for unknown, as at the start."""
        self._known = None

    def parts(self, lines: list[str]) -> Iterator[list[str]]:
        """Parts for one transaction each; a caller that does not come back for
        the next one makes the speed unknown.
        """
        while lines:
            size = self._size(len(lines))
            some, lines = lines[:size], lines[size:]
            before, self._known = self._known, None
            began = self._clock()
            yield some
            self._known = before
            self._note(len(some), began)

    def _size(self, left: int) -> int:
        at_most = _UNKNOWN
        if self._known is not None and self._clock() < self._known[1]:
            at_most = max(_UNKNOWN, int(_BUSY / self._known[0]))
        return left if left <= at_most * _LAST else at_most

    def _note(self, count: int, began: float) -> None:
        if count >= _TELLING:
            now = self._clock()
            self._known = (max((now - began) / count, _QUICKEST),
                           now + _RECENT)
