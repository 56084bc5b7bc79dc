# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Virtual machines, and how each tells its switch that it is here.

The functions run on a machine: Node.call.
"""

import socket
import struct

from lab import families
from lab import plan

_BROADCAST = b'\xff' * 6
_ALL_NODES = 'ff02::1'
_DEVICE = 'eth0'


class Vm:
    """A virtual machine: a network namespace on a compute node.

    :ivar lines: further lines of "ip -batch" for each new device of it
    """

    def __init__(self, node, port):
        self.node = node
        self.port = port
        self.lines = ''

    def boot(self):
        """Lines for ``ip`` on a machine whose port is eth0."""
        port = self.port
        family, length = families.of(port.address), port.network.cidr.prefixlen
        return (
            f'link set eth0 address {port.mac} mtu {plan.TENANT_MTU}\n'
            'link set eth0 up\n'
            f'addr add {port.address}/{length:d} dev eth0 {family.unchecked}\n'
            f'route add {family.default} via {port.network.gateway} '
            f'dev eth0\n{self.lines}')


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
