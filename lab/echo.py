# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A responder: answers UDP datagrams and TCP lines with both addresses.

An answer has the address of the peer, and the address that the peer asked,
over IPv4 and IPv6.  :func:`start` runs the responder on a node.  The program
needs only Python, and never ends by itself.
"""

import argparse
import contextlib
import functools
import os
import select
import selectors
import signal
import socket
import struct
import time

PORT = 7007
NAME = 'echo'
# Seconds after which the connection of a silent peer is closed.
IDLE = 30.0
# First character of a line after which the connection stays open.
STAY = b'+'
LONGEST = 4096
_IP_PKTINFO = 8  # linux/in.h; in Python's socket from 3.14


class _Family:
    """Reading and setting the local address of datagrams, IPv4 or IPv6.

    :ivar option: level, kind of control message, option that asks for it
    """

    def __init__(self, family, option, layout, order):
        self.family = family
        self.option = option
        self._layout = struct.Struct(layout)
        self._order = order
        self.size = socket.CMSG_SPACE(self._layout.size)

    def asked(self, control):
        """(address that a datagram was sent to, packed; its interface)."""
        for level, kind, raw in control:
            if (level, kind) == self.option[:2]:
                found = self._layout.unpack(raw)
                return found[self._order[0]], found[self._order[1]]
        raise OSError('no packet information')

    def answering(self, asked, index):
        """Control message for an answer from an address."""
        if self.family == socket.AF_INET:
            # The kernel chooses the interface.
            return [(*self.option[:2], self._layout.pack(0, asked, b''))]
        # A link-local address means nothing without its link.
        index = index if asked[:2] == b'\xfe\x80' else 0
        return [(*self.option[:2], self._layout.pack(asked, index))]


_FAMILIES = {
    4: _Family(socket.AF_INET,
               (socket.IPPROTO_IP, _IP_PKTINFO, _IP_PKTINFO), '=i4s4s',
               (1, 0)),
    6: _Family(socket.AF_INET6,
               (socket.IPPROTO_IPV6, socket.IPV6_PKTINFO,
                socket.IPV6_RECVPKTINFO), '=16si', (0, 1))}


def start(node, port=PORT, name=NAME, device=None, address=None,
          timeout: float = 15.0):
    """Start a responder on a node; it answers when this returns.

    :param address: answer only at this address; at all of both families by
        default
    :raises NodeError: when it did not start; with what it printed
    """
    from lab import forks
    from lab import node as nodes
    read_end, write_end = os.pipe()
    argv = [*forks.isolated('echo'), '--port', str(port), '--ready-fd', '0']
    if device:
        argv += ['--device', device]
    if address:
        argv += ['--address', address]
    try:
        try:
            process = node.spawn(name, argv, stdin=write_end)
        finally:
            os.close(write_end)
        readable, _, _ = select.select([read_end], [], [], timeout)
        if not readable or not os.read(read_end, 1):
            process.kill()
            process.wait()
            raise nodes.NodeError(f'{node.name}: the responder on port '
                                  f'{port:d} did not start:\n{node.log(name)}')
    finally:
        os.close(read_end)
    return process


class Responder:
    """UDP and TCP on one port, in one thread."""

    def __init__(self, port, device=None, address=None):
        self._selector = selectors.DefaultSelector()
        self._connections = {}
        if address:
            self._open(_FAMILIES[6 if ':' in address else 4], address, port,
                       device)
            return
        self._open(_FAMILIES[4], '0.0.0.0', port, device)
        # A kernel may lack IPv6.
        with contextlib.suppress(OSError):
            self._open(_FAMILIES[6], '::', port, device)

    def _open(self, family, address, port, device):
        udp = _socket(family, socket.SOCK_DGRAM, address, port, device)
        # The answer has to come from the address that was asked.
        udp.setsockopt(family.option[0], family.option[2], 1)
        tcp = _socket(family, socket.SOCK_STREAM, address, port, device)
        tcp.listen(1024)
        self._selector.register(
            udp, selectors.EVENT_READ,
            functools.partial(self._datagram, family))
        self._selector.register(tcp, selectors.EVENT_READ, self._accept)

    def run(self):
        """Answer for ever."""
        while True:
            wait = 1.0 if self._connections else None
            for key, _events in self._selector.select(wait):
                # An error concerns one peer, which will notice.
                with contextlib.suppress(OSError):
                    key.data(key.fileobj)
            self._forget_idle()

    def _datagram(self, family, udp):
        data, control, _flags, peer = udp.recvmsg(65535, family.size)
        asked, index = family.asked(control)
        answer = f'{peer[0]} {socket.inet_ntop(family.family, asked)}'
        udp.sendmsg([data + b' ' + answer.encode()],
                    family.answering(asked, index), 0, peer)

    def _accept(self, tcp):
        try:
            connection, peer = tcp.accept()
        except OSError:
            # There may be no descriptors left; without room for one, the loop
            # would come here again and again.
            self._drop(next(iter(self._connections), None))
            raise
        connection.setblocking(False)
        self._connections[connection] = [
            b'', f'{peer[0]} {connection.getsockname()[0]}',
            time.monotonic()]
        self._selector.register(connection, selectors.EVENT_READ, self._line)

    def _line(self, connection):
        state = self._connections.get(connection)
        if state is None:  # dropped earlier in this round
            return
        try:
            data = connection.recv(LONGEST)
            *lines, state[0] = (state[0] + data).split(b'\n')
            for line in lines:
                connection.send(b'%s %s\n' % (line, state[1].encode()))
            state[2] = time.monotonic()
            if data and len(state[0]) < LONGEST and (
                    not lines or lines[-1].startswith(STAY)):
                return
        except BlockingIOError:
            return
        except OSError:
            self._drop(connection)
            raise
        self._drop(connection)

    def _drop(self, connection):
        if self._connections.pop(connection, None) is not None:
            self._selector.unregister(connection)
            connection.close()

    def _forget_idle(self):
        oldest = time.monotonic() - IDLE
        for connection, state in list(self._connections.items()):
            if state[2] <= oldest:
                self._drop(connection)


def _socket(family, kind, address, port, device):
    made = socket.socket(family.family, kind)
    made.setblocking(False)
    if family.family == socket.AF_INET6:
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    if kind == socket.SOCK_STREAM:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if device:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE,
                        device.encode())
    made.bind((address, port))
    return made


def main():
    """The program; returns only by a signal."""
    parser = argparse.ArgumentParser()
    parser.add_argument('--port', type=int, default=PORT)
    parser.add_argument('--device')
    parser.add_argument('--address')
    parser.add_argument('--ready-fd', type=int,
                        help='gets one byte when the ports are open')
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    responder = Responder(args.port, args.device, args.address)
    if args.ready_fd is not None:
        os.write(args.ready_fd, b'1')
        os.close(args.ready_fd)
    responder.run()
