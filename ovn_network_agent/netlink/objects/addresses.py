# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Addresses: struct ifaddrmsg, linux/if_addr.h."""

from collections.abc import Iterable
import functools
import socket
import typing

from pyroute2.netlink import rtnl
from pyroute2.netlink.rtnl import ifaddrmsg
from pyroute2.netlink.rtnl import rtmsg

from ovn_network_agent.common import ip_text
from ovn_network_agent.netlink import connection
from ovn_network_agent.netlink import messages
from ovn_network_agent.netlink import texts

RTM_NEWADDR = rtnl.RTM_NEWADDR
RTM_DELADDR = rtnl.RTM_DELADDR
RTM_GETADDR = rtnl.RTM_GETADDR
RT_SCOPE_UNIVERSE = rtmsg.RT_SCOPE_UNIVERSE
RT_SCOPE_LINK = rtmsg.RT_SCOPE_LINK

# Valid for ever (INFINITY_LIFE_TIME) and not preferred (RFC 4862, section
# 5.5.4).
_DEPRECATED = {'ifa_preferred': 0, 'ifa_valid': 0xffffffff,
               'cstamp': 0, 'tstamp': 0}

# pyroute2 0.8 does not know IFA_PROTO, which has the agent's mark.
MESSAGE = messages.narrow(
    ifaddrmsg.ifaddrmsg, 'IFA_ADDRESS', 'IFA_LOCAL', 'IFA_CACHEINFO',
    (11, 'IFA_PROTO', 'uint8'))


class Address(typing.NamedTuple):
    """An address of a device."""

    # The ifindex; nothing here uses the method of tuples with this name.
    index: int  # type: ignore[assignment]
    address: str  # 'address/length'
    # Also an IPv4 address that depends on another one of its network, and a
    # temporary IPv6 address.
    secondary: bool
    # IFA_PROTO, the program that made the address; 0 without a number, and
    # always on kernels before 5.18.
    protocol: int = 0


def encode(index: int, address: str, protocol: int = 0,
           scope: int = RT_SCOPE_UNIVERSE, shared: bool = False) -> bytes:
    """Body of RTM_NEWADDR or RTM_DELADDR.

    :param protocol: IFA_PROTO; without effect in a deletion
    :param scope: RT_SCOPE_LINK for an IPv4 address that is no source address
        beyond the link; without effect for IPv6
    :param shared: other hosts are on the link, and the node has other
        addresses there: an IPv6 address is looked for first, and not chosen
        for the node's own connections
    """
    family, _packed, length = texts.parse_interface(address)
    own = address.partition('/')[0]
    return messages.encode(
        MESSAGE,
        [('IFA_LOCAL', own), ('IFA_ADDRESS', own),
         *([('IFA_PROTO', protocol)] if protocol else ()),
         *([('IFA_CACHEINFO', _DEPRECATED)]
           if shared and family == socket.AF_INET6 else ())],
        family=family, prefixlen=length, index=index, scope=scope,
        # An IPv6 address is of no use during the search for duplicates, and
        # the agent's own devices have no other host on their link.
        flags=ifaddrmsg.IFA_F_NODAD
        if family == socket.AF_INET6 and not shared else 0)


def depending(present: Iterable[Address], address: str) -> list[str]:
    """The addresses that the kernel removes together with an address.

    For a primary IPv4 address: the secondary ones of its network and prefix
    length.
    """
    family, packed, length = texts.parse_interface(address)
    if family != socket.AF_INET or all(
            a.secondary for a in present if a.address == address):
        return []
    bits = 32 - length
    network = int.from_bytes(packed) >> bits
    lost = []
    for other in present:
        other_family, packed, other_length = texts.parse_interface(
            other.address)
        if (other.secondary and other_family == family
                and other_length == length
                and int.from_bytes(packed) >> bits == network):
            lost.append(other.address)
    return lost


def read(kernel: connection.Connection, index: int = 0) -> list[Address]:
    """Addresses of one device (ifindex), or of all with 0."""
    found = (_decode(data[start:end]) for data, start, end in kernel.dump(
        RTM_GETADDR, messages.encode(MESSAGE, index=index)))
    return [address for address in found if address is not None]


@functools.lru_cache(maxsize=messages.REMEMBERED)
def _decode(body: bytes) -> Address | None:
    """Cached, as each removal reads all addresses of the device."""
    message = messages.decode(MESSAGE, body, 0, len(body))
    found = messages.attributes(message)
    # On a point-to-point device, IFA_ADDRESS is the address of the peer.
    own = found.get('IFA_LOCAL') or found.get('IFA_ADDRESS')
    if not own:
        return None
    return Address(
        message['index'], f'{texts.canonical(own)}/{message["prefixlen"]}',
        bool(message['flags'] & ifaddrmsg.IFA_F_SECONDARY),
        found.get('IFA_PROTO', 0))


def first(found: Iterable[Address], index: int) -> str:
    """The first IPv4 address of a device that other nodes may reach, or ''."""
    for each in found:
        own = ip_text.address(each.address.partition('/')[0])
        if each.index == index and own.version == 4 and not (
                own.is_loopback or own.is_link_local):
            return str(own)
    return ''


def read_first(name: str) -> str:
    """As :func:`first`, on a new connection; '' also without the device."""
    try:
        index = socket.if_nametoindex(name)
    except OSError:
        return ''
    with connection.Connection() as kernel:
        return first(read(kernel, index), index)


def read_all() -> list[Address]:
    """The addresses of all devices, read on a new connection."""
    with connection.Connection() as kernel:
        return read(kernel)
