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
"""A responder: answers UDP datagrams and TCP lines with who asked.

:func:`start` runs it on a node.  As a program of its own it needs nothing
but Python, and it never ends by itself.
"""

import argparse
import contextlib
import os
import select
import selectors
import signal
import socket
import struct
import sys
import time

PORT = 7007
NAME = 'echo'
# A peer that connects and says nothing is forgotten after that many seconds.
IDLE = 30.0
LONGEST = 4096
_IP_PKTINFO = 8  # linux/in.h; in Python's socket from 3.14
_PKTINFO = struct.Struct('=i4s4s')


def start(node, port=PORT, name=NAME, device=None, timeout=15.0):
    """Start a responder on a node; it answers when this returns.

    :param node: the Node
    :param port: UDP and TCP port
    :param name: of the service, for ``node.stop(name)`` and so on
    :param device: answer only what comes in by this interface or VRF
    :param timeout: seconds
    :returns: subprocess.Popen
    :raises NodeError: when it did not start; with what it printed
    """
    from lab import node as nodes
    read_end, write_end = os.pipe()
    argv = [sys.executable, '-I', '-S', os.path.abspath(__file__), '--port',
            str(port), '--ready-fd', str(write_end)]
    if device:
        argv += ['--device', device]
    try:
        try:
            process = node.spawn(name, argv, pass_fds=[write_end])
        finally:
            os.close(write_end)
        readable, _, _ = select.select([read_end], [], [], timeout)
        if not readable or not os.read(read_end, 1):
            process.kill()
            process.wait()
            raise nodes.NodeError('%s: the responder on port %d did not '
                                  'start:\n%s' % (node.name, port,
                                                  node.log(name)))
    finally:
        os.close(read_end)
    return process


class Responder:
    """UDP and TCP on one port, in one thread.

    :param port: UDP and TCP port
    :param device: interface or VRF to bind to, or None
    """

    def __init__(self, port, device=None):
        self._selector = selectors.DefaultSelector()
        self._connections = {}
        self._udp = self._socket(socket.SOCK_DGRAM, port, device)
        # The answer shall come from the address that was asked.
        self._udp.setsockopt(socket.IPPROTO_IP, _IP_PKTINFO, 1)
        self._selector.register(self._udp, selectors.EVENT_READ,
                                self._datagram)
        self._tcp = self._socket(socket.SOCK_STREAM, port, device)
        self._tcp.listen(1024)
        self._selector.register(self._tcp, selectors.EVENT_READ,
                                self._accept)

    def _socket(self, kind, port, device):
        made = socket.socket(socket.AF_INET, kind)
        made.setblocking(False)
        if kind == socket.SOCK_STREAM:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if device:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE,
                            device.encode())
        made.bind(('0.0.0.0', port))
        return made

    def run(self):
        """Answer for ever."""
        while True:
            wait = 1.0 if self._connections else None
            for key, _events in self._selector.select(wait):
                # An error concerns one peer, which will notice.
                with contextlib.suppress(OSError):
                    key.data(key.fileobj)
            self._forget_idle()

    def _datagram(self, _udp):
        data, control, _flags, peer = self._udp.recvmsg(
            65535, socket.CMSG_SPACE(_PKTINFO.size))
        answer = data + b' ' + peer[0].encode()
        self._udp.sendmsg([answer], [
            (level, kind, _PKTINFO.pack(0, _PKTINFO.unpack(raw)[1], b''))
            for level, kind, raw in control
            if (level, kind) == (socket.IPPROTO_IP, _IP_PKTINFO)], 0, peer)

    def _accept(self, _tcp):
        try:
            connection, peer = self._tcp.accept()
        except OSError:
            # Perhaps out of descriptors: make room, so that this does not
            # come back at once for ever.
            self._drop(next(iter(self._connections), None))
            raise
        connection.setblocking(False)
        self._connections[connection] = [b'', peer[0], time.monotonic()]
        self._selector.register(connection, selectors.EVENT_READ, self._line)

    def _line(self, connection):
        state = self._connections.get(connection)
        if state is None:  # dropped earlier in this round
            return
        try:
            data = connection.recv(LONGEST)
            state[0] += data
            if b'\n' in state[0]:
                line = state[0].partition(b'\n')[0]
                connection.send(b'%s %s\n' % (line, state[1].encode()))
            elif data and len(state[0]) < LONGEST:
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
            if state[2] > oldest:
                return
            self._drop(connection)


def main(argv):
    """The program; returns only by a signal."""
    parser = argparse.ArgumentParser()
    parser.add_argument('--port', type=int, default=PORT)
    parser.add_argument('--device')
    parser.add_argument('--ready-fd', type=int,
                        help='gets one byte when the ports are open')
    args = parser.parse_args(argv)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    responder = Responder(args.port, args.device)
    if args.ready_fd is not None:
        os.write(args.ready_fd, b'1')
        os.close(args.ready_fd)
    responder.run()


if __name__ == '__main__':
    main(sys.argv[1:])
