# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A VNI in the kernel: VRF, bridge, VXLAN device, veth pairs, neighbours.

zebra gives each next hop of a type 5 route a neighbour on the VNI's bridge,
and its MAC an entry of the VXLAN device; a route without loses each packet.
"""

from collections.abc import Iterable
import functools
import socket
import typing

from pyroute2 import netlink
from pyroute2.netlink.rtnl import ifinfmsg

from ovn_network_agent import ownership
from ovn_network_agent.common import ip_text
from ovn_network_agent.model import evpn_names
from ovn_network_agent.netlink import connection
from ovn_network_agent.netlink import messages
from ovn_network_agent.netlink import route_codec
from ovn_network_agent.netlink import texts
from ovn_network_agent.netlink import wire
from ovn_network_agent.netlink.objects import links
from ovn_network_agent.netlink.objects import neighbours
from ovn_network_agent.netlink.objects import routes

# IN6_ADDR_GEN_MODE_NONE of linux/if_link.h: no link-local address.
_GENERATE_NONE = 1
# Numbers of attributes of linux/if_link.h.
_MTU, _AF_SPEC, _SLAVE_KIND, _SLAVE_DATA, _ADDR_GEN_MODE = 4, 26, 4, 5, 8
_GROUP = 27
_LEARNING, _SUPPRESS = 8, 32
_VXLAN_ID, _VXLAN_LINK, _VXLAN_LOCAL, _VXLAN_LEARNING, _VXLAN_PORT = (
    1, 3, 4, 7, 15)
_PEER = 'VETH_INFO_PEER'

MESSAGE = messages.narrow(
    ifinfmsg.ifinfmsg, (1, 'IFLA_ADDRESS', 'binary'), 'IFLA_IFNAME',
    'IFLA_MTU', 'IFLA_MASTER',
    (18, 'IFLA_LINKINFO', 'ifinfo', netlink.NLA_F_NESTED),
    (20, 'IFLA_IFALIAS', 'string'),
    (26, 'IFLA_AF_SPEC', 'af_spec_inet', netlink.NLA_F_NESTED),
    (27, 'IFLA_GROUP', 'uint32'))
#: attribute: the group of VNIs
GROUP = 'IFLA_GROUP', ownership.EVPN_GROUP
#: attribute: no IPv6 address by itself
SILENT = 'IFLA_AF_SPEC', {'attrs': [('AF_INET6', {'attrs': [
    ('IFLA_INET6_ADDR_GEN_MODE', _GENERATE_NONE)]})]}
#: attribute of a bridge port: no learning, neighbour suppression
SETTLED = 'IFLA_LINKINFO', {'attrs': [
    ('IFLA_INFO_SLAVE_KIND', 'bridge'),
    ('IFLA_INFO_SLAVE_DATA', {'attrs': [
        ('IFLA_BRPORT_LEARNING', 0), ('IFLA_BRPORT_NEIGH_SUPPRESS', 1)]})]}
# RTPROT_BGP of linux/rtnetlink.h.
_BGP = 186


class Tunnel(typing.NamedTuple):
    """What a VXLAN device is made with, and cannot be changed later."""

    vni: int
    local: str  # source address, IPv4; '' for none
    port: int  # UDP port of the destination
    link: int = 0  # ifindex of the device or VRF of the packets, 0 for none
    learning: bool = False  # whether the device learns addresses


class Details(typing.NamedTuple):
    """More properties of a device."""

    mtu: int
    silent: bool  # whether the kernel gives it no IPv6 address by itself
    tunnel: Tunnel | None
    # A port of a bridge, without learning and with neighbour suppression.
    settled: bool
    grouped: bool = False  # whether the device is in the group of VNIs


# -- bodies of RTM_NEWLINK --------------------------------------------------

def encode_vrf(name: str, table: int) -> bytes:
    """Make a VRF."""
    return _new(name, 'vrf', [('IFLA_VRF_TABLE', table)])


def encode_bridge(name: str, mac: str) -> bytes:
    """Make a bridge with a MAC address of its own."""
    return _new(name, 'bridge', (),
                ('IFLA_ADDRESS', texts.mac_bytes(mac)))


def encode_vxlan(name: str, tunnel: Tunnel, mtu: int) -> bytes:
    """Make a VXLAN device."""
    return _new(name, 'vxlan', [
        ('IFLA_VXLAN_ID', tunnel.vni), ('IFLA_VXLAN_LOCAL', tunnel.local),
        ('IFLA_VXLAN_PORT', tunnel.port),
        ('IFLA_VXLAN_LEARNING', int(tunnel.learning)),
        *([('IFLA_VXLAN_LINK', tunnel.link)] if tunnel.link else ())],
        ('IFLA_MTU', mtu))


def encode_veth(name: str, peer: str, mac: str, mtu: int) -> bytes:
    """Make a veth pair; the MAC is the first end's."""
    other = {'attrs': [('IFLA_IFNAME', peer), ('IFLA_MTU', mtu)]}
    return _new(name, 'veth', [(_PEER, other)],
                ('IFLA_ADDRESS', texts.mac_bytes(mac)), ('IFLA_MTU', mtu))


def _new(name: str, kind: str, data: Iterable[tuple[str, typing.Any]],
         *attributes: tuple[str, typing.Any]) -> bytes:
    return messages.encode(MESSAGE, [
        ('IFLA_IFNAME', name), GROUP, *attributes,
        ('IFLA_LINKINFO', {'attrs': [
            ('IFLA_INFO_KIND', kind),
            ('IFLA_INFO_DATA', {'attrs': list(data)})]})])


def encode_change(name: str, *attributes: tuple[str, typing.Any]) -> bytes:
    """Set attributes of the device with a name."""
    return messages.encode(MESSAGE, [('IFLA_IFNAME', name), *attributes])


def encode_mac(name: str, mac: str) -> bytes:
    """Set the MAC address."""
    return encode_change(name, ('IFLA_ADDRESS', texts.mac_bytes(mac)))


def encode_flags(name: str, up: bool) -> bytes:
    """Bring a device up or down."""
    return messages.encode(
        MESSAGE, [('IFLA_IFNAME', name)],
        flags=ifinfmsg.IFF_UP if up else 0, change=ifinfmsg.IFF_UP)


# -- reading ----------------------------------------------------------------

def read(kernel: connection.Connection
         ) -> tuple[dict[str, links.Link], dict[str, Details]]:
    """All devices of the network namespace; the details only of EVPN's."""
    found: dict[str, links.Link] = {}
    details: dict[str, Details] = {}
    for message in kernel.dump(links.RTM_GETLINK, links.everything()):
        _take(message, found, details)
    return found, details


def names_in_vrfs(kernel: connection.Connection) -> set[str]:
    """Names of the devices in VRFs of VNIs."""
    found, _details = read(kernel)
    vrfs = {link.index for name, link in found.items()
            if link.kind == 'vrf' and evpn_names.vni_of_vrf(name)}
    return {name for name, link in found.items() if link.master in vrfs}


def read_again(kernel: connection.Connection, names: Iterable[str],
               found: dict[str, links.Link],
               details: dict[str, Details]) -> None:
    """Read some devices again, by one question for each, into both dicts.

    :raises OSError: when a device is missing, or the kernel does not answer
    """
    for name in names:
        _take(kernel.ask(links.RTM_GETLINK, messages.encode(
            links.MESSAGE, [
                ('IFLA_EXT_MASK', links.RTEXT_FILTER_SKIP_STATS),
                ('IFLA_IFNAME', name)])), found, details)


def _take(message: wire.Body, found: dict[str, links.Link],
          details: dict[str, Details]) -> None:
    link = links.decode(*message)
    found[link.name] = link
    if evpn_names.is_device(link.name):
        data, start, end = message
        details[link.name] = decode(data[start:end])


def read_mtu(kernel: connection.Connection, name: str) -> int:
    """MTU of a device.

    :raises OSError: when it is missing, or the kernel does not answer
    """
    data, start, end = kernel.ask(links.RTM_GETLINK, encode_change(name))
    return decode(data[start:end]).mtu


def read_all() -> tuple[dict[str, links.Link], dict[str, Details]]:
    """As :func:`read`, on a new connection."""
    with connection.Connection() as kernel:
        return read(kernel)


@functools.lru_cache(maxsize=messages.REMEMBERED)
def decode(body: bytes) -> Details:
    """The :class:`Details` in the body of RTM_NEWLINK."""
    found = links.header(body)[-1]
    info = links.nested(found, links.IFLA_LINKINFO)
    inet6 = links.nested(links.nested(found, _AF_SPEC), socket.AF_INET6)
    port = {}
    if texts.text(info.get(_SLAVE_KIND)) == 'bridge':
        port = links.nested(info, _SLAVE_DATA)
    return Details(
        route_codec.number(found.get(_MTU)),
        inet6.get(_ADDR_GEN_MODE) == bytes([_GENERATE_NONE]), _tunnel(info),
        (port.get(_LEARNING), port.get(_SUPPRESS)) == (b'\0', b'\1'),
        route_codec.number(found.get(_GROUP)) == ownership.EVPN_GROUP)


def _tunnel(info: dict[int, bytes]) -> Tunnel | None:
    if texts.text(info.get(links.IFLA_INFO_KIND)) != 'vxlan':
        return None
    data = links.nested(info, links.IFLA_INFO_DATA)
    local = data.get(_VXLAN_LOCAL)
    return Tunnel(route_codec.number(data.get(_VXLAN_ID)),
                  texts.address_text(local) if local else '',
                  int.from_bytes(data.get(_VXLAN_PORT, b'')),
                  route_codec.number(data.get(_VXLAN_LINK)),
                  data.get(_VXLAN_LEARNING) != b'\0')


# -- neighbours --------------------------------------------------------------


class Hop(typing.NamedTuple):
    """A next hop of routes in the VRF of a VNI."""

    vni: int
    via: str  # address of the other end, for IPv6 an IPv4-mapped one
    # 'neighbour', 'tunnel' (the entry of the VXLAN device), or ''.
    lacks: str = ''


def next_hops(kernel: connection.Connection, base: int) -> list[Hop]:
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


def read_next_hops(base: int = ownership.EVPN_TABLES.start) -> list[Hop]:
    """As :func:`next_hops`, on a new connection."""
    with connection.Connection() as kernel:
        return next_hops(kernel, base)
