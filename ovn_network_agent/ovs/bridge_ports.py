# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The agent's ports in the local database: relays, ends of veth pairs. Pure.

A relay is a tunnel port. The other ports of its bridge are switched. A
broadcast must not pass through the relay, or two gateway nodes and the network
between them make a loop, even while the agent is down; so the port's settings
prevent it, not a flow.

So a relay is a trunk of only the VLAN 4095, which IEEE 802.1Q reserves:
neither the kernel nor Neutron uses it. So NORMAL neither sends to the port,
nor accepts its packets, nor learns there. ``protected`` keeps a packet with a
forged tag from passing on to a further relay. A flow that outputs to the port
is not affected, because VLANs count only for NORMAL.

The end of a veth pair is an access port, which gets the packets of one VLAN
without a tag. With the tag 0 these are the packets that have no tag; without
any, the port would get the packets of all VLANs.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.model import evpn_names
from ovn_network_agent.ovsdb import columns

MARK = {ownership.EXT_ID_MANAGED: ownership.EXT_ID_MANAGED_VALUE}
ENCAPS = ('geneve', 'vxlan')
_SEALED_VLAN = 4095
# Digits of the largest tunnel key, which has 24 bits.
_DIGITS = 8
RELAY_SETTINGS = {
    'vlan_mode': ['trunk'],
    'trunks': [_SEALED_VLAN],
    'protected': True,
    # A spanning tree of the bridge must not include the relay.
    'other_config': {'stp-enable': 'false', 'rstp-enable': 'false'},
}


def relay_interface(remote: str, encap: str,
                    tunnel: int = ownership.RELAY_KEY) -> dict[str, Any]:
    """Columns of the Interface row, without its name and mark.

    As OVN's tunnels, but for two: the key is the agent's, and fragments are
    allowed, because a packet of the provider network and the tunnel's header
    may exceed the MTU of the tunnels' network. BFD shows whether the other
    node has an agent with a relay.
    """
    return {'type': encap, 'bfd': {'enable': 'true'}, 'options': {
        'remote_ip': remote, 'key': str(tunnel),
        'csum': 'true', 'df_default': 'false'}}


def is_relay(port: columns.Row) -> bool:
    """Whether a Port row is a relay, by its name and its mark."""
    return (port.name.startswith(ownership.RELAY_PREFIX) and
            ownership.is_managed(port.external_ids))


def relays(ovs: columns.Tables) -> Iterator[resources.RelayPort]:
    """The relays; ``encap`` is '' with wrong settings, or before it is made.
    """
    for bridge, port, interface in _rows(ovs, is_relay):
        options = interface.options if interface else {}
        remote = options.get('remote_ip', '')
        encap = interface.type if interface else ''
        tunnel = _number(options.get('key', ''))
        complete = (interface is not None and encap in ENCAPS and
                    ofport(interface) > 0 and as_set(port, RELAY_SETTINGS) and
                    as_set(interface, relay_interface(remote, encap,
                                                      tunnel)))
        yield resources.RelayPort(bridge, port.name, remote,
                                  encap if complete else '', tunnel)


def usable_relays(ovs: columns.Tables) -> Iterator[model.Relay]:
    """The relays that a flow can name as its output."""
    for bridge, port, interface in _rows(ovs, is_relay):
        if interface is not None and ofport(interface) > 0:
            status = getattr(interface, 'bfd_status', {})
            yield model.Relay(bridge, interface.options.get('remote_ip', ''),
                              ofport(interface),
                              status.get('state') == 'up', port.name)


def relay_errors(ovs: columns.Tables) -> dict[tuple[str, str], str]:
    """The reasons why Open vSwitch could not make relays, by their keys."""
    return {(bridge, name): reason
            for bridge, port, _interface in _rows(ovs, is_relay)
            for name, reason in _reasons([port]).items()}


def _number(text: str) -> int:
    """A tunnel key, 0 for a text that is none."""
    return int(text) if text.isdecimal() and len(text) <= _DIGITS else 0


# -- ends of veth pairs -------------------------------------------------------

VNI_INTERFACE = {'type': ''}
# A type that Open vSwitch writes for itself means the same.
_VNI_TYPES = ('', 'system')


def vni_settings(tag: int) -> dict[str, Any]:
    """Columns of the Port row, without its name and mark; 0 for no tag."""
    return {'tag': [tag], 'vlan_mode': [], 'trunks': []}


def is_vni_port(port: columns.Row) -> bool:
    """Whether a Port row is one of a veth pair, by its name and its mark."""
    end = evpn_names.vrf_end_of(port.name)
    return bool(end) and ownership.is_managed(port.external_ids)


def vni_ports(ovs: columns.Tables) -> dict[str, tuple[str, int]]:
    """(bridge, tag) by name; ('', 0) with wrong settings, or not yet made."""
    found = {}
    for bridge, port, interface in _rows(ovs, is_vni_port):
        tag = next(iter(port.tag), 0)
        right = (as_set(port, vni_settings(tag)) and
                 interface is not None and ofport(interface) > 0 and
                 interface.type in _VNI_TYPES)
        found[port.name] = (bridge, tag) if right else ('', 0)
    return found


def vni_errors(ovs: columns.Tables) -> dict[str, str]:
    """The reasons why Open vSwitch could not make ports, by name."""
    return _reasons(port for _bridge, port, _interface
                    in _rows(ovs, is_vni_port))


# -- both --------------------------------------------------------------------

def _reasons(found: Iterable[columns.Row]) -> dict[str, str]:
    return {port.name: columns.optional(
        port.interfaces[0], 'error', 'ovs-vswitchd could not make the port')
        for port in found
        if len(port.interfaces) == 1 and ofport(port.interfaces[0]) < 0}


def ofport(interface: columns.Row) -> int:
    """OpenFlow port number; -1 after a failure, 0 while there is none yet."""
    number: int = columns.optional(interface, 'ofport', 0)
    return number


def as_set(row: columns.Row, settings: Mapping[str, Any]) -> bool:
    """Whether the columns of a row have some values."""
    return all(getattr(row, column) == value
               for column, value in settings.items())


def _rows(ovs: columns.Tables, is_ours: Callable[[columns.Row], bool]
          ) -> Iterator[tuple[str, columns.Row, columns.Row]]:
    """(name of the bridge, row of Port, row of Interface or None)."""
    for bridge in ovs['Bridge'].values():
        for port in bridge.ports:
            if is_ours(port):
                interfaces = port.interfaces
                yield bridge.name, port, (
                    interfaces[0] if len(interfaces) == 1 else None)
