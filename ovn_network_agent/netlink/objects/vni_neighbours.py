# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The neighbours of next hops behind VXLAN devices.

zebra gives each next hop of a type 5 route a neighbour on the VNI's bridge,
and its MAC an entry of the VXLAN device; a route without loses each packet.
"""

import typing

from ovn_network_agent import ownership
from ovn_network_agent.common import ip_text
from ovn_network_agent.model import evpn_names
from ovn_network_agent.netlink import connection
from ovn_network_agent.netlink.objects import links
from ovn_network_agent.netlink.objects import neighbours
from ovn_network_agent.netlink.objects import routes

# RTPROT_BGP of linux/rtnetlink.h.
_BGP = 186


class Hop(typing.NamedTuple):
    """A next hop of routes in the VRF of a VNI."""

    vni: int
    via: str  # address of the other end, for IPv6 an IPv4-mapped one
    # 'neighbour', 'tunnel' (the entry of the VXLAN device), or ''.
    lacks: str = ''


def read(kernel: connection.Connection, base: int) -> list[Hop]:
    """The next hops of all VNIs, each once, sorted.

    Asked for the VNIs' tables alone (from table_base): the underlay may have
    the routes of the whole fabric.
    """
    names = {link.index: name for name, link in links.read(kernel).items()}
    hops = {(vni, route.via) for name in names.values()
            if (vni := evpn_names.vni_of_device(name)) and
            name == evpn_names.bridge(vni)
            for route in routes.read(kernel, _BGP,
                                     evpn_names.table(base, vni))
            if route.via and route.dev == name}
    if not hops:
        return []
    macs = {(names.get(each.index), each.dst): each.mac
            for each in neighbours.read(kernel)}
    ends = {(names.get(each.index), each.mac, each.dst)
            for each in neighbours.read_tunnels(kernel)}
    return [Hop(vni, via, _lacks(vni, via, macs, ends))
            for vni, via in sorted(hops)]


def _lacks(vni: int, via: str, macs: dict[tuple[str | None, str], str],
           ends: set[tuple[str | None, str, str]]) -> str:
    mac = macs.get((evpn_names.bridge(vni), via))
    if not mac:
        return 'neighbour'
    end = str(getattr(ip_text.address(via), 'ipv4_mapped', None) or via)
    return '' if (evpn_names.vxlan(vni), mac, end) in ends else 'tunnel'


def read_all(base: int = ownership.EVPN_TABLES.start) -> list[Hop]:
    """As :func:`read`, on a new connection."""
    with connection.Connection() as kernel:
        return read(kernel, base)
