# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Packets at the devices of a node."""

import contextlib
import ipaddress
import socket
import struct

from lab import node as nodes
from lab import plan

_EVERYTHING = 3  # ETH_P_ALL of linux/if_ether.h
_PORT = 'outside'
# asm-generic/socket.h; not in Python's socket.  More than the kernel's limit.
_SO_RCVBUFFORCE, _BYTES = 33, 32 << 20
# linux/socket.h and linux/if_packet.h: what came, and what found no room.
_SOL_PACKET, _STATISTICS, _NUMBERS = 263, 6, struct.Struct('II')
# Where the addresses of the two ends are in a frame, by its type: IPv4
# (RFC 791), ARP (RFC 826), IPv6 (RFC 8200).
_ENDS = {b'\x08\x00': (slice(26, 30), slice(30, 34)),
         b'\x08\x06': (slice(28, 32), slice(38, 42)),
         b'\x86\xdd': (slice(22, 38), slice(38, 54))}


class Captured:
    """The packets that a node sends and receives by some devices."""

    def __init__(self, node, *devices):
        self._sockets = [node.call(_open, device) for device in devices]

    def __enter__(self):
        return self

    def __exit__(self, *_exc):
        for each in self._sockets:
            each.close()

    def packets(self):
        """What came since: list of (packet type, bytes).

        :raises NodeError: when there was no room for all
        """
        found = []
        for each in self._sockets:
            _all, lost = _NUMBERS.unpack(each.getsockopt(
                _SOL_PACKET, _STATISTICS, _NUMBERS.size))
            if lost:
                raise nodes.NodeError(f'{lost:d} packets were not captured')
            with contextlib.suppress(BlockingIOError):
                while True:
                    data, (_device, _protocol, kind, *_more) = each.recvfrom(
                        65535)
                    found.append((kind, data))
        return found


def _open(device):
    opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW,
                           socket.htons(_EVERYTHING))
    opened.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BYTES)
    opened.bind((device, _EVERYTHING))
    opened.setblocking(False)
    return opened


def counted(packets, address, kind):
    """How many packets of a type have an address anywhere in them."""
    family = socket.AF_INET6 if ':' in address else socket.AF_INET
    return sum(one == kind and socket.inet_pton(family, address) in data
               for one, data in packets)


def bare(packets, *networks):
    """The packets of networks that a node sent without a tunnel, a list.

    Their own header has an address of the networks, and not one within.
    """
    return [data for kind, data in packets if kind == socket.PACKET_OUTGOING
            and any(ipaddress.ip_address(data[end]) in network
                    for end in _ENDS.get(data[12:14], ())
                    for network in networks)]


def solicit(node, device):
    """Ask the routers at a device to advertise themselves now."""
    node.call(_solicit, device)


def _solicit(device):
    with socket.socket(socket.AF_INET6, socket.SOCK_RAW,
                       socket.IPPROTO_ICMPV6) as asking:
        asking.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
        asking.sendto(b'\x85' + bytes(7),
                      ('ff02::2', 0, 0, socket.if_nametoindex(device)))


def advertised(packets):
    """The flags of router advertisements: a set of numbers, 0x80 for M."""
    # Ethernet and IPv6 (RFC 8200), without extension headers; RFC 4861, 4.2.
    return {data[59] for _kind, data in packets
            if data[12:14] == b'\x86\xdd' and data[20] == 58 and
            data[54] == 134}


@contextlib.contextmanager
def leaving(node, *devices):
    """The MACs that packets of a node leave for.

    A further port of the provider bridge gets them, too, as one to a switch.

    :returns: context manager with a function that gives them, as a set of
        texts, since the last time
    """
    # An internal port has no part in the choice of the bridge's MAC.
    node.run(['ovs-vsctl', 'add-port', plan.BRIDGE, _PORT, '--',
              'set', 'Interface', _PORT, 'type=internal'])
    try:
        # The kernel answers nothing that comes there.
        node.batch(f'link set {_PORT} arp off addrgenmode none up\n')
        with Captured(node, _PORT, *devices) as taken:
            yield lambda: {data[:6].hex(':')
                           for _kind, data in taken.packets()}
    finally:
        node.run(['ovs-vsctl', 'del-port', plan.BRIDGE, _PORT])
