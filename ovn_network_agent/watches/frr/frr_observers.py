# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The observers of FRR that a configuration asks for."""

from collections.abc import Callable

from oslo_config import cfg

from ovn_network_agent.common import notices
from ovn_network_agent.common import unix_sockets
from ovn_network_agent.privileged.routing import vtysh
from ovn_network_agent.watches import base
from ovn_network_agent.watches import heartbeat
from ovn_network_agent.watches import rate_limit
from ovn_network_agent.watches import restarts
from ovn_network_agent.watches.frr import frr_fitness
from ovn_network_agent.watches.frr import frr_installed
from ovn_network_agent.watches.frr import frr_lists
from ovn_network_agent.watches.frr import frr_verification
from ovn_network_agent.watches.frr import frr_witness


def make(conf: cfg.ConfigOpts, heartbeats: heartbeat.Heartbeat,
         limiter: rate_limit.RateLimit | None = None) -> list[base.Observer]:
    """Make the observers of FRR that this configuration asks for.

    None without vtysh (announce_method kernel without FRR's tools).

    :param limiter: None to leave out the watches of prefix lists and VNIs
    """
    if not frr_witness.tools(conf):
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
            made.append(frr_lists.Lists(conf, limiter, heartbeats))
            if frr_lists.vnis_wanted(conf):
                made.append(frr_lists.Vnis(limiter))
    return [*made, *fitness]


def restarts_of_frr(conf: cfg.ConfigOpts, heartbeats: heartbeat.Heartbeat,
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
        at_once=True, awaited=awaited)
