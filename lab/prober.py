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
"""The program that sends probes; :mod:`lab.probe` runs it on a node.

The program has one argument, its options as JSON.  It reads commands as JSON
lines from standard input, and answers each with one JSON line that has the
serial number of the command.  Probes are sent at fixed times, independent of
the answers.
"""

import contextlib
import errno
import json
import os
import resource
import selectors
import socket
import struct
import sys
import time

_PENDING, _LOST = None, -1.0
# Of each family: protocol; level, name and layout of the option with a bit for
# each type to drop (linux/icmp.h, linux/icmpv6.h); types of request and reply.
_ICMP = {socket.AF_INET: (socket.IPPROTO_ICMP, (255, 1, '=I'), (8, 0)),
         socket.AF_INET6: (socket.IPPROTO_ICMPV6,
                           (socket.IPPROTO_ICMPV6, 1, '=8I'), (128, 129))}
_TOTAL_RETRANS = 100  # offset in struct tcp_info, linux/tcp.h


class Prober:
    """Sends probes, receives answers, and keeps the results.

    :param options: dict; kind, target, port, source, device, interval and
        limit (seconds), count (probes to send, 0 for no end), skip (whether
        a late sender leaves out what it could not send in time)
    """

    def __init__(self, options):
        self.options = options
        self.selector = selectors.DefaultSelector()
        self._input = b''
        self._reset()
        self._transport = _TRANSPORTS[options['kind']](self)
        os.set_blocking(0, False)
        self.selector.register(0, selectors.EVENT_READ, self._command)

    def _reset(self):
        """Begin now, with no results."""
        self.token = os.urandom(8)  # answers to earlier probes have another
        self.sent = []  # monotonic seconds
        self.answers = []  # seconds from sending, or _PENDING, or _LOST
        self.seen = set()
        self.asked = set()
        self.retransmitted = 0
        self.skipped = 0  # probes that could not be sent in time
        self.error = ''
        self._pending = {}  # probe number: None; oldest first
        self._sending = True
        self._serial = None  # of a command that is answered later
        self._awaited = None  # time; wanted is an answer to a later probe
        self._steady = 0  # seconds without a loss that end with this answer
        self._start = time.monotonic()

    def run(self):
        """Probe until told to stop, or until standard input ends."""
        self._say({'serial': 0, 'started': self._start})
        while True:
            now = time.monotonic()
            if self.options['skip']:
                self._skip(now - self._start)
            while self._sending and self._due() <= now:
                self._send()
            self._expire(now)
            self._finish()
            # A command comes last, because it may close the sockets.
            for key, events in sorted(self.selector.select(self._idle()),
                                      key=lambda each: each[0].fd == 0):
                key.data(events)

    def _due(self):
        """When the next probe has to be sent."""
        return self._start + ((len(self.sent) + self.skipped) *
                              self.options['interval'])

    def _skip(self, elapsed):
        """Leave out all that is due but the last probe.

        Many probes at once would fill queues that evenly sent ones do not.

        :param elapsed: seconds since the start
        """
        due = int(elapsed / self.options['interval'])
        self.skipped = max(self.skipped, due - len(self.sent))

    def _send(self):
        number = len(self.sent)
        self.sent.append(time.monotonic())
        self.answers.append(_PENDING)
        self._pending[number] = None
        if len(self.sent) == self.options['count']:
            self._sending = False
        try:
            self._transport.send(number)
        except OSError as e:
            self.failed(number, e)

    def _expire(self, now):
        limit = self.options['limit']
        while self._pending:
            number = next(iter(self._pending))
            if self.sent[number] + limit > now:
                return
            self._settle(number, _LOST)

    def _idle(self):
        """Seconds until something is due."""
        due = []
        if self._sending:
            due.append(self._due())
        if self._pending:
            due.append(self.sent[next(iter(self._pending))] +
                       self.options['limit'])
        if not due:
            return None
        return max(0.0, min(due) - time.monotonic())

    # -- for the transports -----------------------------------------------

    def answered(self, number, source=None, asked=None):
        """An answer came.

        :param number: of the probe
        :param source: address that the responder saw, or None
        :param asked: address of the responder as it sees it, or None
        """
        if number not in self._pending:
            return  # a duplicate, or later than its limit
        now = time.monotonic()
        if source:
            self.seen.add(source)
            self.asked.add(asked)
        self._settle(number, now - self.sent[number])
        if (self._awaited is not None and self.sent[number] >= self._awaited
                and self._steady_for(number) >= self._steady):
            self._answer_awaited(now)

    def _steady_for(self, number):
        """Seconds in which all probes up to an answered one were answered."""
        first = number
        while first and self.answers[first - 1] not in (_PENDING, _LOST):
            first -= 1
            if self.sent[number] - self.sent[first] >= self._steady:
                break
        return self.sent[number] - self.sent[first]

    def failed(self, number, error):
        """A probe cannot be answered any more."""
        self.error = error.strerror or str(error)
        if number in self._pending:
            self._settle(number, _LOST)

    def _settle(self, number, answer):
        del self._pending[number]
        self.answers[number] = answer
        self._transport.settled(number)

    # -- commands ---------------------------------------------------------

    def _command(self, _events):
        data = os.read(0, 65536)
        if not data:
            sys.exit(0)
        *lines, self._input = (self._input + data).split(b'\n')
        for line in lines:
            command = json.loads(line)
            self._serial = command['serial']
            self._awaited = None
            getattr(self, '_do_' + command['do'])(command)

    def _do_begin(self, command):
        """Forget all probes so far, and begin again with other options.

        New sockets are new connections for the switch: what Open vSwitch has
        learned of a connection whose first packets were lost is no part of
        the measurement.
        """
        for number in list(self._pending):
            self._settle(number, _LOST)
        self._transport.close()
        self.options.update(command['options'])
        self._reset()
        self._transport = _TRANSPORTS[self.options['kind']](self)
        self._say({'serial': command['serial'], 'started': self._start})

    def _do_report(self, _command):
        self._report()

    def _do_halt(self, command):
        self._sending = False
        self._serial = None
        self._say({'serial': command['serial']})

    def _do_stop(self, _command):
        self._sending = False

    def _do_finish(self, _command):
        """Do nothing: _finish answers when all probes are settled."""

    def _do_await(self, command):
        self._awaited = command['after']
        self._steady = command['steady']
        if self._steady:
            return
        times = [at + answer for at, answer in zip(self.sent, self.answers)
                 if at >= self._awaited and answer not in (_PENDING, _LOST)]
        if times:
            self._answer_awaited(min(times))

    def _answer_awaited(self, when):
        self._awaited = None
        self._say({'serial': self._serial, 'answered': when})
        self._serial = None

    def _finish(self):
        if (self._serial is not None and self._awaited is None and
                not self._sending and not self._pending):
            self._report()

    def _report(self):
        self._say({'serial': self._serial, 'sent': self.sent,
                   'answers': self.answers, 'seen': sorted(self.seen),
                   'asked': sorted(self.asked),
                   'retransmitted': self.retransmitted,
                   'skipped': self.skipped,
                   'error': self.error})
        self._serial = None

    def _say(self, answer):
        raw = json.dumps(answer).encode() + b'\n'
        while raw:
            raw = raw[os.write(1, raw):]


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


_TRANSPORTS = {'icmp': _Icmp, 'udp': _Udp, 'tcp': _Tcp, 'stream': _Stream}


if __name__ == '__main__':
    Prober(json.loads(sys.argv[1])).run()
