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

"""Netlink messages and attributes: netlink(7), linux/netlink.h.

All integers are in host byte order.  Attributes are aligned to four bytes;
the two highest bits of an attribute's type are flags.
"""

import ipaddress
import socket
import struct

from ovn_network_agent import iptext

HEADER = struct.Struct('=IHHII')  # length, type, flags, sequence, port
ATTRIBUTE = struct.Struct('=HH')  # length with this header, type
U32 = struct.Struct('=I')

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

NLA_TYPE_MASK = 0x3fff
NLA_F_NESTED = 0x8000

# linux/if.h: names have 15 bytes and a NUL.
IFNAMSIZ = 16

_FAMILIES = {4: socket.AF_INET, 16: socket.AF_INET6}


def message(kind, flags, sequence, body):
    """One netlink message.

    :param kind: nlmsg_type
    :param flags: nlmsg_flags without NLM_F_REQUEST
    :param sequence: 32-bit number that the answer repeats
    :param body: bytes, family header and attributes
    """
    return HEADER.pack(HEADER.size + len(body), kind,
                       flags | NLM_F_REQUEST, sequence, 0) + body


def messages(data):
    """The messages of one datagram.

    :param data: bytes
    :returns: iterator of (type, flags, sequence, port, start, end), the last
        two delimiting the body in ``data``
    :raises ValueError: when a length does not fit
    """
    offset = 0
    total = len(data)
    while offset + HEADER.size <= total:
        length, kind, flags, sequence, port = HEADER.unpack_from(data, offset)
        if not HEADER.size <= length <= total - offset:
            raise ValueError(f'netlink message of {length} bytes does not '
                             f'fit into {total - offset}')
        yield (kind, flags, sequence, port, offset + HEADER.size,
               offset + length)
        offset += (length + 3) & ~3


def attribute(kind, payload):
    """One attribute, padded."""
    length = ATTRIBUTE.size + len(payload)
    return ATTRIBUTE.pack(length, kind) + payload + bytes(-length & 3)


def u32(kind, number):
    """An attribute that holds a 32-bit number."""
    return ATTRIBUTE.pack(8, kind) + U32.pack(number)


def string(kind, text):
    """An attribute that holds a NUL-terminated string."""
    return attribute(kind, text.encode() + b'\0')


def nested(kind, *attributes):
    """An attribute that holds attributes."""
    return attribute(kind | NLA_F_NESTED, b''.join(attributes))


def attributes(data, start=0, end=None):
    """Attributes by type; the last one counts when a type is repeated.

    :param data: bytes
    :param start: offset of the first attribute
    :param end: offset after the last one, default the end of ``data``
    :returns: dict of type to bytes
    :raises ValueError: when a length does not fit
    """
    found = {}
    end = len(data) if end is None else end
    unpack = ATTRIBUTE.unpack_from
    while start + 4 <= end:
        length, kind = unpack(data, start)
        if not 4 <= length <= end - start:
            raise ValueError(f'netlink attribute of {length} bytes does not '
                             f'fit into {end - start}')
        found[kind & NLA_TYPE_MASK] = data[start + 4:start + length]
        start += (length + 3) & ~3
    return found


def number(payload):
    """A 32-bit attribute as int; None stays None."""
    return None if payload is None else U32.unpack(payload)[0]


def text(payload):
    """A string attribute as str; '' for None."""
    if not payload:
        return ''
    return payload.rstrip(b'\0').decode('utf-8', 'replace')


def mac_text(payload):
    """'aa:bb:cc:dd:ee:ff', or '' when it is no Ethernet address."""
    return payload.hex(':') if payload and len(payload) == 6 else ''


def mac_bytes(mac):
    """The six bytes of 'aa:bb:cc:dd:ee:ff'.

    :raises ValueError: when it is none
    """
    packed = bytes.fromhex(mac.replace(':', ''))
    if len(packed) != 6 or mac != packed.hex(':'):
        raise ValueError(f'{mac!r} is no MAC address')
    return packed


def address_text(payload):
    """An address attribute as text.

    :raises ValueError: when it has neither 4 nor 16 bytes
    """
    if len(payload) == 16:
        # Not inet_ntop(), which has another text for addresses that map
        # IPv4: drivers write theirs with this module.
        return str(ipaddress.IPv6Address(payload))
    try:
        return socket.inet_ntop(_FAMILIES[len(payload)], payload)
    except KeyError:
        raise ValueError(f'address of {len(payload)} bytes') from None


def parse_address(address):
    """(family, bytes) of an address.

    :raises ValueError: when it is no address in canonical text
    """
    family = socket.AF_INET6 if ':' in address else socket.AF_INET
    try:
        packed = socket.inet_pton(family, address)
    except OSError:
        raise ValueError(f'{address!r} is no IP address') from None
    return family, packed


def parse_interface(text):
    """(family, bytes, prefix length) of 'address/length'.

    :raises ValueError: when it is none
    """
    address, slash, length = text.partition('/')
    family, packed = parse_address(address)
    # Not '/00' either, which would pass for another length than it is.
    if not (slash and length.isascii() and length.isdigit()
            and length == str(int(length)) and int(length) <= len(packed) * 8):
        raise ValueError(f'{text!r} is no address with a prefix length')
    return family, packed, int(length)


def parse_prefix(prefix):
    """Like :func:`parse_interface`, for a prefix: no host bits are set."""
    family, packed, length = parse_interface(prefix)
    host = len(packed) * 8 - length
    if host and int.from_bytes(packed) & ((1 << host) - 1):
        raise ValueError(f'{prefix!r} is no prefix: it has host bits set, '
                         f'{iptext.network(prefix, strict=False)} '
                         f'would be one')
    return family, packed, length
