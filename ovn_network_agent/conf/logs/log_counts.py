# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The number of lines in the log, by level, for the metrics."""

import logging

COUNTED = {logging.WARNING: 'warning', logging.ERROR: 'error',
           logging.CRITICAL: 'critical'}


class LogCounts(logging.Handler):
    """Counts the records, whatever the other handlers do."""

    def __init__(self) -> None:
        super().__init__()
        self._counts = dict.fromkeys(COUNTED, 0)

    def emit(self, record: logging.LogRecord) -> None:
        """As in the base class."""
        if record.levelno in self._counts:
            self._counts[record.levelno] += 1

    @property
    def counts(self) -> dict[str, int]:
        """The number of lines so far by the level's name; on any thread."""
        # Handler.createLock() has made the lock.
        with self.lock:  # type: ignore[union-attr]
            return {COUNTED[level]: number
                    for level, number in self._counts.items()}


log_counts = LogCounts()
