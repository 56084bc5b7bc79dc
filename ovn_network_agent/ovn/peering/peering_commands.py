# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Writes of the rows of a peering, both sides in one transaction."""

from ovn_network_agent import resources
from ovn_network_agent.ovn.peering import peering_rows
from ovn_network_agent.ovn.writes import marked_commands


class SetPeering(marked_commands.SetRows[resources.Peering]):
    """Make the rows of a peering exactly what they have to be."""

    LAYOUT = peering_rows.LAYOUT


class RemovePeering(marked_commands.RemoveRows[resources.Peering]):
    """Remove all rows of a peering, wherever they are."""

    LAYOUT = peering_rows.LAYOUT
