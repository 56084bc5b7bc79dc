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

"""Neighbours: struct ndmsg, linux/neighbour.h."""

import struct
import typing

from ovn_network_agent.netlink import connection
from ovn_network_agent.netlink import wire

RTM_NEWNEIGH = 28
RTM_DELNEIGH = 29
RTM_GETNEIGH = 30

# family, padding, ifindex, state, flags, type
NDMSG = struct.Struct('=BxxxiHBB')
NDA_DST = 1
NDA_LLADDR = 2
NDA_IFINDEX = 8
NDA_PROTOCOL = 12
NUD_PERMANENT = 0x80


class Neighbour(typing.NamedTuple):
    """A neighbour entry.

    :ivar index: ifindex of its device
    :ivar dst: IP address
    :ivar mac: MAC address, '' while it is not known
    :ivar permanent: NUD_PERMANENT
    :ivar protocol: NDA_PROTOCOL, who made it; 0 when nobody said
    """

    index: int
    dst: str
    mac: str
    permanent: bool
    protocol: int = 0


def encode(index, dst, mac='', protocol=0):
    """Body of RTM_NEWNEIGH (permanent), or without a MAC of RTM_DELNEIGH.

    :param protocol: who makes it
    :raises ValueError: when an address is none
    """
    family, packed = wire.parse_address(dst)
    body = NDMSG.pack(family, index, NUD_PERMANENT if mac else 0, 0, 0)
    body += wire.attribute(NDA_DST, packed)
    if mac:
        body += wire.attribute(NDA_LLADDR, wire.mac_bytes(mac))
    if protocol:
        body += wire.attribute(NDA_PROTOCOL, bytes((protocol,)))
    return body


def read(kernel, index=0, permanent=False):
    """Neighbours of a device, or of all.

    :param kernel: :class:`connection.Connection`
    :param index: ifindex, 0 for all devices
    :param permanent: only permanent ones
    :returns: list of :class:`Neighbour`
    :raises OSError: when they cannot be read
    """
    neighbours = []
    for data, start, end in kernel.dump(
            RTM_GETNEIGH, NDMSG.pack(0, 0, 0, 0, 0) +
            (wire.u32(NDA_IFINDEX, index) if index else b'')):
        _family, dev, state, _flags, _kind = NDMSG.unpack_from(data, start)
        if permanent and not state & NUD_PERMANENT:
            # On a node with BGP EVPN there may be very many others.
            continue
        found = wire.attributes(data, start + NDMSG.size, end)
        if NDA_DST in found:
            neighbours.append(Neighbour(
                dev, wire.address_text(found[NDA_DST]),
                wire.mac_text(found.get(NDA_LLADDR)),
                bool(state & NUD_PERMANENT),
                found.get(NDA_PROTOCOL, b'\0')[0]))
    return neighbours


def read_permanent():
    """Permanent neighbours of all devices, with a connection of its own."""
    with connection.Connection() as kernel:
        return read(kernel, permanent=True)
