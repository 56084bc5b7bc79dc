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

"""Addresses: struct ifaddrmsg, linux/if_addr.h."""

import socket
import struct
import typing

from ovn_network_agent.netlink import connection
from ovn_network_agent.netlink import wire

RTM_NEWADDR = 20
RTM_DELADDR = 21
RTM_GETADDR = 22

# family, prefix length, flags, scope, ifindex
IFADDRMSG = struct.Struct('=BBBBI')
IFA_ADDRESS = 1
IFA_LOCAL = 2
IFA_PROTO = 11
IFA_F_SECONDARY = 0x01
IFA_F_NODAD = 0x02


class Address(typing.NamedTuple):
    """An address of a device.

    :ivar index: ifindex
    :ivar address: 'address/length'
    :ivar secondary: depends on another address of the same network; for
        IPv6 it means a temporary address
    :ivar protocol: IFA_PROTO, who made it; 0 when nobody said, and always
        on kernels before 5.18
    """

    index: int
    address: str
    secondary: bool
    protocol: int = 0


def encode(index, address, protocol=0):
    """Body of RTM_NEWADDR or RTM_DELADDR.

    :param index: ifindex
    :param address: 'address/length'
    :param protocol: who makes it; without effect in a deletion
    :raises ValueError: when it is none
    """
    family, packed, length = wire.parse_interface(address)
    # Until nobody else is found to have it an IPv6 address is of no use,
    # and our devices have nobody on them.
    flags = IFA_F_NODAD if family == socket.AF_INET6 else 0
    body = (IFADDRMSG.pack(family, length, flags, 0, index)
            + wire.attribute(IFA_LOCAL, packed)
            + wire.attribute(IFA_ADDRESS, packed))
    if protocol:
        body += wire.attribute(IFA_PROTO, bytes((protocol,)))
    return body


def depending(present, address):
    """What the kernel removes from a device together with an address.

    :param present: list of :class:`Address` of the device
    :param address: 'address/length'
    :returns: list of 'address/length': IPv4, in the same network with the
        same prefix length, secondary, when ``address`` is primary
    """
    family, packed, length = wire.parse_interface(address)
    if family != socket.AF_INET or all(
            a.secondary for a in present if a.address == address):
        return []
    bits = 32 - length
    network = int.from_bytes(packed) >> bits
    lost = []
    for other in present:
        other_family, packed, other_length = wire.parse_interface(
            other.address)
        if (other.secondary and other_family == family
                and other_length == length
                and int.from_bytes(packed) >> bits == network):
            lost.append(other.address)
    return lost


def read(kernel, index=0):
    """Addresses of one device or of all.

    :param kernel: :class:`connection.Connection`
    :param index: ifindex, 0 for all
    :returns: list of :class:`Address`
    :raises OSError: when they cannot be read
    """
    addresses = []
    for data, start, end in kernel.dump(
            RTM_GETADDR, IFADDRMSG.pack(0, 0, 0, 0, index)):
        _family, length, flags, _scope, dev = IFADDRMSG.unpack_from(
            data, start)
        found = wire.attributes(data, start + IFADDRMSG.size, end)
        # On a point-to-point device IFA_ADDRESS is the other end.
        payload = found.get(IFA_LOCAL) or found.get(IFA_ADDRESS)
        if payload:
            addresses.append(Address(
                dev, f'{wire.address_text(payload)}/{length}',
                bool(flags & IFA_F_SECONDARY),
                found.get(IFA_PROTO, b'\0')[0]))
    return addresses


def read_all():
    """:func:`read` of all devices with a connection of its own."""
    with connection.Connection() as kernel:
        return read(kernel)
