# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Addresses, prefixes and MAC addresses between text and bytes.

Only canonical notation; the privileged side checks its arguments so.
"""

import ipaddress
import socket

from ovn_network_agent.common import ip_text

# linux/if.h: names have 15 bytes and a NUL.
IFNAMSIZ = 16

_FAMILIES = {4: socket.AF_INET, 16: socket.AF_INET6}


def mac_text(payload: bytes | None) -> str:
    """Text such as 'aa:bb:cc:dd:ee:ff'; '' for other than six bytes."""
    return payload.hex(':') if payload and len(payload) == 6 else ''


def mac_bytes(mac: str) -> bytes:
    """The six bytes of a text such as 'aa:bb:cc:dd:ee:ff'.

    :raises ValueError: when the text is no MAC address
    """
    packed = bytes.fromhex(mac.replace(':', ''))
    if len(packed) != 6 or mac != packed.hex(':'):
        raise ValueError(f'{mac!r} is no MAC address')
    return packed


def address_text(payload: bytes) -> str:
    """An address attribute as text.

    :raises ValueError: when the attribute has neither 4 nor 16 bytes
    """
    if len(payload) == 16:
        # inet_ntop() writes IPv4-mapped addresses in another way than the
        # drivers, which use ipaddress.
        return str(ipaddress.IPv6Address(payload))
    try:
        return socket.inet_ntop(_FAMILIES[len(payload)], payload)
    except KeyError:
        raise ValueError(f'address of {len(payload)} bytes') from None


def canonical(address: str | bytes) -> str:
    """An address that pyroute2 has decoded, in canonical notation.

    pyroute2 uses inet_ntop(), and leaves bytes that are no address as bytes.

    :raises ValueError: when the value is no text
    """
    if not isinstance(address, str):
        raise ValueError(f'address of {len(address)} bytes')
    if ':' in address and '.' in address:
        return str(ip_text.address(address))
    return address


def text(value: str | bytes | None) -> str:
    """A string that pyroute2 has decoded; '' for None.

    A name need not be UTF-8; pyroute2 leaves such a name as bytes.
    """
    if isinstance(value, bytes):
        value = value.decode('utf-8', 'replace')
    return (value or '').rstrip('\0')


def parse_address(address: str) -> tuple[int, bytes]:
    """Family and bytes of an address.

    :raises ValueError: when the text is no address in canonical notation
    """
    _check_text(address)
    family = socket.AF_INET6 if ':' in address else socket.AF_INET
    try:
        packed = socket.inet_pton(family, address)
    except OSError:
        raise ValueError(f'{address!r} is no IP address') from None
    return family, packed


def parse_interface(text: str) -> tuple[int, bytes, int]:
    """(family, bytes, prefix length) of 'address/length'.

    :raises ValueError: when the text has another form
    """
    _check_text(text)
    address, slash, length = text.partition('/')
    family, packed = parse_address(address)
    # '/00' is not canonical.
    if not (slash and length.isascii() and length.isdigit()
            and length == str(int(length)) and int(length) <= len(packed) * 8):
        raise ValueError(f'{text!r} is no address with a prefix length')
    return family, packed, int(length)


def parse_prefix(prefix: str) -> tuple[int, bytes, int]:
    """Like :func:`parse_interface`, for a prefix: no host bits are set."""
    family, packed, length = parse_interface(prefix)
    host = len(packed) * 8 - length
    if host and int.from_bytes(packed) & ((1 << host) - 1):
        raise ValueError(f'{prefix!r} is no prefix: it has host bits set, '
                         f'{ip_text.network(prefix, strict=False)} '
                         f'would be one')
    return family, packed, length


def _check_text(value: object) -> None:
    if not isinstance(value, str):
        raise ValueError(f'{value!r} is no text')
