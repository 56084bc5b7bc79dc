# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""OVN SB without this chassis' row, or back after an outage; no I/O."""

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


# Most seconds between an ovn-controller's attempts (Open vSwitch,
# lib/reconnect.c: up to 8 s), and one for the attempt.
RECONNECT = 9.0
# Most seconds to wait: maybe only this agent has lost the database.
BLIND = 20.0


def late_for(connected: bool, changed_at: float | None,
             now: float) -> float:
    """Seconds for which some chassis may not follow a new order, else 0.

    After an outage of SB, each ovn-controller reconnects on its own time:
    compute nodes may send a moved port's packets to the former chassis.

    :param changed_at: monotonic seconds of the last loss or return, or None
    """
    if changed_at is None:
        return 0.0
    return max(0.0, changed_at + (RECONNECT if connected else BLIND) - now)
