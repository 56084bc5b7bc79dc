# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The observers of FRR that a configuration asks for."""

from ovn_network_agent.watches import frr_fitness
from ovn_network_agent.watches import frr_installed
from ovn_network_agent.watches import frr_lists
from ovn_network_agent.watches import frr_restarts
from ovn_network_agent.watches import frr_verification
from ovn_network_agent.watches import frr_vnis
from ovn_network_agent.watches import frr_witness


def make(conf, beats, paced=None):
    """Make the observers of FRR that this configuration asks for.

    :param conf: the oslo.config ConfigOpts
    :param beats: :class:`heartbeat.Heartbeat`
    :param paced: :class:`watches.pace.Pace`, None to leave out the watches of
        prefix lists and VNIs
    :returns: list of :class:`watches.base.Observer`, empty where there is no
        vtysh (announce_method kernel without FRR's tools)
    """
    if not frr_witness.tools(conf):
        return []
    looks = frr_verification.Verification(conf)
    fitness = ([frr_fitness.Fitness(conf)] if frr_fitness.wanted(conf)
               else [])
    made = [looks, frr_installed.Installed(conf)]
    if conf.frr.frr_watch:
        made.append(frr_restarts.make(
            conf, beats, looks.everything,
            lambda: any(observer.awaited() for observer in fitness)))
        if paced is not None:
            made.append(frr_lists.Lists(conf, paced, beats))
            if frr_vnis.wanted(conf):
                made.append(frr_vnis.Vnis(paced))
    return made + fitness
