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

"""The wiring of this node: bridge mappings, patch ports and devices."""

import dataclasses

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.ovs import drains
from ovn_network_agent.ovs import relay
from ovn_network_agent.ovsdb import columns


@dataclasses.dataclass(frozen=True, slots=True)
class Wiring:
    """The wiring of this node, and the wishes in the local database.

    :ivar chassis: external_ids:system-id
    :ivar hostname: external_ids:hostname, '' when not set
    :ivar mappings: tuple of (physical network, bridge)
    :ivar patch_ports: tuple of (bridge, localnet port, OpenFlow port)
    :ivar devices: tuple of :class:`model.Device`
    :ivar drains: see :class:`model.Node`
    :ivar problems: tuple of str: the malformed parts that are left out
    :ivar relays: tuple of :class:`model.Relay`
    :ivar overlapping: see :class:`model.Node`
    """

    chassis: str = ''
    hostname: str = ''
    mappings: tuple = ()
    patch_ports: tuple = ()
    devices: tuple = ()
    drains: frozenset = frozenset()
    problems: tuple = ()
    relays: tuple = ()
    overlapping: bool = False

    def segment(self, datapath, localnet, network, vlan):
        """The :class:`model.Segment` of a localnet port on this node."""
        bridge = dict(self.mappings).get(network, '')
        device = bridge if not vlan else f'{bridge}.{vlan:d}'
        mac = next((d.mac for d in self.devices if d.name == device), '')
        port = next((number for b, name, number in self.patch_ports
                     if (b, name) == (bridge, localnet)), 0)
        return model.Segment(datapath, localnet, network, vlan, bridge,
                             device if bridge else '', mac, port)


def read(ovs, devices):
    """:class:`Wiring` from the local Open_vSwitch database.

    :param ovs: dict of table name to dict of UUID to row
    :param devices: tuple of :class:`model.Device`
    """
    external_ids = {}
    for row in ovs['Open_vSwitch'].values():
        external_ids = row.external_ids
    mappings = bridge_mappings(external_ids)
    wanted, problems = drains.parse(
        external_ids.get(ownership.EXT_ID_DRAIN, ''))
    bridges = {bridge for _network, bridge in mappings}
    return Wiring(external_ids.get('system-id', ''),
                external_ids.get('hostname', ''), mappings,
                tuple(sorted(_patch_ports(ovs, bridges))), devices,
                wanted, problems, tuple(sorted(
                    relay.usable(ovs),
                    key=lambda r: (r.bridge, r.address, r.port))),
                ownership.EXT_ID_OVERLAP in external_ids)


def ports(ovs, bridge):
    """Names of the ports of a bridge.

    :param ovs: the rows of the local database
    :param bridge: name of the bridge
    :returns: list of str
    """
    return [port.name for row in ovs['Bridge'].values()
            if row.name == bridge for port in row.ports]


def _patch_ports(ovs, bridges):
    for bridge in ovs['Bridge'].values():
        if bridge.name not in bridges:
            continue
        for port in bridge.ports:
            localnet = port.external_ids.get('ovn-localnet-port')
            for interface in port.interfaces if localnet else ():
                number = columns.optional(interface, 'ofport', -1)
                # ofport is empty or -1 until vswitchd has made the port.
                if number > 0:
                    yield bridge.name, localnet, number


def bridge_mappings(external_ids):
    """Tuple of (physical network, bridge) from ovn-bridge-mappings."""
    found = []
    for item in external_ids.get('ovn-bridge-mappings', '').split(','):
        network, colon, bridge = item.strip().partition(':')
        if colon and network and bridge:
            found.append((network, bridge))
    return tuple(sorted(found))
