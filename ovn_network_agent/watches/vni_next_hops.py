# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The watch of the next hops of VNIs.

Nobody reports a route without a neighbour, so it looks in the kernel.  See
:mod:`backends.kernel.vni_devices`.
"""

from oslo_config import cfg

from ovn_network_agent import resources
from ovn_network_agent.common import notices
from ovn_network_agent.common import trigger
from ovn_network_agent.conf import plugins
from ovn_network_agent.netlink.objects import vni_neighbours
from ovn_network_agent.watches import base
from ovn_network_agent.watches import heartbeat
from ovn_network_agent.watches import rate_limit

_EACH = 5  # heartbeats, of a second each


class NextHops(base.Observer):
    """Looks every few seconds while the agent has a VNI."""

    def __init__(self, limiter: rate_limit.RateLimit,
                 heartbeats: heartbeat.Heartbeat, base: int) -> None:
        self._limiter = limiter
        self._heartbeats = heartbeats
        self._base = base
        self._count = 0
        self._any = False

    def start(self, trigger: trigger.Trigger) -> None:
        """Start the looks."""
        self._heartbeats.add(self.check)

    def stop(self) -> None:
        """End the looks after the present one, without a wait."""
        self._heartbeats.remove(self.check)

    def after_pass(self, outcome: base.Outcome, tracker: base.Tracker,
                   full: bool) -> None:
        """Note whether there are VNIs."""
        self._any = any(tracker.wanted([resources.VniDevices.kind]))

    def check(self) -> None:
        """Look every few seconds."""
        self._count += 1
        if self._any and self._count % _EACH == 0:
            self.look()

    def look(self) -> None:
        """Look once."""
        try:
            lost = [hop for hop in vni_neighbours.read_all(self._base)
                    if hop.lacks]
        except OSError:
            # The backend reports the error at its next reading.
            return
        if lost:
            self._limiter.notice(
                notices.VNI_NEXT_HOPS, f'VNI {lost[0].vni:d} has no neighbour '
                f'for its next hop {lost[0].via}')


def wanted(conf: cfg.ConfigOpts) -> bool:
    """Whether there may be VNIs."""
    return plugins.requested(conf, plugins.VNIS)
