# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What the fabric and OVN did by themselves: the base of honest excuses.

The spine knows the loopback of each gateway through BGP, and no agent has to
do with this route.  While the spine lacks the route, no agent can help.
"""

import threading
import time

from lab import moves
from lab import plan
from lab.chaos import values

# Seconds between two looks at the table of the spine.
_LOOK = 0.05
# Seconds between two looks that are a standstill of the machine: the host
# gave the processor to others.
_STALL = 0.7


class History:
    """Follows the gateways' loopbacks on the spine, and owners in SB.

    :ivar absences: dict of gateway to list of [since, until]; until is None
        while the spine lacks the gateway
    """

    def __init__(self, cloud):
        self._cloud = cloud
        self._moves = moves.Moves(cloud)
        self._lock = threading.Lock()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True,
                                        name='chaos-history')
        self._stalls = []
        self.absences = {name: [] for name in cloud.gateways}

    def __enter__(self):
        self._moves.__enter__()
        self._thread.start()
        return self

    def __exit__(self, *exc):
        self._end.set()
        self._thread.join()
        self._moves.__exit__(*exc)

    def _follow(self):
        last = time.monotonic()
        while not self._end.wait(_LOOK):
            known = self._cloud.host_routes().keys()
            now = time.monotonic()
            if now - last > _STALL:
                self._stalls.append((now, now - last))
            last = now
            with self._lock:
                for name, found in self.absences.items():
                    note(found, plan.LOOPBACKS[name] in known, now, _LOOK)

    def absent(self, name, since: float) -> list:
        """Times in which the spine lacked a gateway.

        :returns: list of (since, until); until is now for one that goes on
        """
        now = time.monotonic()
        with self._lock:
            return [(max(began, since), now if until is None else until)
                    for began, until in self.absences[name]
                    if until is None or until >= since]

    def stalls(self, since: float):
        """Standstills of the machine: list of (end, seconds)."""
        return [(at, length) for at, length in list(self._stalls)
                if at >= since]

    def moves(self, since: float, routers: dict) -> tuple[values.Move, ...]:
        """Moves of gateway ports."""
        names = {router.lrp: name for name, router in routers.items()}
        return tuple(values.Move(at, names[lrp], owner)
                     for at, lrp, owner in list(self._moves.seen)
                     if at >= since and lrp in names)


def note(absences: list, present: bool, now: float, step: float):
    """Note one look at the spine.

    :param step: seconds between two looks: the absence may have begun so much
        earlier
    """
    open_one = absences and absences[-1][1] is None
    if present and open_one:
        absences[-1][1] = now
    elif not present and not open_one:
        absences.append([now - step, None])
