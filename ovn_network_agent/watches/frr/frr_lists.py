# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The watch of FRR's prefix lists for changes by others.

The privileged side asks (:mod:`privileged.routing.monitors`).  A notice
names the daemons for the log; its receiver reads the lists anew.
"""

from collections.abc import Callable
from collections.abc import Iterator
import socket
import threading

from oslo_config import cfg

from ovn_network_agent.common import notices
from ovn_network_agent.common import trigger
from ovn_network_agent.privileged.daemon import context
from ovn_network_agent.privileged.daemon import passed_sockets
from ovn_network_agent.privileged.routing import monitors
from ovn_network_agent.watches import base
from ovn_network_agent.watches import heartbeat
from ovn_network_agent.watches import notifications
from ovn_network_agent.watches import rate_limit


class FrrWatch(notifications.Watch):
    """A thread that reports changes of a part of FRR's configuration.

    :param callback: gets the text that names a change, on the thread of the
        watch; must return soon
    """

    RETRY = 5.0  # a daemon may hang
    FAILURES = (*context.FAILURES, ValueError)
    NEEDED = False

    def __init__(self, callback: Callable[[str], object],
                 what: str) -> None:
        super().__init__(callback)
        self._what = what

    def _news(self, datagrams: Iterator[bytes]) -> notifications.News:
        changed = [self._changed(data) for data in datagrams]
        return [(f'{self._what} has changed in {changed[-1]}; FRR does not '
                 'report who changed it',)] if changed else []

    def _changed(self, data: bytes) -> str:
        """The daemons of a notice; OSError at the end of the notices."""
        text = data[1:].decode()
        if data[:1] != monitors.CHANGED:
            raise OSError(text or 'the privileged side has ended the notices')
        return text


class ListWatch(FrrWatch):
    """A thread that reports changes of the prefix lists of a name."""

    NAME = 'prefix lists of FRR'
    EVERYTHING = [('changes of the prefix list were not reported',)]

    def __init__(self, callback: Callable[[str], object],
                 name: str) -> None:
        super().__init__(callback, f'prefix list {name}')
        self._list = name

    def _open(self) -> socket.socket:
        return passed_sockets.receive(
            lambda name: monitors.subscribe_lists(name, self._list))


class Lists(base.Observer):
    """Puts the prefix lists in doubt when others change them."""

    def __init__(self, conf: cfg.ConfigOpts, limiter: rate_limit.RateLimit,
                 heartbeats: heartbeat.Heartbeat) -> None:
        self._conf = conf
        self._limiter = limiter
        self._heartbeats = heartbeats
        self._following = threading.Lock()
        self._stopped = False
        self._name = ''
        self._watch: ListWatch | None = None

    def start(self, trigger: trigger.Trigger) -> None:
        """Start the watch."""
        self.follow()
        self._heartbeats.add(self.follow)

    def stop(self) -> None:
        """End the watch on a thread of its own."""
        self._heartbeats.remove(self.follow)
        with self._following:
            self._stopped = True
            self._leave()

    def follow(self) -> None:
        """Watch the list that the configuration names now."""
        with self._following:
            name = self._conf.frr.frr_prefix_list
            if name == self._name or self._stopped:
                return
            self._leave()
            self._name = name
            if name:
                self._watch = ListWatch(self._changed, name)
                self._watch.start()

    def _leave(self) -> None:
        if self._watch is not None:
            self._watch.end()
            self._watch = None

    def _changed(self, text: str) -> None:
        self._limiter.notice(notices.PREFIX_LISTS, text)
