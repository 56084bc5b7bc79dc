# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The ports that this chassis has while SB lacks its row; no I/O."""

from collections.abc import Callable
from collections.abc import Container
import time
from typing import Any

# Seconds for ovn-controller to bind the ports after the row's return.
REGISTERING = 10.0


class HeldPorts:
    """Remembers the ports that were here when SB lost this chassis' row.

    No chassis has them then, so nothing says that another took over.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        # Monotonic seconds, None before the return of the row.
        self._until: float | None = None
        # Of router ports and machines' ports.
        self.names: frozenset[str] = frozenset()

    def look(self, own: Any, rows: Container[Any],
             ports: Callable[[], frozenset[str]]) -> None:
        """Compare the former row (UUID) with the present rows of Chassis."""
        if own not in rows:
            self.names |= ports()
            self._until = None
        elif self.names:
            now = self._clock()
            if self._until is None:
                self._until = now + REGISTERING
            if now >= self._until:
                self.names, self._until = frozenset(), None

    def due_in(self) -> float | None:
        """Seconds until the ports are let go, or None."""
        return (None if self._until is None else
                max(0.0, self._until - self._clock()))
