# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The gauges that follow from the present view, and from the kernel.

All input is frozen, so any thread may compute them, which spares the loop.
"""

import collections
from collections.abc import Iterable
from collections.abc import Mapping
import re

from oslo_config import cfg

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.common import networks
from ovn_network_agent.conf.options import egress_ip
from ovn_network_agent.conf.options import network_peer
from ovn_network_agent.control import intents
from ovn_network_agent.forward import vip_state
from ovn_network_agent.metrics import declared
from ovn_network_agent.netlink.objects import procfs
from ovn_network_agent.ovsdb import connection

# The devices of the network namespace of this process.
NET_DEV = '/proc/self/net/dev'
# Fields behind the name of a device: those of received packets, then as many
# of sent ones (the function dev_seq_printf_stats of Linux).
_PACKETS, _DROPPED, _SENT = 1, 3, 8
# A counter has 64 bits.
_FIELD = re.compile(r'(?<!\S)[0-9]{1,20}(?!\S)')
# By the values of the labels.
_Labelled = dict[tuple[str], int]


def of_view(snapshot: model.Snapshot | None,
            conf: cfg.ConfigOpts) -> declared.Gauges:
    """The gauges of the last view of OVN, if there was one."""
    if snapshot is None:
        return {'phase': _phases(model.Phase.RESTORING)}
    ports = [port for router in snapshot.routers
             for port in router.local_ports]
    return {
        'phase': _phases(snapshot.node.phase),
        'local_routers': sum(
            1 for router in snapshot.routers if router.local_ports),
        'gateway_ports_here': len(ports),
        'effective_networks': len({
            network for port in ports for network
            in networks.provider_networks(port.networks,
                                          conf.network_cidr)}),
        'localnet_segments': len({
            port.segment.datapath for port in ports if port.segment}),
        'drains_requested': len(snapshot.node.drains),
        'network_peer_intents': _peerings(snapshot, conf),
        **_egress(snapshot, conf),
        'gateway_groups': _groups(snapshot),
        'gateway_port_served': _served(snapshot),
        'vrf_default_route_present': _default_route(
            snapshot, conf.frr.vrf_name)}


def _peerings(snapshot: model.Snapshot,
              conf: cfg.ConfigOpts) -> _Labelled | None:
    """The intents of routers to peer, by state; None without the driver."""
    if network_peer.GROUP not in conf.drivers:
        return None
    states = collections.Counter(
        each.state for each in intents.of_view(snapshot, model.Peering))
    return {(state.value,): states[state] for state in model.PeerState}


def _egress(snapshot: model.Snapshot, conf: cfg.ConfigOpts) -> declared.Gauges:
    """The places of egress addresses, and machines; {} without the driver."""
    if egress_ip.GROUP not in conf.drivers:
        return {}
    found = intents.of_view(snapshot, model.EgressIp)
    places = [place for each in found for place in each.places]
    machines = [machine for each in found for machine in each.machines]
    return {
        'egress_ip_places': {
            (state,): sum(bool(place.address) is wanted for place in places)
            for state, wanted in (('assigned', True), ('unassigned', False))},
        'egress_ip_machines': {
            (state,): sum(bool(each.why) is wanted for each in machines)
            for state, wanted in (('leaving', False), ('left_out', True))}}


def of_neighbours() -> declared.Gauges:
    """The tables of neighbours of the kernel, which are read here."""
    tables = {(f'ipv{version}',): procfs.neighbour_table(version)
              for version in networks.VERSIONS}
    return {name: {family: getattr(table, attribute)
                   for family, table in tables.items() if table}
            for name, attribute in (
                ('neighbour_entries', 'entries'),
                ('neighbour_limit', 'limit'),
                ('neighbour_overflows_total', 'overflows'))}


def _phases(present: model.Phase) -> _Labelled:
    return {(phase.value,): int(phase is present) for phase in model.Phase}


def _groups(snapshot: model.Snapshot) -> _Labelled:
    found = collections.Counter(group.state for group in snapshot.groups)
    return {(state.value,): found[state] for state in model.GatewayState}


def _served(snapshot: model.Snapshot) -> _Labelled:
    """Whether this node has to announce a port, by the name of the port."""
    # In the clean-up, the addresses of ports that stay here are withdrawn.
    serves = snapshot.node.phase is not model.Phase.STOPPED
    leaving = {model.REDIRECT + port.lrp for router in snapshot.routers
               for port in router.ports
               if port.handover is model.Handover.ANNOUNCE}
    return {
        (port.redirect.removeprefix(model.REDIRECT),): int(
            serves and (port.chassis == snapshot.node.chassis or
                        port.redirect in leaving))
        for group in snapshot.groups for port in group.ports}


def _default_route(snapshot: model.Snapshot, vrf: str) -> int | None:
    device = snapshot.node.device(vrf) if vrf else None
    known = device.default_route if device else None
    return None if known is None else int(known)


def of_vips(standings: Iterable[vip_state.VipStatus]) -> declared.Gauges:
    """The gauges of port forwards."""
    states = collections.Counter(found.state for found in standings)
    backends: dict[tuple[str, str, int], int] = {}
    alive: dict[tuple[str, str, int], int] = {}
    for found in standings:
        for rule in found.vip.rules:
            labels = found.vip.address, rule.proto, rule.port
            backends[labels] = len(rule.destinations)
            if rule.check is not None:
                alive[labels] = sum(
                    1 for backend in rule.destinations if backend.alive)
    return {
        'vips': {(state.value,): states[state] for state in vip_state.State},
        'announced_vips': states[vip_state.State.ANNOUNCED],
        'vip_announced': {
            (found.vip.address,): int(found.state is vip_state.State.ANNOUNCED)
            for found in standings},
        'vip_backends': backends, 'vip_backends_alive': alive}


def of_databases(
        databases: Mapping[str, connection.Database]) -> declared.Gauges:
    """The gauges of the connections."""
    return {'ovn_connection_state': {
        (name,): int(database.connected)
        for name, database in databases.items()}}


def of_veth(path: str = NET_DEV) -> dict[str, dict[tuple[str, str], int]]:
    """The counters of the pair by device and direction, for store.Store.

    A missing device is left out; all are if the kernel cannot be asked.
    """
    try:
        with open(path, encoding='ascii', errors='replace') as opened:
            return veth_counters(opened.read())
    except OSError:
        return {}


def veth_counters(text: str) -> dict[str, dict[tuple[str, str], int]]:
    """The counters of the devices, from the text of the kernel."""
    packets: dict[tuple[str, str], int] = {}
    dropped: dict[tuple[str, str], int] = {}
    for line in text.splitlines():
        name, _colon, rest = line.partition(':')
        device = name.strip()
        if device in ownership.VETH_ENDS:
            fields = _FIELD.findall(rest)
            if len(fields) <= _SENT + _DROPPED:
                continue
            for direction, first in (('received', 0), ('sent', _SENT)):
                packets[device, direction] = int(
                    fields[first + _PACKETS])
                dropped[device, direction] = int(
                    fields[first + _DROPPED])
    return {'veth_packets_total': packets, 'veth_dropped_total': dropped}
