# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The watches of FRR's prefix lists and VNIs for changes by others.

The privileged side asks (:mod:`privileged.routing.monitors`).  A notice
names the daemons for the log; its receiver reads the lists anew.

bgpd of FRR 8 forgets a line in its route maps when an entry of the same
network is removed (:mod:`frr.prefix_list_lines`): it keeps back what the list
permits.  Another filter has the same effect, so a line is written again only
once for each fault, without withdrawing anything.
"""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
import socket
import threading
import time

from oslo_config import cfg
from oslo_log import log as logging

from ovn_network_agent.common import notices
from ovn_network_agent.common import trigger
from ovn_network_agent.frr import effect
from ovn_network_agent.privileged.daemon import context
from ovn_network_agent.privileged.daemon import passed_sockets
from ovn_network_agent.privileged.routing import monitors
from ovn_network_agent.privileged.routing import prefix_lists
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


class VniWatch(FrrWatch):
    """A thread that reports changes of VNIs."""

    NAME = 'VNIs of FRR'
    EVERYTHING = [('changes of VNIs were not reported',)]

    def __init__(self, callback: Callable[[str], object]) -> None:
        super().__init__(callback, 'the configuration of VNIs')

    def _open(self) -> socket.socket:
        return passed_sockets.receive(monitors.subscribe_vnis)


class Vnis(base.Observer):
    """Puts VNIs in doubt when others change them."""

    def __init__(self, limiter: rate_limit.RateLimit) -> None:
        self._watch = VniWatch(
            lambda text: limiter.notice(notices.FRR_VNIS, text))

    def start(self, trigger: trigger.Trigger) -> None:
        """Start the watch."""
        self._watch.start()

    def stop(self) -> None:
        """End the watch on a thread of its own."""
        self._watch.end()


def vnis_wanted(conf: cfg.ConfigOpts) -> bool:
    """Whether the agent writes VNIs into FRR."""
    return 'evpn' in conf.drivers and conf.evpn.manage_frr


LOG = logging.getLogger(__name__)

# Seconds: route maps are evaluated 5 s after a change of the list ("bgp
# route-map delay-timer"), and take a while.
TIMEOUT = 6.0
_BATCH = 100  # addresses of one call
_BACKEND = 'frr_prefix_list'


class Relisting:
    """Remembers the addresses that bgpd keeps back."""

    def __init__(self, conf: cfg.ConfigOpts,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self._conf = conf
        self._clock = clock
        self._since: dict[str, float] = {}
        self._tried: set[str] = set()

    def repair(self, faults: Mapping[str, str], sessions: bool,
               trigger: trigger.Trigger) -> None:
        """Write the lines of addresses again that bgpd still keeps back.

        :param faults: by prefix (:func:`effect.problem`), all found wrong
            twice
        :raises OSError: or others of :data:`context.FAILURES`, when FRR fails
        """
        name = self._conf.frr.frr_prefix_list
        now = self._clock()
        # No line of a network of its own is known to be forgotten.
        refused = {prefix for prefix, fault in faults.items()
                   if prefix.endswith(('/32', '/128')) and (
                       fault == effect.NOT_IN_BGP or
                       fault == effect.NOT_ADVERTISED and sessions)}
        self._since = {prefix: self._since.get(prefix, now)
                       for prefix in refused}
        self._tried &= refused
        due = sorted(prefix for prefix in refused - self._tried
                     if now - self._since[prefix] >= TIMEOUT)[:_BATCH]
        if not due or not name:
            return
        self._tried.update(due)
        try:
            renewed, message = prefix_lists.renew(name, due)
        finally:
            # The next pass adds a line that is missing for any reason.
            trigger.fire('lines written again', stale=(_BACKEND,))
        for network, former, number in renewed:
            LOG.warning('bgpd did not announce addresses of %s, which %s '
                        'permits: the line was written again, with the number '
                        '%d in place of %d%s', network, name, number, former,
                        f' ({message})' if message else '')
