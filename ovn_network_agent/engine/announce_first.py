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


"""The order of work after a gateway port has moved here.

Clients get no answer before the addresses are announced.  So an urgent pass
first makes the announcements and their prerequisites.  The resources that
``follow`` wait for a moment, in which the agent leaves the processor to zebra
and bgpd.
"""

import time

# Seconds: zebra and bgpd had sent 100 addresses after 0.06 to 0.1 s, 0.05 s of
# it the pause that bgpd makes before it looks at what is new.
PAUSE = 0.25


class Precedence:
    """Decides whether the resources that follow have to wait.

    :param clock: function that returns monotonic seconds
    """

    def __init__(self, clock=time.monotonic):
        self._clock = clock
        self._until = None

    @property
    def held(self):
        """Whether the resources that follow have to wait."""
        return self._until is not None and self._clock() < self._until

    def hold(self):
        """Begin to wait, because an address has been announced.

        A further announcement does not prolong the wait.
        """
        if self._until is None:
            self._until = self._clock() + PAUSE

    def release(self):
        """End the wait."""
        self._until = None

    def due_in(self):
        """Seconds until the wait ends, None when there is no wait."""
        return (None if self._until is None else
                max(0.0, self._until - self._clock()))
