# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What this node has of VNIs: devices, a port, zebra's and bgpd's state."""

from collections.abc import Iterable
import typing

from oslo_config import cfg

from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.readers import frr
from ovn_network_agent.frr import evpn
from ovn_network_agent.model import evpn_names
from ovn_network_agent.netlink.objects import links
from ovn_network_agent.netlink.objects import vni_links
from ovn_network_agent.ovn.subjects import vnis
from ovn_network_agent.ovs import bridge_ports
from ovn_network_agent.ovsdb import columns

#: by name, see vni_links.read()
Devices: typing.TypeAlias = tuple[dict[str, links.Link],
                                  dict[str, vni_links.Details]]

# Any, as in facts.Facts.
_NOT_READ: typing.Any = readers.Unread('not read')


class Session(typing.NamedTuple):
    """A BGP neighbour that is activated for EVPN."""

    name: str  # its address or device
    state: str  # such as 'Established'
    received: int = 0
    sent: int = 0


class Vni(typing.NamedTuple):
    """What this node has of a VNI; each part may be an exception."""

    devices: Devices = _NOT_READ
    port: tuple[str, int] | None = _NOT_READ
    states: dict[int, evpn.State] = _NOT_READ
    rds: dict[int, str] = _NOT_READ
    routes: dict[str, tuple[str, ...]] = _NOT_READ
    sessions: tuple[Session, ...] = _NOT_READ
    hops: tuple[vni_links.Hop, ...] = _NOT_READ


def read_devices() -> Devices:
    """See :func:`vni_links.read`."""
    with readers.unread('kernel'):
        return vni_links.read_all()


def read_hops(conf: cfg.ConfigOpts) -> tuple[vni_links.Hop, ...]:
    """The next hops of all VNIs."""
    with readers.unread('kernel'):
        return tuple(vni_links.read_next_hops(conf.evpn.table_base))


def read_port(conf: cfg.ConfigOpts, name: str) -> tuple[str, int] | None:
    """The port of Open vSwitch of a veth pair, None without one."""
    port = evpn_names.bridge_end(name)
    with readers.Session(conf, 'ovs') as session:
        rows, _bridges = session.select(('Port', ['name', '==', port]),
                                        ('Bridge',))
        session.by_uuid('Interface', (
            key for row in rows
            for key in columns.referenced(row, 'interfaces')))
        return bridge_ports.vni_ports(session.tables).get(port)


def read_states() -> dict[int, evpn.State]:
    """The VNIs that zebra has in VRFs."""
    output = frr.ask_text('zebra', 'show vrf vni json')
    with frr.Parsing():
        return {each.vni: each for each in evpn.states(output)}


def read_rds() -> dict[int, str]:
    """bgpd's route distinguishers by VNI; none without advertise-all-vni."""
    found = frr.ask_json('bgpd', 'show bgp l2vpn evpn vni json')
    with frr.Parsing():
        return rds(found)


def rds(documents: Iterable[frr.Document]) -> dict[int, str]:
    """See :func:`read_rds`."""
    return {values['vni']: values['rd'] for document in documents
            for values in document.values()
            if isinstance(values, dict) and values['type'] == 'L3' and
            values['inKernel'] == 'True'}


def read_routes(rd: str) -> dict[str, tuple[str, ...]]:
    """By prefix of the type 5 routes of an RD, the neighbours that get it."""
    with frr.Parsing():
        if vnis.targets(rd) != (rd,):
            raise ValueError(f'{rd!r} is no route distinguisher')
    found = frr.ask_json('bgpd', f'show bgp l2vpn evpn route rd {rd} type '
                                 'prefix json')
    with frr.Parsing():
        return routes(found)


def routes(documents: Iterable[frr.Document]) -> dict[str, tuple[str, ...]]:
    """See :func:`read_routes`."""
    return {f'{route["ip"]}/{route["ipLen"]:d}': tuple(sorted(
        route.get('advertisedTo', ())))
        for document in documents for of_rd in document.values()
        if isinstance(of_rd, dict)
        for route in of_rd.values() if isinstance(route, dict)}


def read_sessions(vrf: str) -> tuple[Session, ...]:
    """The neighbours that are activated for EVPN."""
    found = frr.ask_json(
        'bgpd', f'show bgp {frr.of_vrf(vrf)}l2vpn evpn summary json')
    with frr.Parsing():
        return sessions(found)


def sessions(documents: Iterable[frr.Document]) -> tuple[Session, ...]:
    """See :func:`read_sessions`."""
    return tuple(Session(name, values['state'], values.get('pfxRcd', 0),
                         values.get('pfxSnt', 0))
                 for document in documents
                 for name, values in document.get('peers', {}).items())
