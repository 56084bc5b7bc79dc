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

"""When to try again what failed."""

import time

FIRST = 1.0
LAST = 60.0


class Retries:
    """Back-off per name: 1 s, doubled up to 60 s, forgotten on success.

    A name is anything hashable.

    :param clock: function that returns monotonic seconds
    """

    def __init__(self, clock=time.monotonic):
        self._clock = clock
        self._delay = {}
        self._due = {}

    def note(self, troubled, everything):
        """Take note of the result of a pass.

        A name that is already waiting keeps its time: passes for other
        reasons neither hurry nor postpone it.

        :param troubled: set of names that failed
        :param everything: set of all names
        """
        for name in everything - troubled:
            self._delay.pop(name, None)
            self._due.pop(name, None)
        for name in troubled - self._due.keys():
            delay = self._delay.get(name, FIRST / 2) * 2
            self._delay[name] = min(delay, LAST)
            self._due[name] = self._clock() + self._delay[name]

    def due_in(self, name=None):
        """Seconds until it is due (0 when past), None if it does not wait.

        :param name: None for the next one of all
        """
        due = (min(self._due.values(), default=None) if name is None else
               self._due.get(name))
        return None if due is None else max(0.0, due - self._clock())

    def waiting(self, name):
        """Whether a name failed and is not due yet."""
        return self._due.get(name, 0.0) > self._clock()

    def forget(self, names):
        """Take names as if they had never failed."""
        for name in names:
            self._delay.pop(name, None)
            self._due.pop(name, None)

    def hasten(self, names):
        """Take names as due; a further failure waits longer still."""
        for name in names:
            self._due.pop(name, None)

    def take_due(self):
        """Names that are due, a list; they count as tried."""
        now = self._clock()
        names = [name for name, due in self._due.items() if due <= now]
        for name in names:
            del self._due[name]
        return names
