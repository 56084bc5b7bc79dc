# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The frames of netlink messages: netlink(7), linux/netlink.h.

The frames enclose the bodies that :mod:`netlink.messages` and
:mod:`netlink.route_codec` encode.  All integers are in host byte order.
"""

from collections.abc import Iterator
import struct
import typing

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
