# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The wiring of this node, read from the local Open_vSwitch database."""

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
import os

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.model.node import Wiring
from ovn_network_agent.ovs import bridge_ports
from ovn_network_agent.ovs import drain_writer
from ovn_network_agent.ovsdb import columns

MAPPINGS = 'ovn-bridge-mappings'
_ADDRESSES = 'ovn-encap-ip'


def read(ovs: columns.Tables,
         devices: tuple[model.Device, ...]) -> Wiring:
    """The wiring from the local Open_vSwitch database."""
    external_ids = {}
    for row in ovs['Open_vSwitch'].values():
        external_ids = row.external_ids
    mappings = bridge_mappings(external_ids)
    wanted, problems = drain_writer.parse(
        external_ids.get(ownership.EXT_ID_DRAIN, ''))
    bridges = {bridge for _network, bridge in mappings}
    return Wiring(
        external_ids.get('system-id', ''),
        # As chassis.c of ovn-controller.
        of_chassis(external_ids, 'hostname') or os.uname().nodename, mappings,
        tuple(sorted(_patch_ports(ovs, bridges))), devices, wanted,
        problems, tuple(sorted(
            bridge_ports.usable_relays(ovs),
            key=lambda r: (r.bridge, r.address, r.port))),
        ownership.EXT_ID_OVERLAP in external_ids,
        _addresses(external_ids),
        egress=external_ids.get(
            ownership.EXT_ID_EGRESS_NODE, '').lower() == 'true')


def addresses(ovs: columns.Tables) -> tuple[str, ...]:
    """The addresses of the tunnels of this node, from the local database."""
    return next((_addresses(row.external_ids)
                 for row in ovs['Open_vSwitch'].values()), ())


def _addresses(external_ids: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(filter(None, of_chassis(external_ids, _ADDRESSES).split(',')))


def ports(ovs: columns.Tables, bridge: str) -> list[str]:
    """Names of the ports of a bridge, from the local database."""
    return [port.name for row in ovs['Bridge'].values()
            if row.name == bridge for port in row.ports]


def _patch_ports(ovs: columns.Tables, bridges: Collection[str]
                 ) -> Iterator[tuple[str, str, int]]:
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


def bridge_mappings(external_ids: Mapping[str, str]
                    ) -> tuple[tuple[str, str], ...]:
    """(physical network, bridge) of each part of ovn-bridge-mappings.

    As ovn-controller: a space belongs to the name, and a bad item ends the
    list.
    """
    found = []
    for item in of_chassis(external_ids, MAPPINGS).split(','):
        network, _colon, bridge = item.partition(':')
        if not (network and bridge):
            break
        found.append((network, bridge))
    return tuple(sorted(found))


def of_chassis(external_ids: Mapping[str, str], key: str) -> str:
    """What ovn-controller of this chassis uses for a key, '' without one."""
    return external_ids.get(key_of_chassis(external_ids, key), '')


def key_of_chassis(external_ids: Mapping[str, str], key: str) -> str:
    """The key that counts for ovn-controller of this chassis.

    One with the chassis' name at its end comes before the one without, also
    when empty: ovn-controller(8), since OVN 23.03.
    """
    own = f'{key}-{external_ids.get("system-id", "")}'
    return own if own in external_ids else key
