# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The frames of netlink messages: netlink(7), linux/netlink.h.

The frames enclose the bodies that :mod:`netlink.messages` and
:mod:`netlink.route_codec` encode.  All integers are in host byte order."""

from collections.abc import Iterable
from collections.abc import Iterator
import hashlib
import struct
import typing

from ovn_network_agent.common import equal_records

# A datagram, and where the body of one message begins and ends.
Body: typing.TypeAlias = tuple[bytes, int, int]
# Type, flags and body of a change.
Request: typing.TypeAlias = tuple[int, int, bytes]

HEADER = struct.Struct('=IHHII')  # length, type, flags, sequence, port

NLMSG_ERROR = 2
NLMSG_DONE = 3

NLM_F_REQUEST = 0x1
NLM_F_ACK = 0x4
NLM_F_DUMP_INTR = 0x10
NLM_F_CAPPED = 0x100
NLM_F_ACK_TLVS = 0x200
NLM_F_REPLACE = 0x100
NLM_F_EXCL = 0x200
NLM_F_CREATE = 0x400
NLM_F_DUMP = 0x300
# Bytes of a digest.
SIZE = 16
# Length, type and flags of a message, which are at its begin.
_HEAD = 8


def message(kind: int, flags: int, sequence: int, body: bytes) -> bytes:
    """One netlink message; the answer repeats the 32-bit sequence number."""
    return HEADER.pack(HEADER.size + len(body), kind,
                       flags | NLM_F_REQUEST, sequence, 0) + body


def messages(data: bytes, offset: int = 0
             ) -> Iterator[tuple[int, int, int, int, int, int]]:
    """The messages of one datagram.

    :returns: (type, flags, sequence, port, start and end of the body)
    """
    total = len(data)
    while offset + HEADER.size <= total:
        length, kind, flags, sequence, port = HEADER.unpack_from(data, offset)
        if not HEADER.size <= length <= total - offset:
            raise ValueError(f'netlink message of {length} bytes does not '
                             f'fit into {total - offset}')
        yield (kind, flags, sequence, port, offset + HEADER.size,
               offset + length)
        offset += (length + 3) & ~3


def digest(dumps: Iterable[Iterable[bytes]]) -> str:
    """The digest of some dumps, of each its datagrams.

    For a comparison before dumps are decoded, which takes longer: the same
    objects give the same bytes, by the same sequence number and port.
    """
    found = hashlib.blake2b(digest_size=SIZE)
    for number, dump in enumerate(dumps):
        found.update(bytes([number]))
        for datagram in dump:
            found.update(datagram)
    return found.hexdigest()


def kinds(datagram: bytes) -> Iterator[tuple[int, int, int, int, int]]:
    """The messages of a datagram, those of one kind and length as one.

    :returns: start and end are of the body of the first one
    """
    at = 0
    while at + HEADER.size <= len(datagram):
        kind, flags, sequence, _port, start, end = next(
            messages(datagram, at))
        yield kind, flags, sequence, start, end
        length = (end - at + 3) & ~3
        at += length * (equal_records.count_equal(datagram, at, length, _HEAD)
                        if at + length <= len(datagram) else 1)
