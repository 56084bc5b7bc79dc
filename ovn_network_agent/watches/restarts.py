# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""The watch for restarts of daemons, by their sockets.

The agent writes no files of FRR and Open vSwitch, so a restarted daemon
silently lacks its objects.  The check, once a second, needs no process.  Only
for a closed directory the privileged side is asked, on another thread, as it
may be slow.  Doubt comes when no socket has changed for a second, and again
some seconds later: the daemons may still have been reading their own files.

The local database shows none: the port numbers are mostly the same.
"""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import os
import threading
import time
import typing

from oslo_config import cfg
from oslo_log import log as logging

from ovn_network_agent.common import notices
from ovn_network_agent.common import trigger
from ovn_network_agent.common import unix_sockets
from ovn_network_agent.common import wording
from ovn_network_agent.privileged.daemon import context
from ovn_network_agent.privileged.switch import openflow
from ovn_network_agent.watches import base

LOG = logging.getLogger(__name__)

# Seconds between checks for an awaited daemon; then to the second doubt.
_AWAITED = 0.2
_SECOND = 5.0


Read: typing.TypeAlias = Callable[[], Mapping[str, Sequence[int]]]
_Marks: typing.TypeAlias = dict[str, tuple[int, ...]]


class _Closed(Exception):
    """The directory of the sockets is closed to the agent."""


class RestartWatch(base.Beating):
    """Checks once a second whether a socket was recreated.

    :param name: of the watched program for the log, such as 'FRR'
    :param where: name of the option with the directory of the sockets
    :param read: reads for each daemon a value that differs after a restart;
        raises one of :data:`context.FAILURES`
    :param privileged: likewise, for a directory closed to the agent
    :param word: that puts the backends of the program in doubt
    :param awaited: whether a daemon is known not to run: checks more often
    """

    _trigger: trigger.Trigger

    def __init__(self, heartbeats: base.Heartbeat, name: str, where: str,
                 read: Read, privileged: Read, word: str,
                 restarted: Callable[[], object] = lambda: None,
                 metric: str = '', immediate: bool = False,
                 awaited: Callable[[], bool] = lambda: False) -> None:
        super().__init__(heartbeats)
        self._name = name
        self._where = where
        self._sockets = read
        self._privileged = privileged
        self._notice = (word,)
        self._restarted = restarted
        self._metric = metric
        self._immediate = immediate
        self._awaited = awaited
        # Of a check with privileges.
        self._thread: threading.Thread | None = None
        self._seen: _Marks | None = None
        self._doubts: list[float] = []
        self._warning: str | None = None
        self.restarts = 0  # that were noticed

    @property
    def counts(self) -> dict[str, int]:  # type: ignore[override]
        """The number of noticed restarts, if a metric has a name for it."""
        return {self._metric: self.restarts} if self._metric else {}

    def start(self, trigger: trigger.Trigger) -> None:
        """Remember the present sockets, and start the checks."""
        self._trigger = trigger
        # The first pass reads the state of the daemons that run now.
        self._seen = self._read(self._with_privileges)
        super().start(trigger)

    def _pause(self) -> float:
        return _AWAITED if self._awaited() else base.INTERVAL

    def look(self) -> None:
        """Check once, if need be on another thread."""
        if self._thread is not None and self._thread.is_alive():
            return
        try:
            self._compare(self._read(self._openly))
        except _Closed:
            self._thread = threading.Thread(
                target=self._check_with_privileges, daemon=True,
                name=f'watch-{self._name}')
            self._thread.start()

    def _check_with_privileges(self) -> None:
        self._compare(self._read(self._with_privileges))

    def _compare(self, found: _Marks | None) -> None:
        if found is None:
            return
        now = time.monotonic()
        if found != self._seen:
            self._changed(found, now)
            return
        if self._doubts and now >= self._doubts[0]:
            self._doubts.pop(0)
            self._doubt()

    def _changed(self, found: _Marks, now: float) -> None:
        before, self._seen = self._seen, found
        if before is None:
            before = {}  # unreadable before
        fresh = sorted(name for name, mark in found.items()
                       if before.get(name) != mark)
        if fresh:
            self.restarts += 1
            LOG.info('Started again in %s: %s', self._name,
                     ', '.join(fresh))
            self._doubts = [now, now + _SECOND]
            if self._immediate:
                self._doubt()

    def _doubt(self) -> None:
        self._trigger.fire(f'{self._name} was restarted',
                           stale=self._notice, revived=self._notice)
        self._restarted()

    def _openly(self) -> Mapping[str, Sequence[int]]:
        try:
            return self._sockets()
        except PermissionError as error:
            raise _Closed from error

    def _with_privileges(self) -> Mapping[str, Sequence[int]]:
        try:
            return self._openly()
        except _Closed:
            return self._privileged()

    def _read(self, read: Read) -> _Marks | None:
        try:
            found = read()
        except context.FAILURES as error:
            self._say(f'A restart of {self._name} is only noticed at the '
                      f'reconcile_interval: {self._where}: '
                      f'{wording.error(error)}')
            return None
        self._say(None)
        return {name: tuple(mark) for name, mark in found.items()}

    def _say(self, warning: str | None) -> None:
        if warning is not None and warning != self._warning:
            LOG.warning('%s', warning)
        self._warning = warning


def of_ovs(conf: cfg.ConfigOpts, heartbeats: base.Heartbeat) -> RestartWatch:
    """The watch of the provider bridge."""
    bridge = conf.bridge_dev

    def read() -> dict[str, list[int]]:
        mark = unix_sockets.of_socket(os.path.join(
            conf.ovs.ovs_rundir, bridge + openflow.SUFFIX))
        return {bridge: mark} if mark else {}
    return RestartWatch(
        heartbeats, 'Open vSwitch', '[ovs] ovs_rundir', read,
        lambda: openflow.read_socket(bridge),
        notices.SWITCH_RESTARTED, metric='ovs_restarts_total')
