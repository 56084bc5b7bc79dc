# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The agent's state and signs of life, for the log and the supervisor.

oslo.service sends only READY.

Only the loop sets the flag that a thread passes on, so a loop that hangs is
silent to systemd.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
import math
import os
import socket
import threading
import time

from oslo_log import log as logging

from ovn_network_agent.common import normal_wait
from ovn_network_agent.common import wording
from ovn_network_agent.ovsdb import connection

LOG = logging.getLogger(__name__)

_LIMIT = 1.0  # seconds for a supervisor that does not read


def notify(**values: object) -> None:
    """Send state such as READY=1 or STATUS='text' to NOTIFY_SOCKET, if set."""
    address = os.environ.get('NOTIFY_SOCKET')
    if not address:
        return
    if address.startswith('@'):
        address = '\0' + address[1:]
    message = '\n'.join(f'{name}={_one_line(value)}'
                        for name, value in values.items())
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
            sock.settimeout(_LIMIT)
            sock.connect(address)
            sock.sendall(message.encode())
    except OSError as e:
        LOG.warning('Could not notify the supervisor at %s: %s', address,
                    wording.error(e))


def _one_line(value: object) -> str:
    """The supervisor reads each line as a setting, and OVN has any names."""
    return ''.join(character if character.isprintable() else '?'
                   for character in str(value))


_NAMED = 10  # most reasons in one message
_NOTIFIED = 3
_RECENT = 60.0  # seconds until a reason is a warning again


class Status:
    """Reports changes of the reasons for a degraded state; on the loop."""

    def __init__(self, databases: Mapping[str, connection.Database],
                 clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._databases = databases
        self._ready = False
        # Whether, and since when, all reports had normal waits alone.
        self._waits = False
        self._waits_from: float | None = None
        self._warned: dict[str, float] = {}  # reasons, and when
        self.reasons: tuple[str, ...] | None = None  # None at first
        self.waiting: tuple[str, ...] = ()  # a stop waits for these
        self.reported: float | None = None  # monotonic seconds

    def report(self, reasons: Iterable[str]) -> None:
        """Note the result of a pass, and report a change."""
        now = self.reported = self._clock()
        reasons = (*reasons, *self._disconnected())
        waits = self._only_waits(reasons, now)
        if (reasons, waits) == (self.reasons, self._waits):
            return
        if waits:
            LOG.info('Waiting (%d): %s', len(reasons),
                     '; '.join(reasons[:_NAMED]))
        elif reasons:
            LOG.log(self._level(reasons, now), 'Degraded (%d): %s',
                    len(reasons), '; '.join(reasons[:_NAMED]))
        elif self.reasons:
            LOG.info('No longer degraded')
        first = '; '.join(reasons[:_NOTIFIED])
        notify(STATUS=f'degraded: {first}' if reasons else 'in sync')
        self.reasons, self._waits = reasons, waits

    def _level(self, reasons: tuple[str, ...], now: float) -> int:
        """The level of a line: what was so all the time is no news.

        That includes a reason that comes and goes, and the rest when one goes.
        """
        previous = () if self._waits else self.reasons or ()
        self._warned = {reason: when for reason, when in self._warned.items()
                        if now < when + _RECENT}
        if not any(reason not in previous and reason not in self._warned
                   for reason in reasons):
            return logging.INFO
        self._warned.update(dict.fromkeys(reasons, now))
        return logging.WARNING

    def _only_waits(self, reasons: tuple[str, ...], now: float) -> bool:
        if not reasons or not all(isinstance(reason, normal_wait.Reason)
                                  for reason in reasons):
            self._waits_from = None
            return False
        if self._waits_from is None:
            self._waits_from = now
        return now < self._waits_from + normal_wait.USUAL

    def waits(self, waiting: tuple[str, ...]) -> None:
        """Tell the supervisor the conditions that a stop waits for."""
        if waiting != self.waiting and waiting:
            first = '; '.join(waiting[:_NOTIFIED])
            notify(STATUS=f'draining: waiting for {first}')
        self.waiting = waiting

    @property
    def is_ready(self) -> bool:
        """Whether a first pass is complete."""
        return self._ready

    def ready(self, routers: int) -> None:
        """Tell the supervisor once that a first pass is complete."""
        if self._ready:
            return
        self._ready = True
        LOG.info('First complete pass done: %s',
                 wording.count(routers, 'router'))
        notify(READY=1)

    def _disconnected(self) -> tuple[str, ...]:
        return tuple(database.problem for database
                     in self._databases.values()
                     if database.started and database.problem)


_MICROSECONDS = 1000000
_AT_MOST = 10  # signs per interval, of the many steps of a pass


class Watchdog:
    """Tells the supervisor that the loop makes progress.

    :param interval: seconds until it takes a silent process for dead, math.inf
        without a supervisor that watches
    """

    def __init__(self, interval: float) -> None:
        # Seconds after which a waiting loop has to call alive.
        self.pause = interval / 2
        self._between = interval / _AT_MOST
        self._sign = threading.Event()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._supervised = interval != math.inf
        self.alive = self._sign.set
        self.last = time.monotonic()  # monotonic seconds

    def also_within(self, seconds: float) -> None:
        """Have signs for readers of :attr:`last`; before :meth:`start`."""
        self.pause = min(self.pause, seconds)
        self._between = min(self._between, seconds / _AT_MOST)

    def start(self) -> None:
        """Begin to pass the signs on, if anybody watches."""
        if self.pause == math.inf or self._thread is not None:
            return
        self._thread = threading.Thread(target=self._pass_on, daemon=True,
                                        name='watchdog')
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._ended.set()
        self._sign.set()
        if self._thread is not None:
            self._thread.join()

    def _pass_on(self) -> None:
        while True:
            self._sign.wait()
            if self._ended.is_set():
                return
            self._sign.clear()
            self.last = time.monotonic()
            if self._supervised:
                notify(WATCHDOG=1)
            self._ended.wait(self._between)


def from_environment() -> Watchdog:
    """The watchdog of WATCHDOG_USEC, if WATCHDOG_PID is this or none."""
    interval = os.environ.get('WATCHDOG_USEC')
    process = os.environ.get('WATCHDOG_PID', str(os.getpid()))
    if interval is None or process != str(os.getpid()):
        return Watchdog(math.inf)
    if not interval.isdecimal() or not int(interval):
        LOG.warning('WATCHDOG_USEC = %r is no number of microseconds, so the '
                    'supervisor gets no watchdog notifications; set '
                    'WatchdogSec= of the unit', interval)
        return Watchdog(math.inf)
    return Watchdog(int(interval) / _MICROSECONDS)
