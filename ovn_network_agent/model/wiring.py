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
    hostname: str = ''  # external_ids:hostname, or the name of the host
    mappings: tuple[tuple[str, str], ...] = ()  # (physical network, bridge)
    # (bridge, localnet port, OpenFlow port).
    patch_ports: tuple[tuple[str, str, int], ...] = ()
    devices: tuple[node.Device, ...] = ()
    drains: frozenset[str] = frozenset()
    problems: tuple[str, ...] = ()  # the malformed parts that are left out
    relays: tuple[node.Relay, ...] = ()
    overlapping: bool = False
    addresses: tuple[str, ...] = ()  # the tunnel addresses (ovn-encap-ip)
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
