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


"""What comes first when a gateway has moved, and when the rest comes.

Nobody gets an answer before the addresses are announced.  So an urgent pass
makes what announcements need, and these; what follows waits for a moment, in
which zebra and bgpd have the processor to themselves as far as we go.
"""

import time

# Seconds: zebra and bgpd had sent 100 addresses after 0.06 to 0.1 s, 0.05 s of
# it the pause that bgpd makes before it looks at what is new.
PAUSE = 0.25


class Precedence:
    """Whether there is reason to wait with what follows.

    :param clock: function that returns monotonic seconds
    """

    def __init__(self, clock=time.monotonic):
        self._clock = clock
        self._until = None

    @property
    def held(self):
        """Whether what follows has to wait."""
        return self._until is not None and self._clock() < self._until

    def hold(self):
        """Have it wait: something has been announced.

        Not for longer when there is more, or it might wait for ever.
        """
        if self._until is None:
            self._until = self._clock() + PAUSE

    def release(self):
        """Have it wait no longer."""
        self._until = None

    def due_in(self):
        """Seconds until it need not wait any longer, None if it does not."""
        return (None if self._until is None else
                max(0.0, self._until - self._clock()))
