# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The time since when each resource has its state.

Pure but for the clocks.  The cost of a pass follows from what it has changed
and what is not in place; its changes share one :class:`StateTime`, so the
memory for a resource is the entry of a dict.
"""

import collections
from collections.abc import Callable
from collections.abc import Iterable
import dataclasses
import time

from ovn_network_agent import resources
from ovn_network_agent.engine import ledger
from ovn_network_agent.resources import base


@dataclasses.dataclass(frozen=True, slots=True)
class StateTime:
    """The begin of a state."""

    state: ledger.State
    # Seconds.
    monotonic: float
    # Seconds since the epoch.
    wall: float


class StateTimes:
    """When each key got its present state."""

    def __init__(self, clock: Callable[[], float] = time.monotonic,
                 wall: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._wall = wall
        self._known: collections.defaultdict[
            str, dict[base.Key, StateTime]] = collections.defaultdict(dict)
        self._unsettled: set[resources.Ref] = set()

    def note(self, changed: Iterable[resources.Ref],
             state_of: Callable[[resources.Ref], ledger.State | None]
             ) -> None:
        """Note the states after a pass.

        :param changed: whose state may have changed, besides those that were
            not in place after the last pass
        :param state_of: returns None when nothing is known of the key
        """
        made: dict[ledger.State, StateTime] = {}
        now, wall = self._clock(), self._wall()
        unsettled = set()
        for ref in self._unsettled.union(changed):
            state = state_of(ref)
            known = self._known[ref.kind]
            before = known.get(ref.key)
            if state is None:
                known.pop(ref.key, None)
                continue
            if state is not ledger.State.IN_PLACE:
                unsettled.add(ref)
            if before is None or before.state is not state:
                if state not in made:
                    made[state] = StateTime(state, now, wall)
                known[ref.key] = made[state]
        self._unsettled = unsettled

    def get(self, ref: resources.Ref) -> StateTime | None:
        """When a key got its present state, None if that is unknown."""
        return self._known.get(ref.kind, {}).get(ref.key)

    def copy(self) -> 'StateTimes':
        """The same times, for another thread."""
        made = StateTimes(self._clock, self._wall)
        made._known.update({kind: known.copy()
                            for kind, known in self._known.items()})
        return made
