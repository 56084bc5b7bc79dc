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


"""The last lines of the log, for a report of a bug."""

import collections
import logging

# So many lines are kept; a pass with changes writes some dozens.
KEPT = 500
# Characters of one line.
_LONGEST = 2000


class LastLog(logging.Handler):
    """Keeps the last records as texts, whatever the other handlers do."""

    def __init__(self):
        super().__init__()
        self.setFormatter(logging.Formatter(
            '%(asctime)s %(process)d %(levelname)s %(name)s %(message)s'))
        self._lines = collections.deque(maxlen=KEPT)

    def emit(self, record):
        """As in the base class."""
        try:
            self._lines.append(self.format(record)[:_LONGEST])
        except Exception:
            self.handleError(record)

    @property
    def lines(self):
        """The last lines, the newest last, a list; on any thread."""
        with self.lock:
            return list(self._lines)


#: The log of this process.
last_log = LastLog()
