# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The signals of the process, for its main thread.

Any thread may get a signal, but handlers run in the main thread, which a byte
of the interpreter in a socket wakes.

Pending signals come in no order (signal(7)): on a busy processor, a stop may
overtake an earlier reload and go by the former options.

A report (SIGUSR2) is rare, so the signal imports 50 modules (20 ms, 4 MiB).
"""

from collections.abc import Iterator
import contextlib
import functools
import queue
import select
import signal
import socket
import time
import types

from oslo_config import cfg
from oslo_log import log as logging
from oslo_reports import opts

from ovn_network_agent import version

LOG = logging.getLogger(__name__)


def set_defaults(conf: cfg.ConfigOpts) -> None:
    """Register the options of the library."""
    opts.set_defaults(conf)


def arm(conf: cfg.ConfigOpts) -> None:
    """Write the report at SIGUSR2, or when the configured file changes."""
    if conf.oslo_reports.file_event_handler:
        # The library has a thread for the file.
        _set_up(conf)
    else:
        signal.signal(signal.SIGUSR2, functools.partial(_first, conf))


def _set_up(conf: cfg.ConfigOpts) -> None:
    from oslo_reports import guru_meditation_report
    guru_meditation_report.TextGuruMeditation.setup_autorun(
        version.Info(), conf=conf)


def _first(conf: cfg.ConfigOpts, number: int, frame: types.FrameType | None
           ) -> None:
    """The library handles all later ones."""
    try:
        _set_up(conf)
    except ImportError:
        # A failed report must not end the agent.
        LOG.exception('There can be no report of the state')
    else:
        handler = signal.getsignal(number)
        if callable(handler):
            handler(number, frame)


# Seconds in which a lower signal may follow: each thread has run meanwhile.
_INTERVAL = 0.05


class Signals:
    """Catches signals from now on; to be made on the main thread.

    Of those within so many seconds, the lower number counts first: SIGHUP
    before SIGINT and SIGTERM.
    """

    def __init__(self, *numbers: int, interval: float = _INTERVAL) -> None:
        self._first = min(numbers)
        self._interval = interval
        self._sorted: list[int] = []
        self._waiting, self._waking = socket.socketpair()
        self._waiting.setblocking(False)
        self._waking.setblocking(False)
        self._caught: queue.SimpleQueue[int] = queue.SimpleQueue()
        signal.set_wakeup_fd(self._waking.fileno(), warn_on_full_buffer=False)
        for number in numbers:
            signal.signal(number, lambda n, _frame: self._caught.put(n))

    def wake(self) -> None:
        """Have :meth:`wait` return soon; on any thread."""
        # A full socket wakes the main thread anyhow.
        with contextlib.suppress(BlockingIOError):
            self._waking.send(b'\0')

    def wait(self, timeout: float) -> int | None:
        """Wait for a signal, :meth:`wake`, or ``timeout`` seconds."""
        if not self._sorted:
            number = self._next(timeout)
            if number is None:
                return None
            self._sorted = sorted([number, *self._others(number)])
        return self._sorted.pop(0)

    def _others(self, number: int) -> Iterator[int]:
        deadline = time.monotonic() + self._interval
        while number != self._first and (
                left := deadline - time.monotonic()) > 0:
            other = self._next(left)
            if other is not None:
                number = other
                yield other

    def _next(self, timeout: float) -> int | None:
        if self._caught.empty():
            poll = select.poll()
            poll.register(self._waiting, select.POLLIN)
            poll.poll(timeout * 1000)
            with contextlib.suppress(BlockingIOError):
                while self._waiting.recv(4096):
                    pass
        try:
            return self._caught.get_nowait()
        except queue.Empty:
            return None

    def close(self) -> None:
        """Let the interpreter forget the socket; for tests."""
        signal.set_wakeup_fd(-1)
        self._waiting.close()
        self._waking.close()
