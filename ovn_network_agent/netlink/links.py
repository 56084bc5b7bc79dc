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

"""Network devices: struct ifinfomsg, linux/if_link.h."""

import struct
import typing

from ovn_network_agent import model
from ovn_network_agent.netlink import connection
from ovn_network_agent.netlink import routes
from ovn_network_agent.netlink import wire

RTM_NEWLINK = 16
RTM_DELLINK = 17
RTM_GETLINK = 18

# family, padding, type, ifindex, flags, mask of the flags to change
IFINFOMSG = struct.Struct('=BxHiII')
IFLA_ADDRESS = 1
IFLA_IFNAME = 3
IFLA_LINK = 5
IFLA_MASTER = 10
IFLA_LINKINFO = 18
IFLA_IFALIAS = 20
IFLA_EXT_MASK = 29
IFLA_LINK_NETNSID = 37
IFLA_INFO_KIND = 1
IFLA_INFO_DATA = 2
IFLA_VRF_TABLE = 1
VETH_INFO_PEER = 1
IFF_UP = 1
# Statistics are three quarters of a link message.
RTEXT_FILTER_SKIP_STATS = 8


class Link(typing.NamedTuple):
    """A network device as the kernel shows it.

    :ivar index: ifindex
    :ivar mac: MAC address, '' without one
    :ivar up: administratively up
    :ivar kind: 'veth', 'vrf', ..., '' for hardware
    :ivar master: ifindex of the VRF, bridge or bond it belongs to, or 0
    :ivar lower: ifindex of the device below, the other end of a veth; 0
        without one or when that is in another network namespace
    :ivar alias: ifalias text
    :ivar vrf_table: routing table of a VRF, else 0
    """

    index: int
    name: str
    mac: str
    up: bool
    kind: str
    master: int
    lower: int
    alias: str
    vrf_table: int


def _header(index=0, flags=0, change=0):
    return IFINFOMSG.pack(0, 0, index, flags, change)


def encode_up(index):
    """Body of RTM_NEWLINK that brings a device up."""
    return _header(index, IFF_UP, IFF_UP)


def encode_master(index, master):
    """Body of RTM_NEWLINK that enslaves a device, or frees it (0)."""
    return _header(index) + wire.u32(IFLA_MASTER, master)


def encode_delete(index):
    """Body of RTM_DELLINK."""
    return _header(index)


def encode_veth(name, peer):
    """Body of RTM_NEWLINK for a veth pair, both ends down."""
    return _header() + wire.string(IFLA_IFNAME, name) + wire.nested(
        IFLA_LINKINFO,
        wire.string(IFLA_INFO_KIND, 'veth'),
        wire.nested(IFLA_INFO_DATA, wire.attribute(
            VETH_INFO_PEER | wire.NLA_F_NESTED,
            _header() + wire.string(IFLA_IFNAME, peer))))


def encode_alias(index, alias):
    """Body of RTM_NEWLINK that sets the ifalias text."""
    return _header(index) + wire.attribute(IFLA_IFALIAS, alias.encode())


def decode(data, start, end):
    """A :class:`Link` from the body of RTM_NEWLINK."""
    _family, _kind, index, flags, _change = IFINFOMSG.unpack_from(data, start)
    found = wire.attributes(data, start + IFINFOMSG.size, end)
    info = wire.attributes(found.get(IFLA_LINKINFO, b''))
    kind = wire.text(info.get(IFLA_INFO_KIND))
    table = 0
    if kind == 'vrf':
        table = wire.number(wire.attributes(
            info.get(IFLA_INFO_DATA, b'')).get(IFLA_VRF_TABLE)) or 0
    lower = 0
    if IFLA_LINK_NETNSID not in found:
        lower = wire.number(found.get(IFLA_LINK)) or 0
    return Link(index, wire.text(found.get(IFLA_IFNAME)),
                wire.mac_text(found.get(IFLA_ADDRESS)), bool(flags & IFF_UP),
                kind, wire.number(found.get(IFLA_MASTER)) or 0, lower,
                wire.text(found.get(IFLA_IFALIAS)), table)


def read(kernel):
    """All devices of the network namespace.

    :param kernel: :class:`connection.Connection`
    :returns: dict of name to :class:`Link`
    :raises OSError: when they cannot be read
    """
    links = (decode(*message) for message in kernel.dump(
        RTM_GETLINK,
        _header() + wire.u32(IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS)))
    return {link.name: link for link in links}


def read_all():
    """:func:`read` with a connection of its own."""
    with connection.Connection() as kernel:
        return read(kernel)


def peers(links, name, peer):
    """Whether two names are the two ends of one veth pair.

    :param links: dict of name to :class:`Link`
    """
    one, other = links.get(name), links.get(peer)
    return (one is not None and other is not None
            and one.kind == other.kind == 'veth'
            and one.lower == other.index and other.lower == one.index)


def read_devices():
    """The devices of this node, for the snapshot.

    :returns: tuple of :class:`model.Device`, sorted by name
    :raises OSError: when they cannot be read
    """
    with connection.Connection() as kernel:
        links = read(kernel)
        return tuple(model.Device(name, link.mac, link.up, link.vrf_table,
                                  _default_route(kernel, link))
                     for name, link in sorted(links.items()))


def _default_route(kernel, link):
    """Whether a VRF has a default route, None for other devices."""
    if not link.vrf_table:
        return None
    try:
        return routes.has_default(kernel, link.index, link.vrf_table)
    except OSError:
        # Deleted since, or down: not a reason to know nothing at all.
        return None
