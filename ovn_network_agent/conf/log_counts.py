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

"""The number of lines in the log, by level, for the metrics."""

import logging

# Levels that are counted, and their names.
COUNTED = {logging.WARNING: 'warning', logging.ERROR: 'error',
           logging.CRITICAL: 'critical'}


class LogCounts(logging.Handler):
    """Counts the records, whatever the other handlers do."""

    def __init__(self):
        super().__init__()
        self._counts = dict.fromkeys(COUNTED, 0)

    def emit(self, record):
        """As in the base class."""
        if record.levelno in self._counts:
            self._counts[record.levelno] += 1

    @property
    def counts(self):
        """dict of a level's name to the number of lines so far.

        The call may come on any thread.
        """
        with self.lock:
            return {COUNTED[level]: number
                    for level, number in self._counts.items()}


#: The numbers of this process.
log_counts = LogCounts()
