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

"""The times at which failed work is tried again."""

import random
import time

FIRST = 1.0
LAST = 60.0


def spread(longest):
    """A random pause, for work that all agents would repeat at once.

    :param longest: seconds, or any other unit
    :returns: between half of that and all of that, float
    """
    return random.SystemRandom().uniform(longest / 2, longest)


class Retries:
    """The back-off of each name: 1 s, doubled up to 60 s, until a success.

    A name is any hashable value.

    :param clock: function that returns monotonic seconds
    :param first: seconds until the first retry
    :param last: most seconds until a retry
    """

    def __init__(self, clock=time.monotonic, first=FIRST, last=LAST):
        self._clock = clock
        self._first = first
        self._last = last
        self._delay = {}
        self._due = {}

    def note(self, troubled, everything):
        """Note the result of a pass.

        A name that already waits keeps its time: passes for other reasons
        neither hurry nor postpone the next attempt.

        :param troubled: set of names that failed
        :param everything: set of all names
        """
        for name in everything - troubled:
            self._delay.pop(name, None)
            self._due.pop(name, None)
        for name in troubled - self._due.keys():
            delay = self._delay.get(name, self._first / 2) * 2
            self._delay[name] = min(delay, self._last)
            self._due[name] = self._clock() + self._delay[name]

    def due_in(self, name=None):
        """Seconds until a name is due (0 when past), None without a wait.

        :param name: a name, None for the earliest of all names
        """
        due = (min(self._due.values(), default=None) if name is None else
               self._due.get(name))
        return None if due is None else max(0.0, due - self._clock())

    def waiting(self, name):
        """Whether a name failed and is not due yet."""
        return self._due.get(name, 0.0) > self._clock()

    def forget(self, names):
        """Treat names as if they had never failed."""
        for name in names:
            self._delay.pop(name, None)
            self._due.pop(name, None)

    def hasten(self, names):
        """Make names due; the wait after a further failure is longer."""
        for name in names:
            self._due.pop(name, None)

    def copy(self):
        """The same times, for another thread."""
        made = Retries(self._clock)
        made._delay.update(self._delay)
        made._due.update(self._due)
        return made

    def take_due(self):
        """The names that are due, a list; they count as tried then."""
        now = self._clock()
        names = [name for name, due in self._due.items() if due <= now]
        for name in names:
            del self._due[name]
        return names
