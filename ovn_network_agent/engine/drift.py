# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Drift: the warnings about objects that others removed or changed."""

import collections
import time

from oslo_log import log as logging

from ovn_network_agent import resources
from ovn_network_agent.common import counts
from ovn_network_agent.engine import health
from ovn_network_agent.engine import outcome

LOG = logging.getLogger(__name__)

# Readings in a row, from which on another program manages the objects, too,
# and the operator has to find it (acceptance row FIP-13).
TOO_OFTEN = 3
_NAMED = 5


class Drift:
    """Counts the readings in a row that found drift, and the objects."""

    def __init__(self) -> None:
        self._streaks: collections.Counter[str] = collections.Counter()
        self._repairs: collections.defaultdict[
            str, dict[str, health.Repair]] = collections.defaultdict(dict)

    def note(self, name: str, lost: list[resources.Ref]) -> None:
        """Count a reading of a backend, and log the drift that it found."""
        if not lost:
            self._streaks.pop(name, None)
            return
        repairs = self._repairs[name]
        for kind, count in collections.Counter(
                ref.kind for ref in lost).items():
            before = repairs[kind].count if kind in repairs else 0
            repairs[kind] = health.Repair(kind, before + count, time.time())
        self._streaks[name] += 1
        streak = self._streaks[name]
        named = ', '.join(f'{ref.kind} {outcome.brief(ref.key)}'
                          for ref in lost[:_NAMED])
        if len(lost) > _NAMED:
            named += ', ...'
        objects = counts.of(len(lost), 'object of ours was',
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

    def repairs(self, name: str) -> tuple[health.Repair, ...]:
        """The drift of a backend since the start of the agent, by kind."""
        found = self._repairs.get(name, {})
        return tuple(found[kind] for kind in sorted(found))
