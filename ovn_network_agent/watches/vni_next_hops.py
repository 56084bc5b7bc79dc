# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The watch of the next hops of VNIs.

No program reports that a route of a VNI has no neighbour, so this watch looks
at both in the kernel.  The backend decides what is to be done
(:mod:`backends.vni_next_hops`).
"""

from ovn_network_agent import notices
from ovn_network_agent import resources
from ovn_network_agent.conf import plugins
from ovn_network_agent.netlink import vni_neighbours
from ovn_network_agent.watches import base

# Heartbeats, of a second each, from one look to the next.
_EACH = 5


class NextHops(base.Observer):
    """Looks every few seconds while the agent has a VNI.

    :param pace: :class:`watches.pace.Pace`
    :param beats: :class:`heartbeat.Heartbeat`
    :param base: the option table_base
    """

    def __init__(self, pace, beats, base):
        self._pace = pace
        self._beats = beats
        self._base = base
        self._count = 0
        self._any = False

    def start(self, trigger):
        """Start the looks.

        :param trigger: not needed, because the pace wakes the loop
        """
        self._beats.add(self.beat)

    def stop(self):
        """End the looks after the present one, without a wait."""
        self._beats.remove(self.beat)

    def after_pass(self, outcome, tracker, full):
        """Note whether there are VNIs.

        :param outcome: not needed
        :param tracker: :class:`tracking.Tracker`
        :param full: not needed
        """
        self._any = any(tracker.wanted([resources.VniDevices.kind]))

    def beat(self):
        """Look at some beats."""
        self._count += 1
        if self._any and self._count % _EACH == 0:
            self.look()

    def look(self):
        """Look once."""
        try:
            lost = [hop for hop in vni_neighbours.read_all(self._base)
                    if hop.lacks]
        except OSError:
            # The backend reports the error at its next reading.
            return
        if lost:
            self._pace.notice(
                notices.VNI_NEXT_HOPS, f'VNI {lost[0].vni:d} has no neighbour '
                f'for its next hop {lost[0].via}')


def wanted(conf):
    """Whether there may be VNIs.

    :param conf: the oslo.config ConfigOpts
    """
    return plugins.asked(conf, plugins.VNIS)
