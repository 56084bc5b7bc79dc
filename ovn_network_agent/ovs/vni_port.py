# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The agent's ports of veth pairs in the local Open_vSwitch database.

Pure.  They are access ports, which get the packets of one VLAN without a tag.
With the tag 0 these are the packets that have no tag; without any, the port
would get the packets of all VLANs.
"""

from collections.abc import Iterator
from typing import Any

from ovn_network_agent import ownership
from ovn_network_agent.model import evpn_names
from ovn_network_agent.ovs import relay
from ovn_network_agent.ovsdb import columns

INTERFACE_SETTINGS = {'type': ''}
# A type that Open vSwitch writes for itself means the same.
_TYPES = ('', 'system')


def port_settings(tag: int) -> dict[str, Any]:
    """Columns of the Port row, without its name and mark; 0 for no tag."""
    return {'tag': [tag], 'vlan_mode': [], 'trunks': []}


def is_ours(port: columns.Row) -> bool:
    """Whether a Port row is one of a veth pair, by its name and its mark."""
    end = evpn_names.vrf_end_of(port.name)
    return bool(end) and ownership.is_managed(port.external_ids)


def ports(ovs: columns.Tables) -> dict[str, tuple[str, int]]:
    """(bridge, tag) by name; ('', 0) with wrong settings, or not yet made."""
    return {port.name: _as_found(bridge, port)
            for bridge, port in _found(ovs)}


def errors(ovs: columns.Tables) -> dict[str, str]:
    """The reasons why Open vSwitch could not make ports, by name."""
    return relay.reasons(port for _bridge, port in _found(ovs))


def _as_found(bridge: columns.Row, port: columns.Row) -> tuple[str, int]:
    tag = next(iter(port.tag), 0)
    interfaces = port.interfaces
    right = (relay.as_set(port, port_settings(tag)) and
             len(interfaces) == 1 and relay.ofport(interfaces[0]) > 0 and
             interfaces[0].type in _TYPES)
    return (bridge.name, tag) if right else ('', 0)


def _found(ovs: columns.Tables) -> Iterator[tuple[columns.Row, columns.Row]]:
    for bridge in ovs['Bridge'].values():
        for port in bridge.ports:
            if is_ours(port):
                yield bridge, port
