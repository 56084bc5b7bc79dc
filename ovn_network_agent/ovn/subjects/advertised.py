# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What OVN advertises for a router that OVN routes itself.  Pure.

ovn-northd of OVN 25.03 and later writes SB's Advertised_Route: host routes of
NAT and load balancers, and networks of connected ports.
"""

import dataclasses

from ovn_network_agent.common import ip_text
from ovn_network_agent.model import selection
from ovn_network_agent.ovn import queries
from ovn_network_agent.ovsdb import columns


@dataclasses.dataclass(frozen=True, slots=True)
class Advertised:
    """The advertised prefixes of one router."""

    # Those of one address, and the others.
    hosts: frozenset[ip_text.Network]
    networks: frozenset[ip_text.Network]

    def objection(self, address: str) -> str:
        """Why OVN does not advertise an address, '' if OVN does."""
        if ip_text.network(address) in self.hosts:
            return ''
        ip = ip_text.address(address)
        return ('' if any(ip in network for network in self.networks)
                else selection.NOT_ADVERTISED)


def read(found: queries.Queries, lrps: tuple[str, ...]) -> Advertised:
    """What OVN advertises by gateway ports' names; a function of rows."""
    by_port = found.find('sb', 'Port_Binding', 'redirect')
    by_datapath = found.find('sb', 'Advertised_Route', 'datapath')
    by_prefix = found.find('sb', 'Advertised_Route', 'prefix')
    redirects = filter(None, map(by_port.first, lrps))
    datapaths = {
        datapath for row in found.rows('sb', 'Port_Binding', redirects)
        for datapath in columns.referenced(row, 'datapath')}
    prefixes = {
        prefix for datapath in datapaths
        for row in by_datapath.find(datapath)
        for prefix in by_prefix.keys_of(row)}
    hosts = frozenset(prefix for prefix in prefixes
                      if prefix.prefixlen == prefix.max_prefixlen)
    return Advertised(hosts, frozenset(prefixes - hosts))
