# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Writes of the rows of an egress address at one router."""

from ovn_network_agent import resources
from ovn_network_agent.ovn.egress import egress_rows
from ovn_network_agent.ovn.writes import marked_commands


class SetEgress(marked_commands.SetRows[resources.EgressRows]):
    """Make the rows of an egress address exactly what they have to be."""

    LAYOUT = egress_rows.LAYOUT


class RemoveEgress(marked_commands.RemoveRows[resources.EgressRows]):
    """Remove all rows of an egress address at a router."""

    LAYOUT = egress_rows.LAYOUT
