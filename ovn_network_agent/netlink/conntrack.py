# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Connection tracking: ctnetlink, linux/netfilter/nfnetlink_conntrack.h.

The module finds and deletes the connections of port forwarding.  It reads the
table once for any number of connections, while ``conntrack -D`` reads the
whole table for each connection.
"""

import socket
import sys
import typing

from pyroute2 import netlink
from pyroute2.netlink import nfnetlink
from pyroute2.netlink.nfnetlink import nfctsocket

from ovn_network_agent.netlink import messages
from ovn_network_agent.netlink import texts

#: protocol of the socket; Python's socket module lacks the number
_SUBSYSTEM = nfnetlink.NFNL_SUBSYS_CTNETLINK << 8
GET = _SUBSYSTEM | nfctsocket.IPCTNL_MSG_CT_GET
DELETE = _SUBSYSTEM | nfctsocket.IPCTNL_MSG_CT_DELETE

# pyroute2 0.8 does not know CTA_STATUS_MASK.
MESSAGE = messages.narrow(
    nfctsocket.nfct_msg, 'CTA_TUPLE_ORIG', 'CTA_TUPLE_REPLY', 'CTA_STATUS',
    'CTA_ID', 'CTA_ZONE', (26, 'CTA_STATUS_MASK', 'be32'))
# The tuple stays as it was read, because a deletion has to repeat it.
DELETION = messages.narrow(
    nfctsocket.nfct_msg,
    (1, 'CTA_TUPLE_ORIG', 'binary', netlink.NLA_F_NESTED), 'CTA_ID',
    'CTA_ZONE')
_DESTINATION_CHANGED = nfctsocket.IPS_DST_NAT
# Bytes of struct nfgenmsg, and of the header of an attribute.
_HEADER = 4

FAMILIES = {'ip': socket.AF_INET, 'ip6': socket.AF_INET6}
_ADDRESS = {socket.AF_INET: 'CTA_IP_V4', socket.AF_INET6: 'CTA_IP_V6'}
# Of the first fields of a connection with ports.
_TYPES = [int, str, int, str, int]


class Tracked(typing.NamedTuple):
    """A tracked connection whose destination was translated.

    :ivar protocol: IP protocol, a number
    :ivar address: IP address that the client sent to, text
    :ivar port: port that the client sent to
    :ivar destination: IP address of the destination that answers, text
    :ivar destination_port: port of the destination
    :ivar name: attributes that identify the connection in a deletion
    """

    protocol: int
    address: str
    port: int
    destination: str
    destination_port: int
    name: tuple


def read(kernel, family, zone, targets=None):
    """Translated connections of a zone.

    :param kernel: netlink.connection.Connection, of NETLINK_NETFILTER
    :param family: 'ip' or 'ip6'
    :param zone: number
    :param targets: set of (protocol, address, port, destination,
        destination_port), as in :class:`Tracked`, for only such connections;
        None for all
    :returns: list of :class:`Tracked`, without connections that have a
        zone for one direction only
    :raises OSError: when the table cannot be read
    """
    number = FAMILIES[family]
    # Linux 6.8 filters by zone, and 5.18 by status; older kernels dump all.
    body = messages.encode(
        MESSAGE, [('CTA_ZONE', zone), ('CTA_STATUS', _DESTINATION_CHANGED),
                  ('CTA_STATUS_MASK', _DESTINATION_CHANGED)],
        nfgen_family=number)
    of_zone = body[_HEADER:_HEADER + 8]

    mentions = _mentions(targets)

    def wanted(data, start, end):
        # This decodes nothing, because there may be a million others.
        return (data.find(of_zone, start, end) >= 0 and
                (targets is None or mentions(data, start, end)))

    found = (_decode(number, messages.attributes(messages.decode(
        MESSAGE, *message)), zone) for message in kernel.dump(
            GET, body, wanted))
    return [one for one in found if one is not None and
            (targets is None or one[:5] in targets)]


class Sender(typing.NamedTuple):
    """A tracked connection in the zone 0, by who began it.

    :ivar address: IP address of that host, text
    :ivar seen_as: IP address that the other end answers to, text
    :ivar name: attributes that identify the connection in a deletion
    """

    address: str
    seen_as: str
    name: tuple


def read_senders(kernel, family, addresses):
    """Connections in the zone 0 that some hosts have begun.

    :param kernel: netlink.connection.Connection, of NETLINK_NETFILTER
    :param family: 'ip' or 'ip6'
    :param addresses: collection of IP addresses, text
    :returns: list of :class:`Sender`
    :raises OSError: when the table cannot be read
    """
    number, words = FAMILIES[family], _words(addresses)

    def wanted(data, start, end):
        return not words.isdisjoint(
            memoryview(data)[start:end & ~3].cast('I'))

    found = (_sender(number, messages.attributes(messages.decode(
        MESSAGE, *message))) for message in kernel.dump(
            GET, messages.encode(MESSAGE, nfgen_family=number), wanted))
    return [one for one in found if one is not None and
            one.address in addresses]


def _sender(family, found):
    if found.get('CTA_ZONE') or not {
            'CTA_TUPLE_ORIG', 'CTA_TUPLE_REPLY', 'CTA_ID'} <= found.keys():
        return None
    original, reply = found['CTA_TUPLE_ORIG'], found['CTA_TUPLE_REPLY']
    known = _address(original, family, 'SRC'), _address(reply, family, 'DST')
    if None in known:
        return None
    return Sender(*known, (
        family, ('CTA_TUPLE_ORIG', _payload(original)),
        ('CTA_ID', found['CTA_ID'])))


def _mentions(targets):
    """A function that returns whether a message may be about a target."""
    there = _words(target[1] for target in targets or ())
    behind = _words(target[3] for target in targets or ())

    def mentions(data, start, end):
        words = memoryview(data)[start:end & ~3].cast('I')
        return not (there.isdisjoint(words) or behind.isdisjoint(words))

    return mentions


def _words(addresses):
    """The last 32 bits of addresses; messages align addresses to 32 bits."""
    return {int.from_bytes(texts.parse_address(address)[1][-4:],
                           sys.byteorder) for address in addresses}


def deletion(connection):
    """The request that deletes exactly this connection.

    :param connection: :class:`Tracked` or :class:`Sender`
    :returns: (type, flags, body)
    """
    return DELETE, 0, messages.encode(DELETION, connection.name[1:],
                                      nfgen_family=connection.name[0])


def _decode(family, found, zone):
    if (found.get('CTA_ZONE') != zone or
            not found.get('CTA_STATUS', 0) & _DESTINATION_CHANGED or
            not {'CTA_TUPLE_ORIG', 'CTA_TUPLE_REPLY'} <= found.keys()):
        return None
    original, reply = found['CTA_TUPLE_ORIG'], found['CTA_TUPLE_REPLY']
    port = _within(original, 'CTA_TUPLE_PROTO', 'CTA_PROTO_DST_PORT')
    known = (_within(original, 'CTA_TUPLE_PROTO', 'CTA_PROTO_NUM'),
             _address(original, family, 'DST'), port,
             _address(reply, family, 'SRC'),
             _within(reply, 'CTA_TUPLE_PROTO', 'CTA_PROTO_SRC_PORT'))
    if 'CTA_ID' not in found or list(map(type, known)) != _TYPES:
        # Only TCP and UDP have ports.
        return None
    return Tracked(*known, (
        family, ('CTA_TUPLE_ORIG', _payload(original)),
        ('CTA_ZONE', zone), ('CTA_ID', found['CTA_ID'])))


def _within(found, outer, inner):
    """A value in nested attributes; None without one.

    pyroute2 leaves an attribute that it cannot decode as bytes.
    """
    for name in (outer, inner):
        if not hasattr(found, 'get_attr'):
            return None
        found = found.get_attr(name)
    return found


def _address(found, family, end):
    address = _within(found, 'CTA_TUPLE_IP', f'{_ADDRESS[family]}_{end}')
    return None if address is None else texts.canonical(address)


def _payload(found):
    """An attribute as it was read, without its header."""
    return bytes(found.data[found.offset + _HEADER:
                            found.offset + found.length])
