# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The wiring of this node: bridge mappings, patch ports and devices.

Drivers get its parts as :class:`node.Node` and :class:`node.Segment`.
"""

import dataclasses

from ovn_network_agent.common import vlan_names
from ovn_network_agent.model import node


@dataclasses.dataclass(frozen=True, slots=True)
class Wiring:
    """The wiring of this node, and the wishes in the local database."""

    chassis: str = ''
    # external_ids:hostname, or the name of the host.
    hostname: str = ''
    # (physical network, bridge).
    mappings: tuple[tuple[str, str], ...] = ()
    # (bridge, localnet port, OpenFlow port).
    patch_ports: tuple[tuple[str, str, int], ...] = ()
    devices: tuple[node.Device, ...] = ()
    drains: frozenset[str] = frozenset()
    # The malformed parts that are left out.
    problems: tuple[str, ...] = ()
    relays: tuple[node.Relay, ...] = ()
    overlapping: bool = False
    # The tunnel addresses (ovn-encap-ip).
    addresses: tuple[str, ...] = ()
    # Ports that were here when SB lost this chassis' row, and are while no
    # chassis has them.
    held: frozenset[str] = frozenset()
    # See node.Node; likewise the others.
    tunnel: str = ''
    links: tuple[node.Link, ...] = ()
    egress: bool = False

    def segment(self, datapath: str, localnet: str, network: str,
                vlan: int) -> node.Segment:
        """The segment of a localnet port on this node."""
        bridge = dict(self.mappings).get(network, '')
        device = vlan_names.device(bridge, vlan)
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
