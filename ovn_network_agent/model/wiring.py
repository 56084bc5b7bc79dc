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

"""The wiring of this node: bridge mappings, patch ports and devices.

The view is built from it.  Drivers get its parts as :class:`node.Node` and
:class:`node.Segment`.
"""

import dataclasses

from ovn_network_agent import vlans
from ovn_network_agent.model import node


@dataclasses.dataclass(frozen=True, slots=True)
class Wiring:
    """The wiring of this node, and the wishes in the local database.

    :ivar chassis: external_ids:system-id
    :ivar hostname: external_ids:hostname, or the name of the host
    :ivar mappings: (physical network, bridge)
    :ivar patch_ports: (bridge, localnet port, OpenFlow port)
    :ivar drains: see :class:`node.Node`
    :ivar problems: the malformed parts that are left out
    :ivar overlapping: see :class:`node.Node`
    :ivar addresses: the tunnel addresses (ovn-encap-ip)
    :ivar held: the router ports and machines' ports that this chassis had when
        SB lost the row of this chassis; while no chassis has such a port, this
        chassis has it
    """

    chassis: str = ''
    hostname: str = ''
    mappings: tuple[tuple[str, str], ...] = ()
    patch_ports: tuple[tuple[str, str, int], ...] = ()
    devices: tuple[node.Device, ...] = ()
    drains: frozenset[str] = frozenset()
    problems: tuple[str, ...] = ()
    relays: tuple[node.Relay, ...] = ()
    overlapping: bool = False
    addresses: tuple[str, ...] = ()
    held: frozenset[str] = frozenset()

    def segment(self, datapath: str, localnet: str, network: str,
                vlan: int) -> node.Segment:
        """The segment of a localnet port on this node."""
        bridge = dict(self.mappings).get(network, '')
        device = vlans.device(bridge, vlan)
        found = {d.name: d for d in self.devices
                 if bridge and d.name in (bridge, device)}
        occupied = device in found and vlan != 0 and (
            found[device].vlan, found[device].lower) != (vlan, bridge)
        shown = found.get(device, found.get(bridge))
        port = next((number for b, name, number in self.patch_ports
                     if (b, name) == (bridge, localnet)), 0)
        return node.Segment(datapath, localnet, network, vlan, bridge,
                            device if bridge else '',
                            shown.mac if shown else '', port, occupied)
