# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""The time since when each resource has its state.

Pure but for the clocks.  The cost of a pass depends on the resources that it
has changed, and on those that are not in place.  All changes of a pass have
one :class:`Moment` in common, so the memory for a resource is the entry of a
dict.
"""

import collections
import dataclasses
import time


@dataclasses.dataclass(frozen=True, slots=True)
class Moment:
    """The begin of a state.

    :ivar state: :class:`ledger.State`
    :ivar monotonic: monotonic seconds
    :ivar wall: seconds since the epoch
    """

    state: object
    monotonic: float
    wall: float


class Moments:
    """The moment of each key.

    :param clock: function that returns monotonic seconds
    :param wall: function that returns seconds since the epoch
    """

    def __init__(self, clock=time.monotonic, wall=time.time):
        self._clock = clock
        self._wall = wall
        self._known = collections.defaultdict(dict)
        self._unsettled = set()

    def note(self, changed, state_of, settled):
        """Note the states after a pass.

        :param changed: refs whose state may have changed, besides those that
            were not in place after the last pass
        :param state_of: function(:class:`resources.Ref`) that returns the
            :class:`ledger.State`, or None when nothing is known of the key
        :param settled: the state of a resource that is as desired
        """
        made = {}
        now, wall = self._clock(), self._wall()
        unsettled = set()
        for ref in self._unsettled.union(changed):
            state = state_of(ref)
            known = self._known[ref.kind]
            before = known.get(ref.key)
            if state is None:
                known.pop(ref.key, None)
                continue
            if state is not settled:
                unsettled.add(ref)
            if before is None or before.state is not state:
                if state not in made:
                    made[state] = Moment(state, now, wall)
                known[ref.key] = made[state]
        self._unsettled = unsettled

    def moment(self, ref):
        """The :class:`Moment` of a key, or None.

        :param ref: :class:`resources.Ref`
        """
        return self._known.get(ref.kind, {}).get(ref.key)

    def copy(self):
        """The same moments, for another thread."""
        made = Moments(self._clock, self._wall)
        made._known.update({kind: known.copy()
                            for kind, known in self._known.items()})
        return made
