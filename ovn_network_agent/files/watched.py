# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The values of a file that are in force, kept up to date.

A file that is written in place is incomplete for a moment, and still YAML.  So
the watcher checks it once a second, and reads it after two equal checks.  Each
check follows links, because Kubernetes changes the target of a link, and some
editors replace the file.
"""

from collections.abc import Callable
import os
import threading
from typing import Any

from oslo_log import log as logging

from ovn_network_agent.common import trigger as triggers
from ovn_network_agent.files import file_problems

LOG = logging.getLogger(__name__)

INTERVAL = 1.0


def mark(path: str) -> tuple[object, ...]:
    """A value that differs when a file may have changed."""
    try:
        found = os.stat(path)
    except OSError as error:
        return path, error.errno
    return (path, found.st_dev, found.st_ino, found.st_size,
            found.st_mtime_ns, found.st_ctime_ns)


class Watcher:
    """Checks one file once in an interval of seconds.

    :param changed: called on the watcher's thread
    """

    def __init__(self, path: Callable[[], str], changed: Callable[[], None],
                 interval: float = INTERVAL) -> None:
        self._path = path
        self._changed = changed
        self._interval = interval
        self._stopping = False
        self._wanted = False
        self._condition = threading.Condition()
        self._thread: threading.Thread | None = None
        # The first reading comes later, so it is at least as new.
        self._taken = self._last = mark(path())

    def start(self) -> None:
        """Start the thread."""
        self._thread = threading.Thread(target=self._run, daemon=True,
                                        name='watched-file')
        self._thread.start()

    def stop(self) -> None:
        """Tell the thread to end, without a wait; may be called twice."""
        with self._condition:
            self._stopping = True
            self._condition.notify_all()

    def run_now(self) -> None:
        """Make the thread call ``changed`` now; returns at once."""
        with self._condition:
            self._wanted = True
            self._condition.notify_all()

    def _run(self) -> None:
        while True:
            with self._condition:
                self._condition.wait_for(
                    lambda: self._stopping or self._wanted, self._interval)
                if self._stopping:
                    return
                wanted, self._wanted = self._wanted, False
            self.look(wanted)

    def look(self, wanted: bool = False) -> None:
        """Check once; call ``changed`` in any case if WANTED."""
        now = mark(self._path())
        rests, self._last = now == self._last, now
        if not wanted and (now == self._taken or not rests):
            return
        self._taken = now
        try:
            self._changed()
        except Exception:
            # A bug must not end the thread.
            LOG.exception('The change of %s was not taken in', now[0])


class Watched:
    """Follows a file beside the loop, because a large file takes seconds.

    A file that cannot be used changes nothing.

    :param put: puts the values in force; called once at the start, and then on
        the watcher's thread
    :param kept: what stays as it was, in messages
    :raises file_problems.BadFile: when the file cannot be used at the start
    """

    def __init__(self, path: Callable[[], str], load: Callable[[], Any],
                 put: Callable[[Any], None], kept: str,
                 interval: float = INTERVAL) -> None:
        self._path = path
        self._load = load
        self._put = put
        self._kept = kept
        self._trigger: triggers.Trigger | None = None
        self._messages: tuple[str, ...] = ()
        # Why newer values are not in force.
        self.reasons: tuple[str, ...] = ()
        self._watcher = Watcher(path, self.take, interval)
        put(load())

    def start(self, trigger: triggers.Trigger) -> None:
        """Begin to follow the file; each change fires the trigger."""
        self._trigger = trigger
        self._watcher.start()

    def stop(self) -> None:
        """End this, without a wait; may be called twice."""
        self._watcher.stop()

    def reread(self) -> None:
        """Read the file again, on the watcher's thread."""
        self._watcher.run_now()

    def take(self) -> None:
        """Put the present file in force, if it can be used."""
        try:
            values = self._load()
        except file_problems.BadFile as error:
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
                        f'{file_problems.first(messages)}',)
