# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A thread that reports the notifications of a kernel's socket.

When some are lost, or the socket is made again, everything has changed.
"""

import abc
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
import errno
import os
import select
import socket
import threading
import typing

from oslo_log import log as logging

from ovn_network_agent.common import trigger
from ovn_network_agent.watches import base

LOG = logging.getLogger(__name__)

_DATAGRAM = 64 * 1024
# Datagrams before a report, which a storm must not delay for ever.
_MOST = 1000
LONGEST = 5.0


News: typing.TypeAlias = Sequence[tuple[str, ...]]


class Watch(abc.ABC):
    """Base of such threads.

    :param callback: called on the thread of the watch; must return soon
    """

    NAME = ''  # for the log and the name of the thread
    # Seconds to the first new attempt after a failure; doubles up to LONGEST.
    RETRY = 1.0
    # Exceptions after which the socket is made again.
    FAILURES: tuple[type[Exception], ...] = (OSError, ValueError)
    # The calls of the callback that report everything as changed.
    EVERYTHING: News = [()]
    # False if the system may hang at the start: its thread makes the socket.
    NEEDED = True

    _wake: int

    def __init__(self, callback: Callable[..., object]) -> None:
        self._callback = callback
        self._failures = 0  # since the last success
        self._socket: socket.socket | None = None
        self._thread: threading.Thread | None = None

    @property
    def running(self) -> bool:
        """Whether the watch was started and not stopped."""
        return self._thread is not None

    def start(self) -> None:
        """Subscribe and start the thread, before the state is first read.

        :raises OSError: or another exception of FAILURES, when the socket of a
            needed system cannot be made
        """
        if self.NEEDED:
            self._socket = self._open()
        self._wake = os.eventfd(0, os.EFD_CLOEXEC)
        self._thread = threading.Thread(
            target=self._run, name=f'{self.NAME}-watch', daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread and close the socket; may be called twice."""
        if self._thread is None:
            return
        os.eventfd_write(self._wake, 1)
        self._thread.join()
        self._thread = None
        os.close(self._wake)
        if self._socket is not None:
            self._socket.close()

    def end(self) -> None:
        """As :meth:`stop`, without a wait for a system that may hang."""
        threading.Thread(target=self.stop, daemon=True,
                         name=f'end-of-{self.NAME}-watch').start()

    @abc.abstractmethod
    def _open(self) -> socket.socket:
        """The socket, subscribed and not blocking.

        :raises OSError: or another exception of FAILURES
        """

    @abc.abstractmethod
    def _news(self, datagrams: Iterator[bytes]) -> News:
        """The news in the waiting notifications, see EVERYTHING."""

    def _run(self) -> None:
        while not self._stopped():
            try:
                news = self._receive()
            except self.FAILURES as error:
                news = self._recover(error)
            for arguments in news:
                self._tell(arguments)

    def _stopped(self) -> bool:
        poll = select.poll()
        poll.register(self._wake, select.POLLIN)
        if self._socket is not None:
            poll.register(self._socket, select.POLLIN)
        ready = poll.poll(None if self._socket else self._pause() * 1000)
        return any(fd == self._wake for fd, _events in ready)

    def _pause(self) -> float:
        """Seconds until the next attempt, 0 before the first."""
        return min(LONGEST, self.RETRY * 2 ** (
            self._failures - 1)) if self._failures else 0.0

    def _receive(self) -> News:
        if self._socket is None:
            self._socket = self._open()
            if self._failures:
                LOG.info('Watch of %s: subscribed again', self.NAME)
            self._failures = 0
            return self.EVERYTHING
        return self._news(self._datagrams(self._socket))

    def _datagrams(self, sock: socket.socket) -> Iterator[bytes]:
        """The waiting datagrams, up to a limit.

        :raises OSError: ENOBUFS when datagrams were lost
        """
        try:
            for _number in range(_MOST):
                yield sock.recv(_DATAGRAM)
        except BlockingIOError:
            self._all_read()

    def _all_read(self) -> None:
        """Called when no datagram is waiting any more."""

    def _recover(self, error: BaseException) -> News:
        if getattr(error, 'errno', None) == errno.ENOBUFS:
            LOG.info('Notifications of %s were lost, reading everything',
                     self.NAME)
            return self.EVERYTHING
        if not self._failures:
            # One line for an outage, however long it lasts.
            LOG.warning('Watch of %s: %s; subscribing again, until then '
                        'changes by others are noticed at the '
                        'reconcile_interval', self.NAME, error)
        self._failures += 1
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        return []

    def _tell(self, arguments: tuple[str, ...]) -> None:
        try:
            self._callback(*arguments)
        except Exception:
            # The watch must outlive a bug in the callback.
            LOG.exception('Callback for a change of %s failed (%s)',
                          self.NAME, ', '.join(arguments))


class Watching(base.Observer):
    """Watches that the loop starts and stops."""

    def __init__(self, watches: Sequence[Watch]) -> None:
        self._watches = list(watches)

    def start(self, trigger: trigger.Trigger) -> None:
        """Start the watches."""
        for watch in self._watches:
            watch.start()

    def stop(self) -> None:
        """End the watches, each on a thread of its own."""
        while self._watches:
            self._watches.pop().end()
