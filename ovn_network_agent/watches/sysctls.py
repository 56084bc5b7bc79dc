# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers



"""The watch of the sysctls that the agent sets, for changes by others.

The kernel reports a change of ``forwarding`` and ``proxy_arp`` of a device
(:mod:`watches.kernel`).  It reports no change of the other sysctls, so this
watch reads the values once a second.  A reading needs no privileges and takes
some microseconds.
"""

from ovn_network_agent import notices
from ovn_network_agent import resources
from ovn_network_agent.netlink import sysctls
from ovn_network_agent.watches import base
from ovn_network_agent.watches import kernel


class Sysctls(base.Observer):
    """Checks once a second the sysctls that the agent has set.

    :param pace: :class:`watches.pace.Pace`
    :param beats: :class:`heartbeat.Heartbeat`
    """

    def __init__(self, pace, beats):
        self._pace = pace
        self._beats = beats
        self._expected = {}

    def start(self, trigger):
        """Start the checks, once a second.

        :param trigger: not needed, because the pace wakes the loop
        """
        self._beats.add(self.look)

    def stop(self):
        """End the checks after the present one, without a wait."""
        self._beats.remove(self.look)

    def after_pass(self, outcome, tracker, full):
        """Take the values that are now in place as the expected ones.

        :param outcome: not needed
        :param tracker: :class:`tracking.Tracker`
        :param full: not needed
        """
        self._expected = {
            wanted.path: wanted.value
            for wanted in tracker.wanted([resources.Sysctl.kind])
            if tracker.in_sync(wanted.ref)}

    def look(self):
        """Check once."""
        for path, value in self._expected.items():
            try:
                found = sysctls.read(path)
            except OSError:
                # The backend reports the error at its next reading.
                continue
            if found is not None and found != value:
                self._pace.notice(notices.kernel(kernel.SYSCTL),
                                  f'sysctl {path} was set to {found}')
