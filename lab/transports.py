# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The ways to send probes: ICMP, UDP, TCP and one stream; stdlib only.

A transport has the sockets of the program :mod:`lab.prober`, and tells the
prober which probes were answered.
"""

import contextlib
import errno
import os
import resource
import selectors
import socket
import struct

# Of each family: protocol; level, name and layout of the option with a bit for
# each type to drop (linux/icmp.h, linux/icmpv6.h); types of request and reply.
_ICMP = {socket.AF_INET: (socket.IPPROTO_ICMP, (255, 1, '=I'), (8, 0)),
         socket.AF_INET6: (socket.IPPROTO_ICMPV6,
                           (socket.IPPROTO_ICMPV6, 1, '=8I'), (128, 129))}
_TOTAL_RETRANS = 100  # offset in struct tcp_info, linux/tcp.h


class _Transport:
    """Base of the ways to send probes; ``options`` as for the Prober."""

    def __init__(self, prober):
        self.prober = prober
        self.options = prober.options
        self.target = self.options['target']

    def socket(self, kind, protocol=0):
        made = socket.socket(_family(self.target), kind, protocol)
        made.setblocking(False)
        if self.options['device']:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE,
                            self.options['device'].encode())
        if self.options['source']:
            made.bind((self.options['source'], 0))
        return made

    def settled(self, number):
        """Called once for each probe, answered or not."""

    def close(self):
        """Close what no single probe owns; all probes are settled."""

    def closed(self, one):
        """Close a socket that the selector has."""
        with contextlib.suppress(KeyError):
            self.prober.selector.unregister(one)
        one.close()


def _family(address):
    return socket.AF_INET6 if ':' in address else socket.AF_INET


class _Datagrams(_Transport):
    """One socket for all probes."""

    def __init__(self, prober):
        super().__init__(prober)
        self.open()
        self.prober.selector.register(self.one, selectors.EVENT_READ,
                                      self._receive)

    def close(self):
        self.closed(self.one)

    def _receive(self, _events):
        with contextlib.suppress(BlockingIOError):
            while True:
                try:
                    data, peer = self.one.recvfrom(65535)
                except BlockingIOError:
                    raise
                except OSError as e:
                    self.prober.error = e.strerror
                    return
                if peer[0] == self.target:
                    self.receive(data)


class _Icmp(_Datagrams):

    def open(self):
        family = _family(self.target)
        protocol, (level, name, layout), (self._request, reply) = (
            _ICMP[family])
        self.one = self.socket(socket.SOCK_RAW, protocol)
        words = [0xffffffff] * (struct.calcsize(layout) // 4)
        words[reply // 32] ^= 1 << reply % 32
        self.one.setsockopt(level, name, struct.pack(layout, *words))
        self._id = int.from_bytes(os.urandom(2), 'big')
        # The kernel leaves out the header of IPv6, and writes the checksum.
        self._with_header = family == socket.AF_INET

    def send(self, number):
        payload = self.prober.token + struct.pack('!I', number)
        head = (self._request, 0, 0, self._id, number & 0xffff)
        raw = struct.pack('!BBHHH', *head) + payload
        total = sum(struct.unpack(f'!{len(raw) // 2}H', raw))
        total = (total & 0xffff) + (total >> 16)
        total = ~(total + (total >> 16)) & 0xffff
        self.one.sendto(raw[:2] + struct.pack('!H', total) + raw[4:],
                        (self.target, 0))

    def receive(self, data):
        header = (data[0] & 15) * 4 if self._with_header else 0
        body = data[header + 8:]
        if body[:8] == self.prober.token and len(body) >= 12:
            self.prober.answered(struct.unpack('!I', body[8:12])[0])


class _Udp(_Datagrams):

    def open(self):
        self.one = self.socket(socket.SOCK_DGRAM)

    def send(self, number):
        text = f'{self.prober.token.hex()} {number:d}'
        self.one.sendto(text.encode(), (self.target, self.options['port']))

    def receive(self, data):
        words = data.decode('ascii', 'replace').split()
        if len(words) == 4 and words[0] == self.prober.token.hex():
            self.prober.answered(int(words[1]), *words[2:])


class _Tcp(_Transport):
    """A connection for each probe: connect, a line each way, close."""

    def __init__(self, prober):
        super().__init__(prober)
        self._open = {}
        _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    def send(self, number):
        one = self._open[number] = self.socket(socket.SOCK_STREAM)
        result = one.connect_ex((self.target, self.options['port']))
        if result not in (0, errno.EINPROGRESS):
            raise OSError(result, os.strerror(result))
        self.prober.selector.register(
            one, selectors.EVENT_WRITE,
            lambda _events: self._event(number, one))

    def _event(self, number, one):
        if self._open.get(number) is not one:
            return
        try:
            self._step(number, one)
        except BlockingIOError:
            return
        except OSError as e:
            self.prober.failed(number, e)

    def _step(self, number, one):
        key = self.prober.selector.get_key(one)
        if key.events == selectors.EVENT_WRITE:
            result = one.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if result:
                raise OSError(result, os.strerror(result))
            one.send(b'%s %d\n' % (self.prober.token.hex().encode(),
                                   number))
            self.prober.selector.modify(one, selectors.EVENT_READ, key.data)
            return
        words = one.recv(4096).decode('ascii', 'replace').split()
        if words[:2] != [self.prober.token.hex(), str(number)]:
            raise OSError(errno.EPROTO, 'closed without an answer')
        info = one.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192)
        if struct.unpack_from('=I', info, _TOTAL_RETRANS)[0]:
            self.prober.retransmitted += 1
        self.prober.answered(number, *words[2:4])

    def settled(self, number):
        one = self._open.pop(number, None)
        if one is not None:
            self.closed(one)


class _Stream(_Transport):
    """One TCP connection for all probes, a line each way for each.

    The connection is made at the first probe, and never again: when it
    breaks, everything after it is lost.
    """

    def __init__(self, prober):
        super().__init__(prober)
        self._one = None
        self._buffer = b''
        self._waiting = []
        self._dead = ''

    def send(self, number):
        if self._dead:
            raise OSError(errno.EPIPE, self._dead)
        self._waiting.append(b'+ %s %d\n' % (
            self.prober.token.hex().encode(), number))
        if self._one is None:
            self._one = self.socket(socket.SOCK_STREAM)
            result = self._one.connect_ex((self.target,
                                           self.options['port']))
            if result not in (0, errno.EINPROGRESS):
                raise OSError(result, os.strerror(result))
            self.prober.selector.register(
                self._one, selectors.EVENT_WRITE, self._connected)
        elif self.prober.selector.get_key(
                self._one).events == selectors.EVENT_READ:
            self._flush()

    def _connected(self, _events):
        result = self._one.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if result:
            self._broken(OSError(result, os.strerror(result)))
            return
        self._one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.prober.selector.modify(self._one, selectors.EVENT_READ,
                                    self._receive)
        self._flush()

    def _flush(self):
        lines, self._waiting = self._waiting, []
        # Lines are few and short.  A full buffer of the socket means that
        # nothing was acknowledged for long.
        self._one.send(b''.join(lines))

    def _receive(self, _events):
        try:
            data = self._one.recv(65536)
        except BlockingIOError:
            return
        except OSError as e:
            self._broken(e)
            return
        if not data:
            self._broken(OSError(errno.EPIPE, 'closed by the other side'))
            return
        *lines, self._buffer = (self._buffer + data).split(b'\n')
        for line in lines:
            words = line.decode('ascii', 'replace').split()
            self.prober.answered(int(words[2]), *words[3:5])

    def close(self):
        if self._one is not None:
            self.closed(self._one)

    def _broken(self, error):
        self.prober.error = self._dead = error.strerror or str(error)
        self.closed(self._one)


#: the transport of each kind of probe
TRANSPORTS = {'icmp': _Icmp, 'udp': _Udp, 'tcp': _Tcp, 'stream': _Stream}
