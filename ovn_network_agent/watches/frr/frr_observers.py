# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The observers of FRR, and which of them a configuration asks for.

Prefix lists and VNIs: the privileged side asks
(:mod:`privileged.routing.monitors`).  A notice names the daemons for the log;
its receiver reads the lists again.
"""

from collections.abc import Callable
from collections.abc import Iterator
import socket
import threading

from oslo_config import cfg

from ovn_network_agent.common import notices
from ovn_network_agent.common import trigger
from ovn_network_agent.common import unix_sockets
from ovn_network_agent.privileged.daemon import context
from ovn_network_agent.privileged.daemon import passed_sockets
from ovn_network_agent.privileged.routing import monitors
from ovn_network_agent.privileged.routing import vtysh
from ovn_network_agent.watches import base
from ovn_network_agent.watches import notifications
from ovn_network_agent.watches import rate_limit
from ovn_network_agent.watches import restarts
from ovn_network_agent.watches.frr import frr_fitness
from ovn_network_agent.watches.frr import frr_installed
from ovn_network_agent.watches.frr import frr_verification


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


class Lists(base.Beating):
    """Puts the prefix lists in doubt when others change them."""

    def __init__(self, conf: cfg.ConfigOpts, limiter: rate_limit.RateLimit,
                 heartbeats: base.Heartbeat) -> None:
        super().__init__(heartbeats)
        self._conf = conf
        self._limiter = limiter
        self._following = threading.Lock()
        self._stopped = False
        self._name = ''
        self._watch: ListWatch | None = None

    def start(self, trigger: trigger.Trigger) -> None:
        """Start the watch."""
        self.look()
        super().start(trigger)

    def stop(self) -> None:
        """End the watch on a thread of its own."""
        super().stop()
        with self._following:
            self._stopped = True
            self._leave()

    def look(self) -> None:
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


class Vnis(notifications.Watching):
    """Puts VNIs in doubt when others change them."""

    def __init__(self, limiter: rate_limit.RateLimit) -> None:
        super().__init__([VniWatch(
            lambda text: limiter.notice(notices.FRR_VNIS, text))])


def vnis_wanted(conf: cfg.ConfigOpts) -> bool:
    """Whether the agent writes VNIs into FRR."""
    return 'evpn' in conf.drivers and conf.evpn.manage_frr


def make(conf: cfg.ConfigOpts, heartbeats: base.Heartbeat,
         limiter: rate_limit.RateLimit | None = None) -> list[base.Observer]:
    """Make the observers of FRR that this configuration asks for.

    None without vtysh (announce_method kernel without FRR's tools).

    :param limiter: None to leave out the watches of prefix lists and VNIs
    """
    if not frr_verification.tools(conf):
        return []
    looks = frr_verification.Verification(conf)
    fitness = ([frr_fitness.Fitness(conf)] if frr_fitness.wanted(conf)
               else [])
    made: list[base.Observer] = [looks, frr_installed.Installed(conf)]
    if conf.frr.frr_watch:
        made.append(restarts_of_frr(
            conf, heartbeats, looks.everything,
            lambda: any(observer.awaited() for observer in fitness)))
        if limiter is not None:
            made.append(Lists(conf, limiter, heartbeats))
            if vnis_wanted(conf):
                made.append(Vnis(limiter))
    return [*made, *fitness]


def restarts_of_frr(conf: cfg.ConfigOpts, heartbeats: base.Heartbeat,
                    restarted: Callable[[], object],
                    awaited: Callable[[], bool] = lambda: False
                    ) -> restarts.RestartWatch:
    """The watch for daemons of FRR that were started again."""
    return restarts.RestartWatch(
        heartbeats, 'FRR', '[frr] frr_run_dir',
        lambda: unix_sockets.of_directory(conf.frr.frr_run_dir,
                                          vtysh.SUFFIX),
        vtysh.read_sockets, notices.FRR_RESTARTED, restarted,
        metric='frr_restarts_total',
        # The fabric has lost what staticd had.
        immediate=True, awaited=awaited)
