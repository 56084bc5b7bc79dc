# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""When everything is compared, and a periodic comparison in parts.

Events need not wait for the end of a comparison: each part is an ordinary
pass.  It reads and compares at once, on the thread of the loop: nothing that
was read before an event counts after it.
"""

from collections.abc import Callable
import dataclasses

from oslo_config import cfg

from ovn_network_agent.common import row_batches
from ovn_network_agent.common import trigger as triggers
from ovn_network_agent.engine import reconciler as reconcilers
from ovn_network_agent.ovn import view

# Seconds from a takeover to the next periodic comparison.  A comparison reads
# everything and starts processes of FRR, which would take the processor from
# zebra and bgpd.  These announce 100 addresses in 0.26 to 0.7 s in the lab.
AFTER_TAKEOVER = 2.0
# Most seconds by which takeovers can delay a periodic comparison.
LATEST = 10.0


@dataclasses.dataclass(frozen=True, slots=True)
class Part:
    """What a pass compares."""

    piece: row_batches.Piece | None = None
    # Names of backends to read.
    reads: tuple[str, ...] = ()
    # Whether former parts have had all pieces of the rows.
    has_seen: bool = False
    # Whether it is the comparison with the first view.
    begins: bool = False
    # Whether the comparison ends with it.
    ends: bool = False
    # Whether all systems are read, and whether all drivers are asked: a
    # periodic comparison asks them only about what differs.
    reads_all: bool = False
    asks_all: bool = False


#: No part of a comparison.
NOTHING = Part()
#: Everything in one pass.
WHOLE = Part(ends=True, reads_all=True, asks_all=True)
#: The comparison with the first view of OVN.  The passes before it have read
#: all systems, and no driver has answered yet.  So this pass compares
#: everything and reads nothing again.
FIRST = Part(begins=True, ends=True)


def parts(state: view.View, reconciler: reconcilers.Reconciler) -> list[Part]:
    """The parts of a comparison that begins now.

    A backend with many objects has a part of its own.  Where there is little
    to compare, one part has everything.
    """
    rows = state.pieces()
    large = tuple(reconciler.backends.large(row_batches.AT_MOST))
    if not rows and not large:
        return [Part(ends=True, reads_all=True)]
    return [*(Part(piece=piece) for piece in rows),
            *(Part(reads=(name,)) for name in large),
            Part(reads=tuple(reconciler.backends.names.difference(large)),
                 has_seen=bool(rows), ends=True)]


class Schedule:
    """When the passes of the loop compare everything, and what each compares.

    All times are monotonic seconds.
    """

    def __init__(self, conf: cfg.ConfigOpts, state: view.View,
                 reconciler: reconcilers.Reconciler,
                 clock: Callable[[], float]) -> None:
        self._conf = conf
        self._view = state
        self._reconciler = reconciler
        self._clock = clock
        # Backends read options themselves, so all systems are read again after
        # a reload.
        self.reloaded = False
        # When the first pass, which reads all systems, was made without OVN.
        self._read_at: float | None = None
        # Nothing is compared before.
        self.next_full = 0.0
        self._periodic = False
        self._compared_from = 0.0
        self._next_not_before = 0.0
        self._quiet_from = 0.0
        # What is left of the periodic comparison that is being made in parts,
        # or None; when it began, and whether an event was served after the
        # last part.
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

        A periodic comparison gives way to a gateway port that moves.  The
        first comparison, and the comparison after a reload, do not.  The pass
        with the first view is the first comparison.  Any pass asks the drivers
        about everything in that view, and the comparison would ask them again.
        """
        if self._view.last is None:
            return True
        gives_way = (urgent and self._periodic and
                     now < self.next_full + LATEST)
        return now >= self.due_at() and not gives_way

    def _is_first(self, now: float, restoring: bool) -> bool:
        """Whether a pass may have the first view, with systems just read.

        When the systems were read long ago, :meth:`_is_full` has them read
        again with the first view.
        """
        return (restoring and not self.reloaded and
                self._read_at is not None and
                now < self._read_at + self._conf.reconcile_interval)

    def part(self, wake: triggers.Wake, now: float, restoring: bool) -> Part:
        """What this pass compares beside its changes.

        A periodic comparison of many objects is made in parts.  An event goes
        first, and then at least one part is made before the next event.  So
        neither waits for the end of the other.
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

        A part that does not end a comparison was made for a reload alone.
        That does not ask all drivers, and so does not put off one that does.
        """
        self.reloaded = False
        ended = self._clock()
        if part.ends:
            self._compared_from = self._parts_from
            # On a slow node, a comparison may take longer than the interval.
            # Then at least as much time is left for other passes.
            self._next_not_before = ended + (ended - self._parts_from)
        elif not self._periodic:
            # The comparison that is due repeats a failed one.
            return
        # After a reload, the present interval counts for the comparison that
        # is already scheduled, too.
        self.compare_at(max(
            self._compared_from + self._conf.reconcile_interval,
            self._next_not_before), periodic=True)

    def taken_over(self, started: float) -> None:
        """Note a pass that announces addresses first, see AFTER_TAKEOVER."""
        if started >= self._quiet_from:
            self._quiet_from = started + AFTER_TAKEOVER
