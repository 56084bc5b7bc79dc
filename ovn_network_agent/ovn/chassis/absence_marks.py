# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Which chassis are gone for good, by the marks that they left behind.

A route of a chassis that SB has lacked for long has no agent left to remove
it, so the others do.  Time counts only while SB is connected, in sync and has
this chassis, and anew after a loss.  No I/O.
"""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
import random
import time

from oslo_log import log as logging

from ovn_network_agent import ownership

LOG = logging.getLogger(__name__)

# Most seconds on top of the grace, drawn by each process, so that not all
# agents remove the same route at once.
JITTER = 30.0


class Absence:
    """Remembers since when each chassis has been missing in SB.

    :param jitter: seconds on top of the grace, or None to draw them
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic,
                 jitter: float | None = None) -> None:
        self._clock = clock
        self._jitter = (random.SystemRandom().uniform(0, JITTER)
                        if jitter is None else jitter)
        self._missing: dict[ownership.Owner, float] = {}
        self._session: object = None
        self._due: float | None = None
        # Those that are gone for good.
        self.dead: frozenset[ownership.Owner] = frozenset()

    def look(self, tags: Iterable[ownership.Owner],
             present: Collection[ownership.Owner], session: object,
             grace: float) -> bool:
        """Compare the tags on managed routes with the chassis in SB.

        :param session: differs after each loss of SB, None: not to be trusted
        :param grace: seconds that a host may be missing, 0: for ever
        :returns: whether :attr:`dead` has changed
        """
        counts = session is not None and bool(grace)
        if session != self._session or not counts:
            self._missing.clear()
        self._session = session
        missing = {tag for tag in tags if counts and any(tag) and
                   not known(tag, present)}
        now, before = self._clock(), self.dead
        limit = grace + self._jitter
        self._note(missing, now, limit)
        self.dead = frozenset(
            tag for tag, began in self._missing.items()
            if now >= began + limit)
        self._due = min((began + limit for tag, began in self._missing.items()
                         if tag not in self.dead), default=None)
        return self.dead != before

    def due_in(self) -> float | None:
        """Seconds until the next chassis counts as gone for good."""
        return (None if self._due is None else
                max(0.0, self._due - self._clock()))

    def _note(self, missing: set[ownership.Owner], now: float,
              limit: float) -> None:
        for tag in sorted(self._missing.keys() - missing):
            del self._missing[tag]
            LOG.info('Chassis %s is there again, or has nothing left here',
                     tag)
        for tag in sorted(missing - self._missing.keys()):
            self._missing[tag] = now
            LOG.warning(
                'OVN SB has no chassis %s that answers, and managed rows of '
                'OVN NB have its mark; unless the chassis returns within '
                '%.0f s, they are removed', tag, limit)


def known(tag: ownership.Owner,
          present: Collection[ownership.Owner]) -> bool:
    """Whether a mark is that of a chassis.

    Without its name the host name decides.  The Go program cuts it at the
    first dot, so a short name matches each longer one, both ways.
    """
    if tag.chassis:
        return tag in present or any(
            each.chassis == tag.chassis for each in present)
    short, dot, _domain = tag.hostname.partition('.')
    if dot:
        return any(each.hostname in (tag.hostname, short) for each in present)
    return any(each.hostname.partition('.')[0] == short for each in present)
