# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The limits of the withdrawal guard, from the options and the view."""

from oslo_config import cfg

from ovn_network_agent import model
from ovn_network_agent.engine import guard
from ovn_network_agent.ovn import view


def limits(conf: cfg.ConfigOpts, state: view.View, phase: model.Phase
           ) -> guard.Limits | None:
    """The limits of a pass with the last view.

    None without OVN, and during a stop, which withdraws on purpose.
    """
    cross_check = state.cross_check
    if cross_check is None or phase is not model.Phase.RUNNING:
        return None
    return guard.Limits(conf.withdrawal_guard_percent,
                        conf.withdrawal_guard_minimum, cross_check)
