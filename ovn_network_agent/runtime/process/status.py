# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Reports of the agent's state, to the log and to the supervisor."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
import time

from oslo_log import log as logging

from ovn_network_agent.common import normal_wait
from ovn_network_agent.ovsdb import connection
from ovn_network_agent.runtime.process import notify

LOG = logging.getLogger(__name__)

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
        notify.notify(STATUS=f'degraded: {first}' if reasons else 'in sync')
        self.reasons, self._waits = reasons, waits

    def _level(self, reasons: tuple[str, ...], now: float) -> int:
        """The level of a line: what was so all the time is no news.

        That includes a reason that comes and goes, and the rest when one goes.
        """
        former = () if self._waits else self.reasons or ()
        self._warned = {reason: when for reason, when in self._warned.items()
                        if now < when + _RECENT}
        if not any(reason not in former and reason not in self._warned
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
            notify.notify(STATUS=f'draining: waiting for {first}')
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
        LOG.info('First complete pass done: %d routers', routers)
        notify.notify(READY=1)

    def _disconnected(self) -> tuple[str, ...]:
        return tuple(database.trouble for database
                     in self._databases.values()
                     if database.started and database.trouble)
