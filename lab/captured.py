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
"""Packets at the devices of a node."""

import contextlib
import socket

from lab import plan

_EVERYTHING = 3  # ETH_P_ALL of linux/if_ether.h
_PORT = 'outside'


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
        """What came since: list of (packet type, bytes)."""
        found = []
        for each in self._sockets:
            with contextlib.suppress(BlockingIOError):
                while True:
                    data, (_device, _protocol, kind, *_more) = each.recvfrom(
                        65535)
                    found.append((kind, data))
        return found


def _open(device):
    opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW,
                           socket.htons(_EVERYTHING))
    opened.bind((device, _EVERYTHING))
    opened.setblocking(False)
    return opened


def counted(packets, address, kind):
    """How many packets of a type have an address anywhere in them."""
    family = socket.AF_INET6 if ':' in address else socket.AF_INET
    return sum(one == kind and socket.inet_pton(family, address) in data
               for one, data in packets)


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

    :param devices: through which they may leave, beside that port
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
