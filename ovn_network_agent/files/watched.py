# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The values of a file that are in force, kept up to date."""

from collections.abc import Callable
from typing import Any

from oslo_log import log as logging

from ovn_network_agent import trigger as triggers
from ovn_network_agent.files import flaws
from ovn_network_agent.files import watcher

LOG = logging.getLogger(__name__)


class Watched:
    """Follows a file beside the loop, because a large file takes seconds.

    A file that cannot be used changes nothing.

    :param put: puts the values in force; called once at the start, and then on
        the watcher's thread
    :param kept: what stays as it was, in messages
    :raises flaws.BadFile: when the file cannot be used at the start
    """

    def __init__(self, path: Callable[[], str], load: Callable[[], Any],
                 put: Callable[[Any], None], kept: str,
                 interval: float = watcher.INTERVAL) -> None:
        self._path = path
        self._load = load
        self._put = put
        self._kept = kept
        self._trigger: triggers.Trigger | None = None
        self._messages: tuple[str, ...] = ()
        # Why newer values are not in force.
        self.reasons: tuple[str, ...] = ()
        self._watcher = watcher.Watcher(path, self.take, interval)
        put(load())

    def start(self, trigger: triggers.Trigger) -> None:
        """Begin to follow the file.

        :param trigger: fired after each change
        """
        self._trigger = trigger
        self._watcher.start()

    def stop(self) -> None:
        """End this, without a wait; may be called twice."""
        self._watcher.stop()

    def reread(self) -> None:
        """Read the file again, on the watcher's thread."""
        self._watcher.again()

    def take(self) -> None:
        """Put the present file in force, if it can be used."""
        try:
            values = self._load()
        except flaws.BadFile as error:
            self._refuse(error.messages)
        except Exception as error:
            # A bug in the parser must not end the thread; the values stay.
            LOG.exception('The file %s could not be taken in', self._path())
            self._refuse((f'{self._path()}: {type(error).__name__}: {error}',))
        else:
            if self._messages:
                LOG.info('The file %s can be used again', self._path())
            self._messages, self.reasons = (), ()
            self._put(values)
        if self._trigger is not None:
            self._trigger.fire(f'file of {self._kept}')

    def _refuse(self, messages: tuple[str, ...]) -> None:
        if messages != self._messages:
            LOG.error('The %s stay as they were: %s', self._kept,
                      '\n'.join(messages))
        self._messages = messages
        self.reasons = (f'the {self._kept} stay as they were: '
                        f'{flaws.first(messages)}',)
