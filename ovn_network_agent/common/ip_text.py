# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""IP addresses and networks in text, as everybody here has to read them.

The library accepts any text as the zone of an IPv6 address ("fe80::1%eth0"),
with blanks, quotes and line feeds in it, and prints it again: it would reach
nft and ovs-ofctl as written in OVN or in a file.  No address of the agent has
a zone: a route, flow or rule names its device.

A unit test makes sure that nobody else turns a text into such a value.
"""

import ipaddress
import socket
import typing

# The prefix lengths of the largest networks, by family: those ever assigned,
# and 10.0.0.0/8; for IPv6, 2002::/16 and shorter than those of any operator.
SHORTEST = {4: 8, 6: 16}

Address: typing.TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Network: typing.TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network
Interface: typing.TypeAlias = (ipaddress.IPv4Interface |
                               ipaddress.IPv6Interface)

_OCTET = '(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])'
#: Pattern of an IPv4 address, in the only notation that the library accepts.
FOUR = r'\.'.join([_OCTET] * 4)


def address(text: str) -> Address:
    """An address.

    :raises ValueError: when it is none, or has a zone
    """
    text = _without_zone(text)
    try:
        # A fourth of the time that the library's own parser takes.
        return ipaddress.IPv4Address(socket.inet_pton(socket.AF_INET, text))
    except (OSError, ValueError):
        return ipaddress.ip_address(text)


def canonical(text: str) -> str:
    """The usual notation.

    :raises ValueError: as :func:`address`
    """
    return str(address(text))


def host(text: str) -> Address | None:
    """The address of a host, None for a network.

    :param text: 'address' or 'address/length'
    :raises ValueError: when it is neither, or has a zone
    """
    if '/' not in text:
        return address(text)
    found = interface(text)
    return (found.ip if found.network.prefixlen == found.max_prefixlen
            else None)


def network(text: str, strict: bool = True) -> Network:
    """A network, or the one of a single address.

    :param text: 'address' or 'address/length'
    :param strict: False to cut host bits off
    :raises ValueError: when it is none, or has a zone
    """
    return ipaddress.ip_network(_without_zone(text), strict)


def interface(text: str) -> Interface:
    """An address with the network that it is in.

    :param text: 'address' or 'address/length'
    :raises ValueError: when it is none, or has a zone
    """
    return ipaddress.ip_interface(_without_zone(text))


def _without_zone(text: object) -> str:
    # Numbers and bytes are addresses, too, to the library.
    if not isinstance(text, str):
        raise ValueError(f'{text!r} is no text')
    if '%' in text:
        raise ValueError(f'{text!r} has a zone ("%" and what follows); '
                         'leave it out')
    return text
