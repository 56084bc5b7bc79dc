# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The watch of FRR's VNIs, see :mod:`privileged.routing.monitors`."""

from collections.abc import Callable
import socket

from oslo_config import cfg

from ovn_network_agent.common import notices
from ovn_network_agent.common import trigger
from ovn_network_agent.privileged.daemon import passed_sockets
from ovn_network_agent.privileged.routing import monitors
from ovn_network_agent.watches import base
from ovn_network_agent.watches import rate_limit
from ovn_network_agent.watches.frr import frr_lists


class VniWatch(frr_lists.FrrWatch):
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


def wanted(conf: cfg.ConfigOpts) -> bool:
    """Whether the agent writes VNIs into FRR."""
    return 'evpn' in conf.drivers and conf.evpn.manage_frr
