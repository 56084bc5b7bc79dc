# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Everything that a run can do to a cloud."""

from lab.chaos.actions import agents
from lab.chaos.actions import churn
from lab.chaos.actions import databases
from lab.chaos.actions import drift
from lab.chaos.actions import network
from lab.chaos.actions import routing

ACTIONS = {action.name: action for module in (
    databases, routing, network, agents, drift, churn)
    for action in module.ACTIONS}
