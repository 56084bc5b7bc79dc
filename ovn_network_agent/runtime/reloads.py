# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""Requests for a reload, and the answers to them.

Any thread asks.  The loop thread reloads between two passes, and says when a
pass has carried out what has changed.
"""

import dataclasses
import datetime
import threading

from oslo_log import log as logging

from ovn_network_agent.conf import reload
from ovn_network_agent.conf import validate
from ovn_network_agent.runtime import configuration
from ovn_network_agent.runtime import loader
from ovn_network_agent.runtime import permission

LOG = logging.getLogger(__name__)


class Closed(Exception):
    """The agent stops, and reloads no more."""


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """The result of a reload.

    :ivar at: time, UTC, such as 2026-01-31T12:00:00Z
    :ivar refused: tuple of str: why nothing has changed, empty otherwise
    :ivar changed: tuple of :class:`reload.Change`, in force
    :ivar waiting: tuple of :class:`reload.Change` that need a restart
    """

    at: str
    refused: tuple = ()
    changed: tuple = ()
    waiting: tuple = ()

    def json(self):
        """The answer as a dict of JSON values."""
        return {'at': self.at, 'refused': list(self.refused),
                'changed': [*map(_json, self.changed)],
                'waiting': [*map(_json, self.waiting)]}


def _json(change):
    return {name: getattr(change, name) for name in change.__slots__}


class Reloads:
    """Counts the requests, so that no request gets an earlier answer.

    :param wake: function without arguments that wakes the loop for a reload
    :ivar last: :class:`Answer` of the last reload, None before the first
    """

    def __init__(self, wake):
        self._wake = wake
        self._changed = threading.Condition()
        self._asked = self._taken = self._answered = self._in_force = 0
        self._closed = False
        self.last = None

    # -- on any thread ----------------------------------------------------

    def ask(self):
        """Ask for a reload.

        :returns: number for :meth:`wait`
        """
        with self._changed:
            self._asked += 1
            number = self._asked
        self._wake()
        return number

    def wait(self, number, timeout, in_force=False):
        """Wait for the answer to a request.

        :param number: result of :meth:`ask`
        :param timeout: seconds
        :param in_force: whether to wait for the end of the next complete
            pass, too; a refused reload needs none
        :returns: (:class:`Answer` or None without one in time, whether a
            complete pass has followed)
        :raises Closed: when the agent stops first
        """
        def over():
            return self._closed or self._answered >= number and (
                not in_force or self.last.refused or
                self._in_force >= number)
        with self._changed:
            self._changed.wait_for(over, timeout)
            if self._answered >= number:
                return self.last, self._in_force >= number
            if self._closed:
                raise Closed('the agent stops, and reloads no more')
            return None, False

    @property
    def reasons(self):
        """Why the agent is degraded, a tuple of str."""
        last = self.last
        if last is None or not last.refused:
            return ()
        more = len(last.refused) - 1
        others = f' (and {more} more, see the log)' if more else ''
        return (f'the reload at {last.at} was refused, and the agent would '
                f'not start with these files: {last.refused[0]}{others}',)

    # -- on the loop thread -----------------------------------------------

    def begin(self):
        """Begin to answer all requests so far; False without one."""
        with self._changed:
            self._taken = self._asked
            return self._taken > self._answered

    def take_in(self, conf, renewed):
        """Read the configuration again, and answer.

        :param conf: the oslo.config ConfigOpts
        :param renewed: function(read) that returns the drivers, see
            :mod:`conf.settings`
        :returns: list of drivers, None when the reload is refused
        """
        def prepare(read):
            made = renewed(read)
            permission.ask(conf, read)
            return made

        drivers = None
        at = datetime.datetime.now(datetime.UTC).strftime('%Y-%m-%dT%H:%M:%SZ')
        try:
            done = reload.reload(conf, prepare,
                                 configuration.file_problems)
        except (validate.ConfigError, loader.LoadError) as e:
            LOG.error('The configuration stays as it was: %s', e)
            answer = Answer(at, tuple(getattr(e, 'messages', (str(e),))))
        else:
            drivers = done.prepared
            answer = Answer(at, (), done.changed, done.waiting)
            LOG.info('Reloaded; changed: %s',
                     '; '.join(map(str, done.changed)) or 'nothing')
            for change in done.waiting:
                LOG.warning('This option waits for a restart: %s', change)
        with self._changed:
            self.last = answer
            self._answered = self._taken
            self._changed.notify_all()
        return drivers

    def passed(self):
        """Note that a complete pass with the present options has ended."""
        if self._in_force != self._answered:
            with self._changed:
                self._in_force = self._answered
                self._changed.notify_all()

    def close(self):
        """Answer no request any more, because the agent stops."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
