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

"""Connection tracking: ctnetlink, linux/netfilter/nfnetlink_conntrack.h.

Only what it takes to find and delete the connections of port forwarding, in
one pass over the table for any number of them: ``conntrack -D`` looks
through all connections once for each.
"""

import socket
import struct
import typing

from ovn_network_agent.netlink import wire

#: the socket's protocol, linux/netlink.h; the library does not have it
NETLINK_NETFILTER = 12
# NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_GET, ..._DELETE
GET = 0x101
DELETE = 0x102

# struct nfgenmsg: family, version, res_id
NFGENMSG = struct.Struct('>BBH')
_TUPLE_ORIG = 1
_TUPLE_REPLY = 2
_STATUS = 3
_ID = 12
_ZONE = 18
_STATUS_MASK = 26
_TUPLE_IP = 1
_TUPLE_PROTO = 2
_IP_SOURCE = {socket.AF_INET: 1, socket.AF_INET6: 3}
_IP_DESTINATION = {socket.AF_INET: 2, socket.AF_INET6: 4}
_PROTO_NUMBER = 1
_PROTO_SOURCE = 2
_PROTO_DESTINATION = 3
# IPS_DST_NAT of linux/netfilter/nf_conntrack_common.h
_DESTINATION_CHANGED = 1 << 5

_PORT = struct.Struct('>H')
_WORD = struct.Struct('>I')

FAMILIES = {'ip': socket.AF_INET, 'ip6': socket.AF_INET6}


class Connection(typing.NamedTuple):
    """A tracked connection whose destination was translated.

    :ivar protocol: IP protocol, a number
    :ivar address: where the client sent it to, text
    :ivar port: likewise
    :ivar backend: who answers, text
    :ivar backend_port: likewise
    :ivar name: what it takes to delete it, bytes
    """

    protocol: int
    address: str
    port: int
    backend: str
    backend_port: int
    name: bytes


def read(kernel, family, zone):
    """Translated connections of a zone.

    :param kernel: netlink.connection.Connection, of
        :data:`NETLINK_NETFILTER`
    :param family: 'ip' or 'ip6'
    :param zone: number
    :returns: iterator of :class:`Connection`; none whose zone differs by
        direction
    :raises OSError: when they cannot be read
    """
    number = FAMILIES[family]
    of_zone = wire.attribute(_ZONE, _PORT.pack(zone))
    # Linux 6.8 selects by zone, 5.18 by status; older ones give us all.
    status = _WORD.pack(_DESTINATION_CHANGED)
    body = (NFGENMSG.pack(number, 0, 0) + of_zone
            + wire.attribute(_STATUS, status)
            + wire.attribute(_STATUS_MASK, status))

    def wanted(data, start, end):
        # Without decoding: there may be a million of other zones.
        return data.find(of_zone, start, end) >= 0

    for data, start, end in kernel.dump(GET, body, wanted):
        found = _decode(number, wire.attributes(
            data, start + NFGENMSG.size, end), _PORT.pack(zone))
        if found is not None:
            yield found


def deletion(connection):
    """The request that deletes a connection, if it is still that one.

    :returns: (type, flags, body)
    """
    return DELETE, 0, connection.name


def _decode(family, found, zone):
    status = _WORD.unpack(found.get(_STATUS, bytes(4)))[0]
    if (found.get(_ZONE) != zone or not status & _DESTINATION_CHANGED
            or _TUPLE_ORIG not in found or _TUPLE_REPLY not in found):
        return None
    original, proto = _tuple(found[_TUPLE_ORIG])
    reply, reply_proto = _tuple(found[_TUPLE_REPLY])
    if not {_PROTO_SOURCE, _PROTO_DESTINATION} <= proto.keys():
        # Neither TCP nor UDP: there are no ports.
        return None
    return Connection(
        proto[_PROTO_NUMBER][0],
        wire.address_text(original[_IP_DESTINATION[family]]),
        _PORT.unpack(proto[_PROTO_DESTINATION])[0],
        wire.address_text(reply[_IP_SOURCE[family]]),
        _PORT.unpack(reply_proto[_PROTO_SOURCE])[0],
        NFGENMSG.pack(family, 0, 0)
        + wire.attribute(_TUPLE_ORIG | wire.NLA_F_NESTED, found[_TUPLE_ORIG])
        + wire.attribute(_ZONE, zone) + wire.attribute(_ID, found[_ID]))


def _tuple(payload):
    parts = wire.attributes(payload)
    return (wire.attributes(parts[_TUPLE_IP]),
            wire.attributes(parts[_TUPLE_PROTO]))
