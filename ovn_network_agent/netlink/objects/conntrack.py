# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Connection tracking: ctnetlink, linux/netfilter/nfnetlink_conntrack.h.

One reading serves any number of connections of port forwarding, while
``conntrack -D`` reads the whole table for each.
"""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Set
import socket
import sys
import typing

from pyroute2 import netlink
from pyroute2.netlink import nfnetlink
from pyroute2.netlink.nfnetlink import nfctsocket

from ovn_network_agent.netlink import connection
from ovn_network_agent.netlink import messages
from ovn_network_agent.netlink import texts
from ovn_network_agent.netlink import wire

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
_ADDRESS: dict[int, str] = {socket.AF_INET: 'CTA_IP_V4',
                            socket.AF_INET6: 'CTA_IP_V6'}
# Of the first fields of a connection with ports.
_TYPES = [int, str, int, str, int]


# The first fields of :class:`Tracked`.
Target: typing.TypeAlias = tuple[int, str, int, str, int]


class Tracked(typing.NamedTuple):
    """A tracked connection whose destination was translated."""

    protocol: int  # IP protocol, a number
    address: str  # IP address that the client sent to, text
    port: int  # port that the client sent to
    destination: str  # IP address of the destination that answers, text
    destination_port: int  # port of the destination
    # Attributes that identify the connection in a deletion.
    name: tuple[typing.Any, ...]


def read(kernel: connection.Connection, family: str, zone: int,
         targets: Set[Target] | None = None) -> list[Tracked]:
    """Translated connections of a zone, for both directions; only of targets.
    """
    number = FAMILIES[family]
    # Linux 6.8 filters by zone, and 5.18 by status; older kernels dump all.
    body = messages.encode(
        MESSAGE, [('CTA_ZONE', zone), ('CTA_STATUS', _DESTINATION_CHANGED),
                  ('CTA_STATUS_MASK', _DESTINATION_CHANGED)],
        nfgen_family=number)
    of_zone = body[_HEADER:_HEADER + 8]

    mentions = _mentions(targets)

    def wanted(data: bytes, start: int, end: int) -> bool:
        # Decodes nothing: there may be a million others.
        return (data.find(of_zone, start, end) >= 0 and
                (targets is None or mentions(data, start, end)))

    found = (_decode(number, messages.attributes(messages.decode(
        MESSAGE, *message)), zone) for message in kernel.dump(
            GET, body, wanted))
    return [one for one in found if one is not None and
            (targets is None or one[:5] in targets)]


class Sender(typing.NamedTuple):
    """A tracked connection in the zone 0, by who began it."""

    address: str  # IP address of that host, text
    seen_as: str  # IP address that the other end answers to, text
    # Attributes that identify the connection in a deletion.
    name: tuple[typing.Any, ...]


def read_senders(kernel: connection.Connection, family: str,
                 addresses: Collection[str]) -> list[Sender]:
    """Connections in the zone 0 that some hosts have begun."""
    number, numbers = FAMILIES[family], _as_numbers(addresses)

    def wanted(data: bytes, start: int, end: int) -> bool:
        return not numbers.isdisjoint(
            memoryview(data)[start:end & ~3].cast('I'))

    found = (_sender(number, messages.attributes(messages.decode(
        MESSAGE, *message))) for message in kernel.dump(
            GET, messages.encode(MESSAGE, nfgen_family=number), wanted))
    return [one for one in found if one is not None and
            one.address in addresses]


def _sender(family: int, found: dict[str, typing.Any]) -> Sender | None:
    if found.get('CTA_ZONE') or not {
            'CTA_TUPLE_ORIG', 'CTA_TUPLE_REPLY', 'CTA_ID'} <= found.keys():
        return None
    original, reply = found['CTA_TUPLE_ORIG'], found['CTA_TUPLE_REPLY']
    address = _address(original, family, 'SRC')
    seen_as = _address(reply, family, 'DST')
    if address is None or seen_as is None:
        return None
    return Sender(address, seen_as, (
        family, ('CTA_TUPLE_ORIG', _payload(original)),
        ('CTA_ID', found['CTA_ID'])))


def _mentions(targets: Iterable[Target] | None
              ) -> Callable[[bytes, int, int], bool]:
    """A function that returns whether a message may be about a target."""
    there = _as_numbers(target[1] for target in targets or ())
    behind = _as_numbers(target[3] for target in targets or ())

    def mentions(data: bytes, start: int, end: int) -> bool:
        numbers = memoryview(data)[start:end & ~3].cast('I')
        return not (there.isdisjoint(numbers) or behind.isdisjoint(numbers))

    return mentions


def _as_numbers(addresses: Iterable[str]) -> set[int]:
    """The last 32 bits of addresses; messages align addresses to 32 bits."""
    return {int.from_bytes(texts.parse_address(address)[1][-4:],
                           sys.byteorder) for address in addresses}


def deletion(connection: Tracked | Sender) -> wire.Request:
    """The request that deletes exactly this connection."""
    return DELETE, 0, messages.encode(DELETION, connection.name[1:],
                                      nfgen_family=connection.name[0])


def _decode(family: int, found: dict[str, typing.Any],
            zone: int) -> Tracked | None:
    if (found.get('CTA_ZONE') != zone or
            not found.get('CTA_STATUS', 0) & _DESTINATION_CHANGED or
            not {'CTA_TUPLE_ORIG', 'CTA_TUPLE_REPLY'} <= found.keys()):
        return None
    original, reply = found['CTA_TUPLE_ORIG'], found['CTA_TUPLE_REPLY']
    known: list[typing.Any] = [
        _within(original, 'CTA_TUPLE_PROTO', 'CTA_PROTO_NUM'),
        _address(original, family, 'DST'),
        _within(original, 'CTA_TUPLE_PROTO', 'CTA_PROTO_DST_PORT'),
        _address(reply, family, 'SRC'),
        _within(reply, 'CTA_TUPLE_PROTO', 'CTA_PROTO_SRC_PORT')]
    if 'CTA_ID' not in found or list(map(type, known)) != _TYPES:
        # Only TCP and UDP have ports.
        return None
    protocol, address, port, destination, destination_port = known
    return Tracked(protocol, address, port, destination, destination_port, (
        family, ('CTA_TUPLE_ORIG', _payload(original)),
        ('CTA_ZONE', zone), ('CTA_ID', found['CTA_ID'])))


def _within(found: messages.Message, outer: str, inner: str) -> typing.Any:
    """A value in nested attributes; None without one.

    pyroute2 leaves an attribute that it cannot decode as bytes.
    """
    for name in (outer, inner):
        if not hasattr(found, 'get_attr'):
            return None
        found = found.get_attr(name)
    return found


def _address(found: messages.Message, family: int, end: str) -> str | None:
    address = _within(found, 'CTA_TUPLE_IP', f'{_ADDRESS[family]}_{end}')
    return None if address is None else texts.canonical(address)


def _payload(found: messages.Message) -> bytes:
    """An attribute as it was read, without its header."""
    return bytes(found.data[found.offset + _HEADER:
                            found.offset + found.length])
