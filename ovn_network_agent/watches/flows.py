# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""The watch of the agent's flows for changes by others.

The privileged side has the monitor (:mod:`privileged.switch.flow_monitor`).  A
notice is for the log; its receiver reads the flows again.
"""

from collections.abc import Callable
from collections.abc import Iterator
import errno
import socket

from oslo_config import cfg

from ovn_network_agent.common import bridges
from ovn_network_agent.common import notices
from ovn_network_agent.privileged.daemon import context
from ovn_network_agent.privileged.daemon import passed_sockets
from ovn_network_agent.privileged.switch import flow_monitor
from ovn_network_agent.watches import notifications
from ovn_network_agent.watches import rate_limit


class FlowWatch(notifications.Watch):
    """A thread that reports changes of the agent's flows by others.

    :param callback: gets the text that names a change, on the thread of the
        watch; must return soon
    """

    NAME = 'flows of Open vSwitch'
    RETRY = 0.25  # Longer than a new bridge or a restart of ovs-vswitchd takes
    FAILURES = (*context.FAILURES, ValueError)
    EVERYTHING = [(flow_monitor.MISSED,)]
    NEEDED = False

    def __init__(self, callback: Callable[[str], object],
                 bridge: str) -> None:
        super().__init__(callback)
        self._bridge = bridge

    def _open(self) -> socket.socket:
        return passed_sockets.receive(
            lambda name: flow_monitor.subscribe(name, self._bridge))

    def _news(self, datagrams: Iterator[bytes]) -> notifications.News:
        texts = [data.decode() for data in datagrams if self._alive(data)]
        return [(text,) for text in dict.fromkeys(texts)]

    def _alive(self, data: bytes) -> bool:
        if not data:
            raise ConnectionResetError(
                errno.ECONNRESET, 'the connection to ovs-vswitchd has ended')
        return True


class Flows(notifications.Watching):
    """Puts the flows in doubt when others change them."""

    def __init__(self, conf: cfg.ConfigOpts,
                 limiter: rate_limit.RateLimit) -> None:
        super().__init__([FlowWatch(
            lambda text: limiter.notice(notices.FLOWS, text), bridge)
            for bridge in bridges.served(conf)])
