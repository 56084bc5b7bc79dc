# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""How a machine tells its switch that it is here; by Node.call."""

import socket
import struct

_BROADCAST = b'\xff' * 6
_ALL_NODES = 'ff02::1'
_DEVICE = 'eth0'


def address(text):
    """Announce an address that was another machine's, as keepalived does.

    With a gratuitous ARP request (RFC 5227, section 1.2), or an unsolicited
    neighbour advertisement (RFC 4861, section 7.2.6).
    """
    if ':' in text:
        _advertise(text)
        return
    ip = socket.inet_aton(text)
    _send(0x0806, 1, ip, bytes(6), ip)


def rarp():
    """Send a RARP request, as QEMU does when a machine goes on (RFC 903)."""
    _send(0x8035, 3, bytes(4), None, bytes(4))


def _advertise(text):
    with socket.socket(socket.AF_INET6, socket.SOCK_RAW,
                       socket.IPPROTO_ICMPV6) as opened:
        opened.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
        opened.bind((text, 0))
        # Flag "override", and the option with the sender's MAC.
        opened.sendto(
            struct.pack('!BBHI', 136, 0, 0, 1 << 29) +
            socket.inet_pton(socket.AF_INET6, text) + b'\2\1' + _mac(),
            (_ALL_NODES, 0, 0, socket.if_nametoindex(_DEVICE)))


def _mac():
    with _bound() as opened:
        return opened.getsockname()[4]


def _bound():
    opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    opened.bind((_DEVICE, 0))
    return opened


def _send(ethertype, operation, source, target_mac: bytes | None, target):
    with _bound() as opened:
        mac = opened.getsockname()[4]
        opened.send(_BROADCAST + mac + struct.pack(
            '!HHHBBH6s4s6s4s', ethertype, 1, 0x0800, 6, 4, operation, mac,
            source, target_mac or mac, target))
