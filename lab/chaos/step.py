# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""One action as it is carried out: its cloud, parameters and excuses.

The spine knows the loopback of each gateway through BGP, and no agent has to
do with this route.  While the spine lacks the route, no agent can help.
"""

from collections import abc
import threading
import time

from lab import plan
from lab.chaos import values

# Seconds from the return of a session of BGP until the kernels of both sides
# have its routes.
_INSTALLED = 0.5
# Seconds from the death of a session of BGP until the spine misses it at the
# latest: three intervals of BFD of one second (chaos.building), and a look at
# the table.
_MISSED = 3.5
# Seconds from the claim of a port in SB until all chassis send to its new
# owner: each one changes over by itself (decision record 0009).
_SWITCHED = 0.3
# Seconds after a standstill of the machine in which OVN takes living chassis
# for dead, and moves gateway ports to and fro.
_UNREST = 10.0


class Step:
    """What an action gets; its target is a node, or a router."""

    def __init__(self, world, history, target: str, parameters: dict):
        self.world = world
        self.cloud = world.cloud
        self.target = target
        self.parameters = parameters
        self.began = time.monotonic()
        self._history = history
        self._excuses = []
        self._absences = []
        self._claims = []
        self._moved = []
        self._owners = {name: world.owner(name) for name in world.routers}

    def __getitem__(self, name):
        """A parameter."""
        return self.parameters[name]

    @property
    def node(self):
        """The Node of the target."""
        return self.cloud[self.target]

    def hold(self):
        """Let the chosen time pass."""
        time.sleep(self.parameters['seconds'])

    # -- excuses ----------------------------------------------------------

    def through(self, name):
        """Subjects whose packets pass a gateway: its routers, and VIPs."""
        return [one.subject for one in self.world.targets()
                if not one.router or self._owners[one.router] == name]

    def of_router(self, router):
        """Subjects whose packets pass a router."""
        return [one.subject for one in self.world.targets()
                if one.router == router]

    def excuse(self, subjects, since, until, why):
        """Note an excuse."""
        self._excuses += [values.Excuse(subject, since, until, why)
                          for subject in subjects]

    def excuse_absence(self, name, why, outage=None):
        """Excuse the times in which the spine does not know a gateway.

        A session that dies in an outage has died although the spine only
        misses the session after the outage: no packet passes in between.

        :param outage: (since, until), seconds, of what the session needs; the
            session dies at the begin
        """
        self._absences.append((name, why, outage))

    def excuse_claims(self, name, why):
        """Excuse OVN's own failover of the routers of a gateway.

        That is the time from the begin until another chassis has claimed the
        port.
        """
        self._claims += [(router, why) for router, owner in
                         self._owners.items() if owner == name]

    def excuse_moves(self, router, why):
        """Excuse each change of a router's owner, from now on.

        A drain of an agent needs no such excuse: it has to lose nothing.
        """
        self._moved.append((router, time.monotonic(), why))

    def excuses(self) -> tuple[values.Excuse, ...]:
        """All excuses, when the step is settled."""
        for name, why, outage in self._absences:
            for since, until in self._history.absent(name, self.began):
                if outage and since <= max(outage[1], outage[0] + _MISSED):
                    since = min(since, outage[0])
                self.excuse(self.through(name), since, until + _INSTALLED,
                            why)
        moves = self._history.moves(self.began, self.world.routers)
        for router, why in self._claims:
            for at in claims(moves, router)[:1]:
                self.excuse(self.of_router(router), self.began,
                            at + _SWITCHED, why)
        for router, since, why in self._moved:
            self._excuse_times(router, [
                at for at in claims(moves, router) if at >= since], why)
        for since, until in unrest(self._history.stalls(
                self.began - _UNREST)):
            self._excuse_unrest(since, until, moves)
        return tuple(self._excuses)

    def _excuse_unrest(self, since, until, moves):
        """OVN takes living chassis for dead after a standstill."""
        for router in self.world.routers:
            after = [claimed for claimed in claims(moves, router)
                     if since <= claimed <= until]
            if after:
                self.excuse(self.of_router(router), since,
                            after[-1] + _SWITCHED,
                            'OVN moved it because the machine stood still')

    def _excuse_times(self, router, times, why):
        for at in times:
            self.excuse(self.of_router(router), at - _SWITCHED,
                        at + _SWITCHED, why)


def claims(moves: abc.Iterable[values.Move], router):
    """When a router got a new owner, list of seconds."""
    return [move.at for move in moves if move.router == router and move.owner]


def unrest(stalls: list[tuple[float, float]]) -> list:
    """The times in which OVN may move ports because the machine stood still.
    """
    found = []
    for at, length in stalls:
        if found and at - length <= found[-1][1]:
            found[-1] = (found[-1][0], at + _UNREST)
        else:
            found.append((at - length, at + _UNREST))
    return found


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
