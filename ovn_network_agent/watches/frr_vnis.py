# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The watch of FRR's VNIs for changes by others.

The privileged side asks zebra and bgpd, as for the prefix lists
(:mod:`privileged.vni_monitor`).
"""

from ovn_network_agent import notices
from ovn_network_agent.privileged import receiving
from ovn_network_agent.privileged import vni_monitor
from ovn_network_agent.watches import base
from ovn_network_agent.watches import frr_lists


class VniWatch(frr_lists.FrrWatch):
    """A thread that reports changes of VNIs.

    :param callback: see :class:`frr_lists.FrrWatch`
    """

    NAME = 'VNIs of FRR'
    EVERYTHING = [('changes of VNIs were not reported',)]

    def __init__(self, callback):
        super().__init__(callback, 'the configuration of VNIs')

    def _open(self):
        return receiving.receive(vni_monitor.subscribe)


class Vnis(base.Observer):
    """Puts VNIs in doubt when others change them.

    :param pace: :class:`watches.pace.Pace`
    """

    def __init__(self, pace):
        self._watch = VniWatch(
            lambda text: pace.notice(notices.FRR_VNIS, text))

    def start(self, trigger):
        """Start the watch.

        :param trigger: not needed, because the pace wakes the loop
        """
        self._watch.start()

    def stop(self):
        """End the watch on a thread of its own."""
        self._watch.end()


def wanted(conf):
    """Whether the agent writes VNIs into FRR.

    :param conf: the oslo.config ConfigOpts
    """
    return 'evpn' in conf.drivers and conf.evpn.manage_frr
