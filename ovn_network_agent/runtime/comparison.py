# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""When everything is compared, and a periodic comparison in parts.

Each part is an ordinary pass, so events need not wait for the end.  It reads
and compares at once: nothing read before an event counts after it.
"""

from collections.abc import Callable
import typing

from oslo_config import cfg

from ovn_network_agent.common import trigger as triggers
from ovn_network_agent.engine import reconciler as reconcilers
from ovn_network_agent.ovn import queries
from ovn_network_agent.ovn import view

# Seconds from a takeover to the next periodic comparison, whose FRR processes
# would slow zebra and bgpd: 0.26 to 0.7 s for 100 addresses in the lab.
AFTER_TAKEOVER = 2.0
LATEST = 10.0  # most seconds by which takeovers delay a periodic comparison


class Part(typing.NamedTuple):
    """What a pass compares."""

    batch: queries.RowBatch | None = None
    reads: tuple[str, ...] = ()  # names of backends
    has_seen: bool = False  # earlier parts have had all batches of the rows
    begins: bool = False  # with the first view
    ends: bool = False
    # A periodic comparison asks drivers only about what differs.
    reads_all: bool = False
    asks_all: bool = False


NOTHING = Part()
WHOLE = Part(ends=True, reads_all=True, asks_all=True)
#: The comparison with the first view of OVN: the passes before it have read
#: all systems, but no driver has answered yet.
FIRST = Part(begins=True, ends=True)


def parts(state: view.View, reconciler: reconcilers.Reconciler) -> list[Part]:
    """The parts of a comparison that begins now.

    A backend with many objects has its own, unless there is little in all.
    """
    rows = state.batches()
    large = tuple(reconciler.backends.large(queries.BATCH_SIZE))
    if not rows and not large:
        return [Part(ends=True, reads_all=True)]
    return [*(Part(batch=batch) for batch in rows),
            *(Part(reads=(name,)) for name in large),
            Part(reads=tuple(reconciler.backends.names.difference(large)),
                 has_seen=bool(rows), ends=True)]


class Schedule:
    """When passes compare everything, and what; all times are monotonic."""

    def __init__(self, conf: cfg.ConfigOpts, state: view.View,
                 reconciler: reconcilers.Reconciler,
                 clock: Callable[[], float]) -> None:
        self._conf = conf
        self._view = state
        self._reconciler = reconciler
        self._clock = clock
        # Backends read options themselves: a reload makes all be read again.
        self.reloaded = False
        # When the first pass, without OVN, read all systems.
        self._read_at: float | None = None
        self.next_full = 0.0
        self._periodic = False
        self._compared_from = 0.0
        self._next_not_before = 0.0
        self._quiet_from = 0.0
        # What is left of the periodic comparison, if one is being made; its
        # begin, and whether an event was served after the last part.
        self._parts: list[Part] | None = None
        self._parts_from, self._served = 0.0, False

    def read_all(self) -> None:
        """Note a pass without OVN; the first one reads all systems."""
        if self._read_at is None:
            self._read_at = self._clock()

    def due_at(self) -> float:
        """Time of the next full comparison."""
        if not self._periodic:
            return self.next_full
        return min(max(self.next_full, self._quiet_from),
                   self.next_full + LATEST)

    def _is_full(self, urgent: bool, now: float) -> bool:
        """Whether a pass at this time is a full comparison.

        Only a periodic one gives way to a gateway port that moves.  The pass
        with the first view is one: it asks all drivers anyhow.
        """
        if self._view.last is None:
            return True
        gives_way = (urgent and self._periodic and
                     now < self.next_full + LATEST)
        return now >= self.due_at() and not gives_way

    def _is_first(self, now: float, restoring: bool) -> bool:
        """Whether a pass may have the first view, with systems just read.

        After a long time :meth:`_is_full` has them read again.
        """
        return (restoring and not self.reloaded and
                self._read_at is not None and
                now < self._read_at + self._conf.reconcile_interval)

    def part(self, wake: triggers.Wake, now: float, restoring: bool) -> Part:
        """What this pass compares beside its changes.

        Parts and events take turns, so neither waits for the end of the other.
        """
        if self._is_first(now, restoring):
            self._parts_from = now
            return FIRST
        if not self._is_full(wake.urgent, now):
            return NOTHING
        if self.reloaded or not self._periodic:
            self._parts, self._parts_from = None, now
            return WHOLE
        if self._parts is None:
            self._parts = parts(self._view, self._reconciler)
            self._parts_from, self._served = now, False
        if len(self._parts) > 1 and wake.fired_at is not None and (
                not self._served):
            self._served = True
            return NOTHING
        self._served = False
        part, *self._parts = self._parts
        if not self._parts:
            self._parts = None
        return part

    def compare_at(self, when: float, periodic: bool = False) -> None:
        """Have a pass compare everything at a time."""
        self._parts = None
        self.next_full = when
        self._periodic = periodic

    def compared(self, part: Part) -> None:
        """Set the time of the next comparison after one has been made.

        One part for a reload alone does not ask all drivers, and puts off
        none.
        """
        self.reloaded = False
        ended = self._clock()
        if part.ends:
            self._compared_from = self._parts_from
            # A slow node keeps as much time for other passes.
            self._next_not_before = ended + (ended - self._parts_from)
        elif not self._periodic:
            return
        # The present interval counts for a scheduled comparison, too.
        self.compare_at(max(
            self._compared_from + self._conf.reconcile_interval,
            self._next_not_before), periodic=True)

    def taken_over(self, started: float) -> None:
        """Note a pass that announces addresses first, see AFTER_TAKEOVER."""
        if started >= self._quiet_from:
            self._quiet_from = started + AFTER_TAKEOVER
