# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers



"""The watch of the sysctls that the agent sets, for changes by others.

The kernel reports only ``forwarding`` and ``proxy_arp`` of a device
(:mod:`watches.kernel`).  Others are read each second, which takes some
microseconds and no privileges.
"""

from ovn_network_agent import resources
from ovn_network_agent.common import notices
from ovn_network_agent.common import trigger
from ovn_network_agent.netlink.objects import sysctls
from ovn_network_agent.watches import base
from ovn_network_agent.watches import heartbeat
from ovn_network_agent.watches import kernel
from ovn_network_agent.watches import rate_limit


class Sysctls(base.Observer):
    """Checks once a second the sysctls that the agent has set."""

    def __init__(self, limiter: rate_limit.RateLimit,
                 heartbeats: heartbeat.Heartbeat) -> None:
        self._limiter = limiter
        self._heartbeats = heartbeats
        self._expected: dict[str, str] = {}

    def start(self, trigger: trigger.Trigger) -> None:
        """Start the checks, once a second."""
        self._heartbeats.add(self.look)

    def stop(self) -> None:
        """End the checks after the present one, without a wait."""
        self._heartbeats.remove(self.look)

    def after_pass(self, outcome: base.Outcome, tracker: base.Tracker,
                   full: bool) -> None:
        """Take the values that are now in place as the expected ones."""
        self._expected = {
            wanted.path: wanted.value
            for wanted in tracker.wanted([resources.Sysctl.kind])
            if tracker.in_sync(wanted.ref)}

    def look(self) -> None:
        """Check once."""
        for path, value in self._expected.items():
            try:
                found = sysctls.read(path)
            except OSError:
                # The backend reports the error at its next reading.
                continue
            if found is not None and found != value:
                self._limiter.notice(notices.kernel(kernel.SYSCTL),
                                     f'sysctl {path} was set to {found}')
