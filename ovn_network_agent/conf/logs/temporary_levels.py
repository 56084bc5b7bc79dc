# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""Levels of loggers that an operator has set for some time.

Like loggers they belong to the process.  A reload and the end of the time
restore the former level.
"""

from collections.abc import Callable
import dataclasses
import logging
import threading
import time

LOG = logging.getLogger(__name__)

LEVELS = {'debug': logging.DEBUG, 'info': logging.INFO,
          'warn': logging.WARNING, 'error': logging.ERROR}


@dataclasses.dataclass(slots=True)
class _Changed:
    former: int  # level before, 0 for that of the logger above
    ends: float | None = None  # monotonic seconds, None for no end
    timer: threading.Timer | None = None  # ends it


class Temporary:
    """The levels that are not those of the configuration."""

    def __init__(self) -> None:
        # For a logger elsewhere, too.
        self.follow: Callable[[str, int], object] = lambda name, level: None
        self._lock = threading.Lock()
        self._changed: dict[str, _Changed] = {}

    def set(self, name: str, level: str, seconds: float | None = None) -> None:
        """Set the level of a logger, '' for the root of all.

        :param level: a key of :data:`LEVELS`
        :param seconds: until the former level returns; None: the next reload
        """
        logger = logging.getLogger(name)
        with self._lock:
            changed = self._changed.setdefault(name, _Changed(logger.level))
            if changed.timer is not None:
                changed.timer.cancel()
            changed.timer = changed.ends = None
            if seconds is not None:
                changed.ends = time.monotonic() + seconds
                changed.timer = threading.Timer(seconds, self._end,
                                                (name, changed))
                changed.timer.daemon = True
                changed.timer.start()
            self._give(name, LEVELS[level])

    def undo(self) -> None:
        """Give all loggers their former levels."""
        with self._lock:
            for name in list(self._changed):
                self._undo(name)

    def now(self) -> list[tuple[str, str, float | None]]:
        """The changed loggers: name, name of the level, seconds left."""
        with self._lock:
            return [(name, name_of(logging.getLogger(name).level),
                     None if changed.ends is None else
                     max(0.0, changed.ends - time.monotonic()))
                    for name, changed in sorted(self._changed.items())]

    def _end(self, name: str, changed: _Changed) -> None:
        with self._lock:
            # It may have been set anew in the last moment.
            if self._changed.get(name) is changed and changed.ends and (
                    time.monotonic() >= changed.ends):
                self._undo(name)

    def _undo(self, name: str) -> None:
        changed = self._changed.pop(name)
        if changed.timer is not None:
            changed.timer.cancel()
        self._give(name, changed.former)

    def _give(self, name: str, level: int) -> None:
        logging.getLogger(name).setLevel(level)
        try:
            self.follow(name, level)
        except Exception:
            LOG.exception('The log level of %s was not set everywhere',
                          name or 'all loggers')


temporary = Temporary()


def name_of(level: int) -> str:
    """The name of a level in :data:`LEVELS`, or that of the library."""
    return next((name for name, number in LEVELS.items() if number == level),
                logging.getLevelName(level).lower())
