# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The limits of the withdrawal guard, from the options and the view."""

from ovn_network_agent import model
from ovn_network_agent.engine import guard


def limits(conf, state, phase):
    """The limits of one pass.

    :param conf: the oslo.config ConfigOpts
    :param state: :class:`ovn.view.View` that has made the view of the pass
    :param phase: :class:`model.Phase` of the pass
    :returns: :class:`guard.Limits`; None without OVN, and while the agent
        stops, because a stop withdraws on purpose
    """
    cross_check = state.cross_check
    if cross_check is None or phase is not model.Phase.RUNNING:
        return None
    return guard.Limits(conf.withdrawal_guard_percent,
                        conf.withdrawal_guard_minimum, cross_check)
