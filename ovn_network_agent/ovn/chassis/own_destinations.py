# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The addresses of OVN that this node sends to.  Pure.

A route of the agent to one would take the node's packets along.
"""

import bisect

from ovn_network_agent.common import ip_text
from ovn_network_agent.common import networks
from ovn_network_agent.ovn import inputs
from ovn_network_agent.ovn import queries


class OwnNeeds:
    """The tunnels of all chassis, and the servers that options name."""

    def __init__(self, found: queries.Queries, known: inputs.Inputs) -> None:
        self._rows = found
        self._inputs = known

    def objection(self, net: ip_text.Network) -> str:
        """Why there may be no route to a network or address, or ''."""
        known, first = self._rows.ask(self._addresses), int(net[0])
        at = bisect.bisect_left(known, (net.version, first))
        if at == len(known) or known[at] > (net.version, int(net[-1])):
            return ''
        return (f'{net[known[at][1] - first]} is of a tunnel or server of '
                'OVN, which this node could not reach any more')

    def _addresses(self) -> tuple[tuple[int, int], ...]:
        """Family and number of each, sorted."""
        texts = (*self._rows.find('sb', 'Encap', 'ip').keys(),
                 *self._inputs.chosen.servers)
        return tuple(sorted({
            (found.version, int(found.ip)) for text in texts
            if (found := networks.parse_interface(text))}))
