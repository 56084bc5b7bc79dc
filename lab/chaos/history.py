# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What the fabric and OVN did by themselves: the base of honest excuses.

The spine knows the loopback of each gateway through BGP, and no agent has to
do with this route.  While the spine lacks the route, no agent can help.
"""

import threading
import time

from lab import plan

# Seconds between two looks at the clock, and those that are a standstill of
# the machine: the host gave the processor to others.
_LOOK, _STALL = 0.05, 0.7


class History:
    """Absences of gateways at the spine, moves in SB, and standstills."""

    def __init__(self, judge):
        self._judge = judge
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True,
                                        name='chaos-history')
        self._stalls = []

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_exc):
        self._end.set()
        self._thread.join()

    def _follow(self):
        last = time.monotonic()
        while not self._end.wait(_LOOK):
            now = time.monotonic()
            if now - last > _STALL:
                self._stalls.append((now, now - last))
            last = now

    def absent(self, name, since: float) -> list[tuple[float, float]]:
        """Begin and end of the times in which the spine lacked a gateway."""
        return absences(list(self._judge.routes.seen), plan.LOOPBACKS[name],
                        since, time.monotonic())

    def stalls(self, since: float) -> list[tuple[float, float]]:
        """Standstills of the machine: their ends, and seconds."""
        return [(at, length) for at, length in list(self._stalls)
                if at >= since]

    def moves(self, since: float, routers) -> tuple:
        """The values.Move of gateway ports of some routers."""
        return tuple(one for one in self._judge.moves(since)
                     if one.router in routers)


def absences(seen, address: str, since: float,
             now: float) -> list[tuple[float, float]]:
    """When the spine had no route to an address; the last may go on now."""
    found, began = [], None
    for at, names in [(at, names) for at, one, names in seen
                      if one == address] + [(now, True)]:
        if not names:
            began = at
        elif began is not None:
            found.append((max(began, since), at))
            began = None
    return [(begin, end) for begin, end in found if end >= since]
