# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The health of each backend: its last readings, and what drifted."""

import collections
import dataclasses
import time
import typing

from oslo_log import log as logging

from ovn_network_agent import resources
from ovn_network_agent.common import wording
from ovn_network_agent.engine import outcome

LOG = logging.getLogger(__name__)

# Readings in a row, from which on another program manages the objects, too,
# and the operator has to find it (acceptance row FIP-13).
TOO_OFTEN = 3
_NAMED = 5


@dataclasses.dataclass(frozen=True, slots=True)
class Repair:
    """Objects of one kind that others removed or changed."""

    kind: str
    # Since the start of the agent.
    count: int
    # Seconds since the epoch.
    last: float


class Health(typing.NamedTuple):
    """The known state of one backend."""

    name: str
    unreadable: str = ''
    # Resources that are not as desired, and the first one's reason.
    failed: int = 0
    reason: str = ''
    # Beside the loop.
    working: bool = False
    # Begin of the last successful reading, seconds since the epoch.
    read: float | None = None
    # Begin of the last reading that has ended, monotonic seconds.
    looked: float | None = None
    # Of the next attempt, monotonic seconds.
    retry: float | None = None
    # By kind.
    repairs: tuple[Repair, ...] = ()

    @property
    def state(self) -> str:
        """One word: 'ok', 'failing', 'at work' or 'not read'."""
        if self.unreadable or self.failed:
            return 'failing'
        if self.working:
            return 'at work'
        return 'not read' if self.read is None else 'ok'


class Drift:
    """Counts the readings in a row that found drift, and the objects."""

    def __init__(self) -> None:
        self._streaks: collections.Counter[str] = collections.Counter()
        self._repairs: collections.defaultdict[
            str, dict[str, Repair]] = collections.defaultdict(dict)

    def note(self, name: str, lost: list[resources.Ref]) -> None:
        """Count a reading of a backend, and log the drift that it found."""
        if not lost:
            self._streaks.pop(name, None)
            return
        repairs = self._repairs[name]
        for kind, count in collections.Counter(
                ref.kind for ref in lost).items():
            before = repairs[kind].count if kind in repairs else 0
            repairs[kind] = Repair(kind, before + count, time.time())
        self._streaks[name] += 1
        streak = self._streaks[name]
        named = ', '.join(f'{ref.kind} {outcome.brief(ref.key)}'
                          for ref in lost[:_NAMED])
        if len(lost) > _NAMED:
            named += ', ...'
        objects = wording.count(len(lost), 'object of ours was',
                                'objects of ours were')
        text = (f'{objects} removed or changed by others, and restored '
                f'({named})')
        if streak < TOO_OFTEN:
            LOG.warning('%s: %s', name, text)
        else:
            LOG.error('%s: %s, now in %d readings in a row: something else on '
                      'this node manages them, too', name, text, streak)

    @property
    def streaks(self) -> dict[str, int]:
        """The streaks that last, by backend."""
        return dict(self._streaks)

    def repairs(self, name: str) -> tuple[Repair, ...]:
        """The drift of a backend since the start of the agent, by kind."""
        found = self._repairs.get(name, {})
        return tuple(found[kind] for kind in sorted(found))
