# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Network devices: struct ifinfomsg, linux/if_link.h."""

from collections.abc import Iterable
import contextlib
import errno
import functools
import re
import select
import socket
import struct
import sys
import typing

from pyroute2 import netlink
from pyroute2.netlink import rtnl
from pyroute2.netlink.rtnl import ifinfmsg

from ovn_network_agent import model
from ovn_network_agent.netlink import connection
from ovn_network_agent.netlink import messages
from ovn_network_agent.netlink import multicast
from ovn_network_agent.netlink import route_codec
from ovn_network_agent.netlink import texts
from ovn_network_agent.netlink.objects import routes

RTM_NEWLINK = rtnl.RTM_NEWLINK
RTM_DELLINK = rtnl.RTM_DELLINK
RTM_GETLINK = rtnl.RTM_GETLINK

# A link message without statistics has only a quarter of its size.
RTEXT_FILTER_SKIP_STATS = 8

# TAP_DEVICE_PREFIX of neutron_lib.constants, and 11 characters of the UUID of
# a port; or of a network, for its metadata.
_OF_MACHINE = re.compile(r'tap[0-9a-f]{8}-[0-9a-f]{2}')

# linux/if_ether.h.
ETH_P_8021Q = 0x8100
# ifindex and flags in struct ifinfomsg, and numbers of attributes.
_HEADER = struct.Struct('=4xiI4x')
IFLA_ADDRESS, IFLA_IFNAME, IFLA_LINK, IFLA_MASTER = 1, 3, 5, 10
IFLA_LINKINFO, IFLA_IFALIAS, IFLA_LINK_NETNSID = 18, 20, 37
IFLA_INFO_KIND, IFLA_INFO_DATA = 1, 2
IFLA_VRF_TABLE, IFLA_VLAN_ID, IFLA_VLAN_PROTOCOL = 1, 1, 5

# pyroute2 would read six bytes as the MAC; that of a tunnel has four.
MESSAGE = messages.narrow(
    ifinfmsg.ifinfmsg, (1, 'IFLA_ADDRESS', 'binary'), 'IFLA_IFNAME',
    'IFLA_LINK', 'IFLA_MASTER',
    (18, 'IFLA_LINKINFO', 'ifinfo', netlink.NLA_F_NESTED),
    (20, 'IFLA_IFALIAS', 'string'), 'IFLA_EXT_MASK', 'IFLA_LINK_NETNSID')
# A device also loses its routes with its last IPv4 address, see
# :mod:`watches.kernel`.
_GROUPS = (rtnl.RTNLGRP_LINK, rtnl.RTNLGRP_IPV4_IFADDR,
           rtnl.RTNLGRP_IPV4_ROUTE, rtnl.RTNLGRP_IPV6_ROUTE,
           multicast.NEXTHOP)
_DATAGRAM = 64 * 1024


class Link(typing.NamedTuple):
    """A network device as the kernel shows it."""

    # The ifindex; nothing here uses the method of tuples with this name.
    index: int  # type: ignore[assignment]
    name: str
    mac: str  # MAC address, '' without one
    up: bool  # whether the device is administratively up
    kind: str  # 'veth', 'vrf', ..., '' for hardware
    master: int  # ifindex of the device's VRF, bridge or bond, or 0
    # Ifindex of the device below, or of a veth's other end; 0 without one in
    # this network namespace.
    lower: int
    alias: str  # ifalias text
    vrf_table: int  # routing table of a VRF, else 0
    vlan: int = 0  # tag of a VLAN device (IEEE 802.1Q), else 0


def encode_up(index: int) -> bytes:
    """Body of RTM_NEWLINK that brings a device up."""
    return messages.encode(MESSAGE, index=index, flags=ifinfmsg.IFF_UP,
                           change=ifinfmsg.IFF_UP)


def encode_master(index: int, master: int) -> bytes:
    """Body of RTM_NEWLINK that enslaves a device, or frees it (0)."""
    return messages.encode(MESSAGE, [('IFLA_MASTER', master)], index=index)


def encode_delete(index: int) -> bytes:
    """Body of RTM_DELLINK."""
    return messages.encode(MESSAGE, index=index)


def encode_veth(name: str, peer: str) -> bytes:
    """Body of RTM_NEWLINK for a veth pair, both ends down."""
    other = {'attrs': [('IFLA_IFNAME', peer)]}
    return messages.encode(MESSAGE, [
        ('IFLA_IFNAME', name),
        ('IFLA_LINKINFO', {'attrs': [
            ('IFLA_INFO_KIND', 'veth'),
            ('IFLA_INFO_DATA', {'attrs': [('VETH_INFO_PEER', other)]})]})])


def encode_vlan(name: str, bridge: int, tag: int) -> bytes:
    """Body of RTM_NEWLINK for a VLAN device on another (ifindex), down."""
    return messages.encode(MESSAGE, [
        ('IFLA_IFNAME', name), ('IFLA_LINK', bridge),
        ('IFLA_LINKINFO', {'attrs': [
            ('IFLA_INFO_KIND', 'vlan'),
            ('IFLA_INFO_DATA', {'attrs': [('IFLA_VLAN_ID', tag)]})]})])


def encode_alias(index: int, alias: str) -> bytes:
    """Body of RTM_NEWLINK that sets the ifalias text."""
    return messages.encode(MESSAGE, [('IFLA_IFALIAS', alias)], index=index)


def decode(data: bytes, start: int, end: int) -> Link:
    """A :class:`Link` from the body of RTM_NEWLINK."""
    return _decode(data[start:end])


@functools.lru_cache(maxsize=messages.REMEMBERED)
def _decode(body: bytes) -> Link:
    """Cached, because devices are read often and rarely change.

    But a bridge has timers in its body, and there is one for each VNI:
    pyroute2 takes 1.3 ms for a bridge, 50 times as long as this.
    """
    index, up, found = header(body)
    info = nested(found, IFLA_LINKINFO)
    kind = texts.text(info.get(IFLA_INFO_KIND))
    data = nested(info, IFLA_INFO_DATA) if kind in ('vrf', 'vlan') else {}
    return Link(index, texts.text(found.get(IFLA_IFNAME)),
                texts.mac_text(found.get(IFLA_ADDRESS)), up, kind,
                route_codec.number(found.get(IFLA_MASTER)),
                0 if IFLA_LINK_NETNSID in found else
                route_codec.number(found.get(IFLA_LINK)),
                texts.text(found.get(IFLA_IFALIAS)),
                route_codec.number(data.get(IFLA_VRF_TABLE))
                if kind == 'vrf' else 0,
                _vlan(data) if kind == 'vlan' else 0)


def header(body: bytes) -> tuple[int, bool, dict[int, bytes]]:
    """(ifindex, whether it is up, attributes) of a body of RTM_NEWLINK."""
    if len(body) < _HEADER.size:
        raise ValueError(f'netlink link of {len(body)} bytes')
    index, flags = _HEADER.unpack_from(body)
    return (index, bool(flags & ifinfmsg.IFF_UP),
            route_codec.attributes(body, _HEADER.size))


def nested(found: dict[int, bytes], kind: int) -> dict[int, bytes]:
    """The attributes in an attribute, none without it."""
    return route_codec.attributes(found.get(kind, b''))


def _vlan(data: dict[int, bytes]) -> int:
    """The tag of a VLAN device, 0 for another protocol (802.1ad)."""
    tag = data.get(IFLA_VLAN_ID, bytes(2))
    if len(tag) != 2:
        raise ValueError(f'the tag of a VLAN is {tag!r}')
    return int.from_bytes(tag, sys.byteorder) if (
        data.get(IFLA_VLAN_PROTOCOL) == ETH_P_8021Q.to_bytes(2)) else 0


def read(kernel: connection.Connection) -> dict[str, Link]:
    """All devices of the network namespace, by name."""
    links = (decode(*message) for message in kernel.dump(
        RTM_GETLINK, everything()))
    return {link.name: link for link in links}


@functools.cache
def everything() -> bytes:
    """Body of RTM_GETLINK for all devices."""
    return messages.encode(
        MESSAGE, [('IFLA_EXT_MASK', RTEXT_FILTER_SKIP_STATS)])


def named(kernel: connection.Connection,
          names: Iterable[str]) -> dict[str, Link]:
    """Those of some devices that exist, by one question for each."""
    found = {}
    for name in names:
        try:
            found[name] = decode(*kernel.ask(RTM_GETLINK, messages.encode(
                MESSAGE, [('IFLA_EXT_MASK', RTEXT_FILTER_SKIP_STATS),
                          ('IFLA_IFNAME', name)])))
        except OSError as error:
            if error.errno != errno.ENODEV:
                raise
    return found


def device(kernel: connection.Connection, name: str,
           found: dict[str, Link]) -> model.Device:
    """A device for the snapshot; found has it and the one below."""
    link = found[name]
    return model.Device(name, link.mac, link.up, link.vrf_table,
                        _default_route(kernel, link, socket.AF_INET),
                        link.vlan, lower(found, link) if link.vlan else '',
                        _default_route(kernel, link, socket.AF_INET6))


def lower(found: dict[str, Link], link: Link) -> str:
    """Name of the device below a device, '' without one."""
    return next((name for name, other in found.items()
                 if link.lower and other.index == link.lower), '')


def read_all() -> dict[str, Link]:
    """All devices, read on a new connection; see :func:`read`."""
    with connection.Connection() as kernel:
        return read(kernel)


def is_of_machine(name: str) -> bool:
    """Whether Neutron names the port of a machine so."""
    return _OF_MACHINE.fullmatch(name) is not None


def peers(links: dict[str, Link], name: str, peer: str) -> bool:
    """Whether two devices are the two ends of one veth pair."""
    one, other = links.get(name), links.get(peer)
    return (one is not None and other is not None
            and one.kind == other.kind == 'veth'
            and one.lower == other.index and other.lower == one.index)


def read_devices() -> tuple[model.Device, ...]:
    """The devices of this node, for the snapshot, but those of machines.

    These come and go, and each would make another node of this one.
    """
    with connection.Connection() as kernel:
        found = read(kernel)
        return tuple(device(kernel, name, found) for name in sorted(found)
                     if not is_of_machine(name))


def _default_route(kernel: connection.Connection, link: Link,
                   family: int) -> bool | None:
    """Whether a VRF has a default route, None for other devices."""
    if not link.vrf_table:
        return None
    try:
        return routes.has_default(kernel, link.index, link.vrf_table, family)
    except OSError:
        # A VRF that is down or gone must not make the reading fail.
        return None


class _Always:
    """The news while nothing tells them."""

    def poll(self, _timeout: int) -> list[tuple[()]]:
        """There may be news."""
        return [()]


class Devices:
    """Reads the devices, and has the news since the reading.

    The kernel puts each notification into a socket's buffer before the change
    returns to its author. So a reader without news has what the kernel has; a
    thread that watches could be late.

    For one thread, with its network namespace at the first reading.
    """

    def __init__(self) -> None:
        self._socket: socket.socket | None = None
        # Its poll(0) is empty as long as the last reading is true; a lost
        # notification counts as news.
        self.news: _Always | select.poll = _Always()

    def read(self) -> tuple[model.Device, ...]:
        """The present devices, see :func:`links.read_devices`.

        News from before the reading are taken away, never those since its
        begin.

        :raises OSError: when they cannot be read; then read again, whatever
            the news
        """
        self._begin()
        return read_devices()

    def close(self) -> None:
        """Close the socket; a further reading makes a new one."""
        self.news = _Always()
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _begin(self) -> None:
        try:
            if self._socket is None:
                self._socket = multicast.subscribe(
                    _GROUPS, multicast.default_filter(
                        routes.RTM_NEWROUTE, routes.RTM_DELROUTE))
                news = select.poll()
                news.register(self._socket, select.POLLIN)
                self.news = news
            _drain(self._socket)
        except OSError:
            # Without news each view reads the devices.
            self.close()


def _drain(sock: socket.socket) -> None:
    """Take the notifications away."""
    with contextlib.suppress(BlockingIOError):
        while True:
            try:
                sock.recv(_DATAGRAM)
            except OSError as error:
                # Some were lost, and the reading comes after all of them.
                if error.errno != errno.ENOBUFS:
                    raise
