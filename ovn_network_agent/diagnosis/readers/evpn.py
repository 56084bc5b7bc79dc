# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What this node has of VNIs: devices, a port, zebra's and bgpd's state."""

import dataclasses
import typing

from ovn_network_agent import evpn_names
from ovn_network_agent import ovsdb
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.readers import frr
from ovn_network_agent.frr import evpn
from ovn_network_agent.frr import lines
from ovn_network_agent.netlink import vni_links
from ovn_network_agent.netlink import vni_neighbours
from ovn_network_agent.ovn import vnis
from ovn_network_agent.ovs import vni_port
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb import once

_NOT_READ = readers.Unread('not read')


class Session(typing.NamedTuple):
    """A BGP neighbour that is activated for EVPN.

    :ivar name: its address or device
    :ivar state: such as 'Established'
    :ivar received: number of routes
    :ivar sent: likewise
    """

    name: str
    state: str
    received: int = 0
    sent: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Vni:
    """What this node has of a VNI; each part may be an exception.

    :ivar devices: see :func:`vni_links.read`
    :ivar port: see :func:`read_port`
    :ivar states: see :func:`read_states`
    :ivar rds: see :func:`read_rds`
    :ivar routes: see :func:`read_routes`
    :ivar sessions: see :func:`read_sessions`
    :ivar hops: see :func:`read_hops`
    """

    devices: object = _NOT_READ
    port: object = _NOT_READ
    states: object = _NOT_READ
    rds: object = _NOT_READ
    routes: object = _NOT_READ
    sessions: object = _NOT_READ
    hops: object = _NOT_READ


def read_devices():
    """See :func:`vni_links.read`.

    :raises readers.Unread: when the kernel does not answer
    """
    try:
        return vni_links.read_all()
    except OSError as error:
        raise readers.Unread(f'kernel: {readers.reason(error)}') from error


def read_hops(conf):
    """The next hops of all VNIs, a tuple of :class:`vni_neighbours.Hop`.

    :param conf: the oslo.config ConfigOpts
    :raises readers.Unread: when the kernel does not answer
    """
    try:
        return tuple(vni_neighbours.read_all(conf.evpn.table_base))
    except OSError as error:
        raise readers.Unread(f'kernel: {readers.reason(error)}') from error


def read_port(conf, name, timeout):
    """The port of Open vSwitch of a veth pair.

    :param conf: the oslo.config ConfigOpts
    :param name: name of the end in the VRF
    :param timeout: seconds
    :returns: (bridge, tag), see :func:`vni_port.ports`; None without a port
    :raises readers.Unread: when the database cannot be read
    """
    port = evpn_names.bridge_end(name)
    try:
        with once.Session([conf.ovs.ovsdb_connection],
                          ovsdb.SCHEMAS['ovs'], timeout) as session:
            rows, _bridges = session.select(('Port', ['name', '==', port]),
                                            ('Bridge',))
            session.by_uuid('Interface', (
                key for row in rows
                for key in columns.referenced(row, 'interfaces')))
            return vni_port.ports(session.tables).get(port)
    except (once.Failed, OSError) as error:
        raise readers.Unread(readers.reason(error)) from error


def read_states():
    """The VNIs that zebra has in VRFs, a dict to :class:`evpn.State`.

    :raises readers.Unread: when zebra does not answer
    """
    said = frr.ask_text('zebra', 'show vrf vni json')
    with frr.readable():
        return {each.vni: each for each in evpn.states(said)}


def read_rds():
    """The route distinguishers of the VNIs that bgpd has, a dict.

    Without advertise-all-vni, bgpd has none.

    :raises readers.Unread: when bgpd does not answer
    """
    found = frr.ask_json('bgpd', 'show bgp l2vpn evpn vni json')
    with frr.readable():
        return rds(found)


def rds(documents):
    """See :func:`read_rds`.

    :param documents: iterable of dict
    """
    return {values['vni']: values['rd'] for document in documents
            for values in document.values()
            if isinstance(values, dict) and values['type'] == 'L3' and
            values['inKernel'] == 'True'}


def read_routes(rd):
    """The type 5 routes with a route distinguisher, as a dict.

    :param rd: text such as '192.0.2.11:1001'
    :returns: dict of prefix to a tuple of names: the neighbours that get it
    :raises readers.Unread: when bgpd does not answer
    """
    with frr.readable():
        if vnis.targets(rd) != (rd,):
            raise ValueError(f'{rd!r} is no route distinguisher')
    found = frr.ask_json('bgpd', f'show bgp l2vpn evpn route rd {rd} type '
                                 'prefix json')
    with frr.readable():
        return routes(found)


def routes(documents):
    """See :func:`read_routes`.

    :param documents: iterable of dict
    """
    return {f'{route["ip"]}/{route["ipLen"]:d}': tuple(sorted(
        route.get('advertisedTo', ())))
        for document in documents for of_rd in document.values()
        if isinstance(of_rd, dict)
        for route in of_rd.values() if isinstance(route, dict)}


def read_sessions(vrf):
    """The neighbours that are activated for EVPN, a tuple of Session.

    :param vrf: name of the VRF, '' for the default VRF
    :raises readers.Unread: when bgpd does not answer
    """
    of_vrf = f'vrf {lines.check_device(vrf)} ' if vrf else ''
    found = frr.ask_json('bgpd',
                         f'show bgp {of_vrf}l2vpn evpn summary json')
    with frr.readable():
        return sessions(found)


def sessions(documents):
    """See :func:`read_sessions`.

    :param documents: iterable of dict
    """
    return tuple(Session(name, values['state'], values.get('pfxRcd', 0),
                         values.get('pfxSnt', 0))
                 for document in documents
                 for name, values in document.get('peers', {}).items())
