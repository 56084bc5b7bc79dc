# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""What OVN advertises for a router that OVN routes itself.  Pure.

ovn-northd of OVN 25.03 and later writes the table Advertised_Route of the
Southbound database.  A row has the datapath of the router and a prefix: the
host route of an address of NAT or of a load balancer, or the network of a
connected port.
"""

from collections.abc import Iterable

from ovn_network_agent import iptext
from ovn_network_agent import model
from ovn_network_agent import networks
from ovn_network_agent import selection
from ovn_network_agent.ovn import indexes
from ovn_network_agent.ovsdb import columns


class Advertised:
    """The advertised prefixes of one router.

    ``datapaths`` has the datapath of the router.
    """

    def __init__(self, find: indexes.Find, bindings: indexes.Bindings,
                 ports: Iterable[model.GatewayPort]) -> None:
        redirects = (find('sb', 'Port_Binding', 'redirect').first(port.lrp)
                     for port in ports)
        self.datapaths = frozenset(
            datapath for uuid in redirects if uuid in bindings
            for datapath in columns.referenced(bindings[uuid], 'datapath'))
        found = {prefix for datapath in self.datapaths
                 for row in find('sb', 'Advertised_Route',
                                 'datapath').find(datapath)
                 for prefix in find('sb', 'Advertised_Route',
                                    'prefix').keys_of(row)}
        self._networks = [prefix for prefix in found
                          if prefix.prefixlen < prefix.max_prefixlen]
        self._hosts = {str(prefix) for prefix in found}

    def objection(self, address: str) -> str:
        """Why OVN does not advertise an address, '' if OVN does."""
        if networks.host_prefix(address) in self._hosts:
            return ''
        ip = iptext.address(address)
        if any(ip in network for network in self._networks):
            return ''
        return selection.NOT_ADVERTISED
