# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A connection to the management socket of one bridge.

Requests end with a barrier; transaction ids assign the answers.  Reading and
writing alternate, because Open vSwitch stops to read while its answers are not
read.  What the switch sends by itself has id 0, as no request.
"""

from collections.abc import Callable
from collections.abc import Iterator
import errno
import select
import socket
import time
import typing

from ovn_network_agent.openflow import wire

# Seconds without data: Open vSwitch answers in less than a millisecond, or in
# some seconds during a large change of routes or flows.
SILENCE = 5.0
# seconds for all requests of a call; 10,000 flows take 0.1 s
OVERALL = 30.0
_CHUNK = 256 * 1024
# id of messages without a request, most chunks of them in one call
_UNASKED = 0
_MOST = 16


#: type, transaction id and body
_Message: typing.TypeAlias = tuple[int, int, bytes]


class Switch:
    """An OpenFlow 1.3 connection, or OSError; for a thread at a time."""

    def __init__(self, path: str) -> None:
        # Called with type and body of unasked messages; must not send.
        self.unasked: Callable[[int, bytes], object] = lambda kind, body: None
        # The agent's priorities at which others may have flows in the first
        # table; None while outdated (openflow.bridge.learn_shared).
        self.shared: set[int] | None = None
        # seconds until the switch counts as hanging
        self.silence = SILENCE
        self.overall = OVERALL
        self._path = path
        self._xid = 0
        self._received = bytearray()
        self._unsent = b''
        self._socket = socket.socket(
            socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        try:
            # connect() blocks when the backlog of a stopped process is full
            self._socket.settimeout(self.silence)
            self._socket.connect(path)
            self._socket.setblocking(False)
            self._hello()
        except (FileNotFoundError, ConnectionRefusedError) as error:
            self._socket.close()
            raise OSError(
                error.errno, f'nobody listens on {path}: the bridge does '
                'not exist or ovs-vswitchd is not running') from error
        except OSError:
            self._socket.close()
            raise

    def close(self) -> None:
        """Close the connection; may be called twice."""
        self._socket.close()

    def fileno(self) -> int:
        """The number of the socket, to wait for messages without a request."""
        return self._socket.fileno()

    def next_xid(self) -> int:
        """A new transaction id; ids repeat after 2^32 - 1 requests."""
        self._xid = self._xid % 0xffffffff + 1
        return self._xid

    def request(self, messages: list[bytes]
                ) -> dict[int, list[tuple[int, bytes]]]:
        """Send messages with ids of their own, and collect all answers.

        :returns: by transaction id the (message type, body) of its answers
        :raises TimeoutError: when Open vSwitch does not answer in time
        :raises OSError: when the connection is broken or speaks no OpenFlow;
            it cannot be used any more
        """
        barrier = self.next_xid()
        data = b''.join(messages) + wire.message(
            wire.BARRIER_REQUEST, barrier)
        answers: dict[int, list[tuple[int, bytes]]] = {}
        for kind, xid, body in self._exchange(data):
            if xid == _UNASKED:
                self.unasked(kind, body)
                continue
            answers.setdefault(xid, []).append((kind, body))
            if xid == barrier:
                if kind != wire.BARRIER_REPLY:
                    raise self._broken('barrier refused')
                break
        return answers

    def pump(self) -> None:
        """Take unasked messages, without a wait; OSError if it is broken."""
        for _chunk in range(_MOST):
            readable, writable = self._poll(0)
            if writable:
                self._send()
            if not readable:
                return
            self._receive()
            for kind, xid, body in self._messages():
                if xid == _UNASKED:
                    self.unasked(kind, body)

    def _hello(self) -> None:
        for kind, _xid, body in self._exchange(
                wire.message(wire.HELLO, self.next_xid())):
            if kind == wire.HELLO:
                return
            if kind == wire.ERROR:
                raise self._broken(_refusal(body))

    def _exchange(self, data: bytes) -> Iterator[_Message]:
        """Yield the messages that arrive, endlessly."""
        self._unsent += data
        silence = time.monotonic() + self.silence
        overall = time.monotonic() + self.overall
        while True:
            yield from self._messages()
            remaining = min(silence, overall) - time.monotonic()
            if remaining <= 0:
                raise TimeoutError(
                    errno.ETIMEDOUT,
                    f'ovs-vswitchd does not answer on {self._path}')
            readable, writable = self._poll(remaining)
            if writable:
                self._send()
            if readable:
                self._receive()
            if readable or writable:
                silence = time.monotonic() + self.silence

    def _poll(self, seconds: float) -> tuple[int, int]:
        # poll() and not select(): the daemon may hold many descriptors
        poll = select.poll()
        poll.register(self._socket, select.POLLIN |
                      (select.POLLOUT if self._unsent else 0))
        events = poll.poll(seconds * 1000)
        mask = events[0][1] if events else 0
        return (mask & (select.POLLIN | select.POLLHUP | select.POLLERR),
                mask & select.POLLOUT)

    def _send(self) -> None:
        sent = self._socket.send(self._unsent[:_CHUNK])
        self._unsent = self._unsent[sent:]

    def _receive(self) -> None:
        data = self._socket.recv(_CHUNK)
        if not data:
            raise ConnectionResetError(
                errno.ECONNRESET,
                f'ovs-vswitchd closed the connection to {self._path}')
        self._received += data

    def _messages(self) -> list[_Message]:
        messages = []
        offset = 0
        received = bytes(self._received)
        while len(received) - offset >= wire.HEADER.size:
            version, kind, length, xid = wire.HEADER.unpack_from(
                received, offset)
            if length < wire.HEADER.size:
                raise self._broken('message with a wrong length')
            if kind != wire.HELLO and version != wire.VERSION:
                raise self._broken(f'OpenFlow version {version}')
            if len(received) - offset < length:
                break
            body = received[offset + wire.HEADER.size:offset + length]
            offset += length
            if kind == wire.ECHO_REQUEST:
                # after the message that is being sent
                self._unsent += wire.message(wire.ECHO_REPLY, xid, body)
            else:
                messages.append((kind, xid, body))
        del self._received[:offset]
        return messages

    def _broken(self, text: str) -> OSError:
        return OSError(errno.EPROTO, f'{self._path}: {text}')


def _refusal(body: bytes) -> str:
    try:
        return wire.error_text(body)
    except wire.Malformed as error:
        return str(error)
