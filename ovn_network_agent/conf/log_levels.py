# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The levels, the last lines and the counts of the log.

Like loggers they belong to the process.  A reload and the end of the time
restore the former level.
"""

import collections
from collections.abc import Callable
from collections.abc import Iterator
import dataclasses
import io
import logging
import sys
import threading
import time
import traceback

from oslo_config import cfg
from oslo_log import formatters
from oslo_log import log

from ovn_network_agent.common import wording
from ovn_network_agent.conf.options import base

LOG = logging.getLogger(__name__)

LEVELS = {'debug': logging.DEBUG, 'info': logging.INFO,
          'warn': logging.WARNING, 'error': logging.ERROR}


@dataclasses.dataclass(slots=True)
class _Changed:
    previous: int  # level before, 0 for that of the logger above
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
            # It may have been set again in the last moment.
            if self._changed.get(name) is changed and changed.ends and (
                    time.monotonic() >= changed.ends):
                self._undo(name)

    def _undo(self, name: str) -> None:
        changed = self._changed.pop(name)
        if changed.timer is not None:
            changed.timer.cancel()
        self._give(name, changed.previous)

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


class Printable(logging.Filter):
    """Makes the message of each record printable.

    See :func:`wording.indented`: no line of a message looks like a record.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """As in the base class; all records pass."""
        try:
            message = record.getMessage()
        except (TypeError, ValueError):
            # The handler reports arguments that do not fit.
            return True
        if not message.isprintable():
            record.msg, record.args = wording.indented(message), ()
        return True


class Summarized(logging.Formatter):
    """Formats like another formatter, and says nothing twice.

    oslo.log appends the handled exception to lines from WARNING on, and most
    name it already.
    """

    def __init__(self, formatter: logging.Formatter) -> None:
        super().__init__()
        self._formatter = formatter

    def format(self, record: logging.LogRecord) -> str:
        """As in the base class."""
        text = self._formatter.format(record)
        error, message = sys.exc_info()[1], record.getMessage()
        known = wording.indented(str(error or ''))
        if record.exc_info or not known or known not in message:
            return text
        summary = traceback.format_exception_only(error)[0]
        added = ': ' + io.StringIO(summary).readline().rstrip()
        # The message itself may end in the same way.
        return (text.removesuffix(added) if text.endswith(message + added)
                else text)


_printable = Printable()


def apply(conf: cfg.ConfigOpts) -> None:
    """Set the root logger's level; handlers print safely, count and keep.

    To be called after oslo.log's set-up, which drops handlers.
    """
    level = 'debug' if conf.debug else conf.log_level.lower()
    root = logging.getLogger()
    root.setLevel(LEVELS[level])
    for own in last_log, log_counts:
        if own not in root.handlers:
            root.addHandler(own)
    for handler in root.handlers:
        handler.addFilter(_printable)
        if isinstance(handler.formatter, formatters.ContextFormatter):
            handler.setFormatter(Summarized(handler.formatter))


def set_up(conf: cfg.ConfigOpts, previous: str | None) -> None:
    """Set up the log for the values of a reload, or leave it as it was.

    A level set by command ends in any case.  oslo.log's own hook for this
    would register options of the command line.

    :param previous: ``log_config_append`` before the reload
    :raises Exception: what the file of ``log_config_append`` makes the
        standard library raise
    """
    temporary.undo()
    if conf.log_config_append or previous:
        before = [(logger, logger.level, logger.handlers[:], logger.propagate)
                  for logger in _loggers()]
        try:
            log.setup(conf, base.PROJECT, fix_eventlet=False)
        except Exception:
            # The library has removed all handlers by now.
            for logger, level, handlers, propagate in before:
                logger.setLevel(level)
                logger.handlers = handlers
                logger.propagate = propagate
            raise
    apply(conf)


def _loggers() -> Iterator[logging.Logger]:
    yield logging.getLogger()
    for logger in list(logging.Logger.manager.loggerDict.values()):
        if isinstance(logger, logging.Logger):
            yield logger
