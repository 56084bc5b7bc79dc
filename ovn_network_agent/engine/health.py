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

"""The health of each backend after a pass, as frozen values."""

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Repair:
    """Objects of one kind that others removed or changed.

    :ivar kind: name of the kind
    :ivar count: number of objects since the start of the agent
    :ivar last: when the last one was found, seconds since the epoch
    """

    kind: str
    count: int
    last: float


@dataclasses.dataclass(frozen=True, slots=True)
class Health:
    """The known state of one backend.

    :ivar name: name of the backend
    :ivar trouble: text why the backend cannot be read or reached, or ''
    :ivar failed: number of resources that are not as desired
    :ivar reason: the reason of the first of these, or ''
    :ivar working: whether the backend works beside the loop
    :ivar read: when the last successful reading began, seconds since the
        epoch; None before the first one
    :ivar looked: monotonic seconds of the begin of the last reading that has
        ended, well or not; None before the first one
    :ivar retry: monotonic seconds when failed work is tried again, or None
    :ivar repairs: tuple of :class:`Repair`, by kind
    """

    name: str
    trouble: str = ''
    failed: int = 0
    reason: str = ''
    working: bool = False
    read: float | None = None
    looked: float | None = None
    retry: float | None = None
    repairs: tuple = ()

    @property
    def state(self):
        """One word: 'ok', 'failing', 'at work' or 'not read'."""
        if self.trouble or self.failed:
            return 'failing'
        if self.working:
            return 'at work'
        return 'not read' if self.read is None else 'ok'
