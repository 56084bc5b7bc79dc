# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""The last lines of the log, for a report of a bug."""

import collections
import logging

KEPT = 500  # lines; a pass with changes writes dozens
_LONGEST = 2000  # characters of a line


class LastLog(logging.Handler):
    """Keeps the last records as texts, whatever the other handlers do."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter(
            '%(asctime)s %(process)d %(levelname)s %(name)s %(message)s'))
        self._lines: collections.deque[str] = collections.deque(
            maxlen=KEPT)

    def emit(self, record: logging.LogRecord) -> None:
        """As in the base class."""
        try:
            self._lines.append(self.format(record)[:_LONGEST])
        except Exception:
            self.handleError(record)

    @property
    def lines(self) -> list[str]:
        """The last lines, the newest last; on any thread."""
        # Handler.createLock() has made the lock.
        with self.lock:  # type: ignore[union-attr]
            return list(self._lines)


last_log = LastLog()
