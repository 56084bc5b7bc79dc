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


"""The last lines of the log, for a report of a bug, and their number."""

import collections
import logging

# So many lines are kept; a pass with changes writes some dozens.
KEPT = 500
# Characters of one line.
_LONGEST = 2000
# Levels that are counted, and their names.
COUNTED = {logging.WARNING: 'warning', logging.ERROR: 'error',
           logging.CRITICAL: 'critical'}


class LastLog(logging.Handler):
    """Keeps the last records as texts, whatever the other handlers do."""

    def __init__(self):
        super().__init__()
        self.setFormatter(logging.Formatter(
            '%(asctime)s %(process)d %(levelname)s %(name)s %(message)s'))
        self._lines = collections.deque(maxlen=KEPT)
        self._counts = dict.fromkeys(COUNTED, 0)

    def emit(self, record):
        """As in the base class."""
        if record.levelno in self._counts:
            self._counts[record.levelno] += 1
        try:
            self._lines.append(self.format(record)[:_LONGEST])
        except Exception:
            self.handleError(record)

    def attach(self):
        """Listen to the root logger; again after the log was set up anew."""
        root = logging.getLogger()
        if self not in root.handlers:
            root.addHandler(self)

    @property
    def lines(self):
        """The last lines, the newest last, a list; on any thread."""
        with self.lock:
            return list(self._lines)

    @property
    def counts(self):
        """Number of lines so far by name of the level, on any thread."""
        with self.lock:
            return {COUNTED[level]: number
                    for level, number in self._counts.items()}


#: The log of this process.
last_log = LastLog()
