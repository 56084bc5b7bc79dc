# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""[DEFAULT] log_level; oslo.log itself has only the option debug."""

from collections.abc import Iterator
import io
import logging
import sys
import traceback

from oslo_config import cfg
from oslo_log import formatters
from oslo_log import log

from ovn_network_agent.common import control_characters
from ovn_network_agent.conf.logs import last_log
from ovn_network_agent.conf.logs import log_counts
from ovn_network_agent.conf.logs import temporary_levels
from ovn_network_agent.conf.options import base


class Printable(logging.Filter):
    """Makes the message of each record printable.

    See :mod:`control_characters`: no line of a message looks like a record.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """As in the base class; all records pass."""
        try:
            message = record.getMessage()
        except (TypeError, ValueError):
            # The handler reports arguments that do not fit.
            return True
        if not message.isprintable():
            record.msg, record.args = control_characters.lines(message), ()
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
        known = control_characters.lines(str(error or ''))
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
    root.setLevel(temporary_levels.LEVELS[level])
    for own in last_log.last_log, log_counts.log_counts:
        if own not in root.handlers:
            root.addHandler(own)
    for handler in root.handlers:
        handler.addFilter(_printable)
        if isinstance(handler.formatter, formatters.ContextFormatter):
            handler.setFormatter(Summarized(handler.formatter))


def set_up(conf: cfg.ConfigOpts, former: str | None) -> None:
    """Set up the log for the values of a reload, or leave it as it was.

    A level set by command ends in any case.  oslo.log's own hook for this
    would register options of the command line.

    :param former: ``log_config_append`` before the reload
    :raises Exception: what the file of ``log_config_append`` makes the
        standard library raise
    """
    temporary_levels.temporary.undo()
    if conf.log_config_append or former:
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
