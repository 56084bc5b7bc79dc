# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A netlink socket: dumps, and batches of changes with errors by item.

The kernel handles all messages of a send() in order before the call returns,
so only the last one asks for an acknowledgement. A message then takes about 20
us instead of 60 us.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
import contextlib
import errno
import os
import socket
import struct
import typing

from pyroute2 import netlink

from ovn_network_agent.netlink import messages
from ovn_network_agent.netlink import texts
from ovn_network_agent.netlink import wire

NETLINK_NETFILTER = netlink.NETLINK_NETFILTER
NETLINK_CAP_ACK = 10
SO_RCVBUFFORCE = 33

# If each message of a batch fails, the answers wait in the receive buffer.
# Each answer counts as about 1 kB.
BATCH = 500
RECEIVE_BUFFER = 4 * 1024 * 1024
# A datagram of a dump has at most 32 kB (netlink_dump() in the kernel).
DATAGRAM = 64 * 1024
# Seconds.  The kernel answers during send(), so this limit is never reached
# without a fault.
TIMEOUT = 30.0
DUMP_ATTEMPTS = 5

# Place in the batch, errno, and the kernel's explanation or ''.
Failure: typing.TypeAlias = tuple[int, int, str]

_CODE = struct.Struct('=i')
# MAX_ERRNO of linux/err.h.
_MAX_ERRNO = 4095
# Only the attributes, because the part before them has a varying length.
_EXPLANATION = messages.narrow(netlink.nlmsgerr, 'NLMSGERR_ATTR_MSG',
                               fields=())


class Connection:
    """A netlink socket in no multicast group.

    :param privileged: the process may exceed rmem_max
    :param port: wanted netlink port id, 0 for any
    :raises OSError: when the socket cannot be made (a kernel before 4.20 has
        no strict dumps: ENOPROTOOPT)
    """

    def __init__(self, privileged: bool = False,
                 protocol: int = socket.NETLINK_ROUTE, port: int = 0) -> None:
        self._socket = socket.socket(
            socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC,
            protocol)
        self._sequence = 0
        try:
            for option in (NETLINK_CAP_ACK, netlink.NETLINK_EXT_ACK,
                           netlink.NETLINK_GET_STRICT_CHK):
                self._socket.setsockopt(netlink.SOL_NETLINK, option, 1)
            if privileged:
                self._socket.setsockopt(
                    socket.SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BUFFER)
            self._socket.settimeout(TIMEOUT)
            self._bind(port)
        except OSError:
            self._socket.close()
            raise

    def __enter__(self) -> typing.Self:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def _bind(self, port: int) -> None:
        try:
            self._socket.bind((port, 0))
        except OSError as error:
            if not port or error.errno != errno.EADDRINUSE:
                raise
            self._socket.bind((0, 0))

    @property
    def port(self) -> int:
        """The netlink port id, which notifications of its changes carry."""
        port: int = self._socket.getsockname()[0]
        return port

    def _next(self) -> int:
        self._sequence = (self._sequence + 1) & 0xffffffff
        return self._sequence

    def dump(self, kind: int, body: bytes,
             wanted: Callable[[bytes, int, int], bool] | None = None
             ) -> list[wire.Body]:
        """The bodies of all objects; repeated if the table changes meanwhile.

        :param wanted: for properties that the kernel cannot filter by
        """
        return [message for message in objects(self.datagrams(kind, body))
                if wanted is None or wanted(*message)]

    def datagrams(self, kind: int, body: bytes) -> list[bytes]:
        """As :meth:`dump`, what the kernel has sent, for :func:`objects`."""
        for _attempt in range(DUMP_ATTEMPTS):
            found, interrupted = self._dump(kind, body)
            if not interrupted:
                break
        # The table changes all the time. The last dump has each object that
        # did not, which is enough.
        return found

    def _dump(self, kind: int, body: bytes) -> tuple[list[bytes], bool]:
        sequence = self._next()
        self._socket.send(
            wire.message(kind, wire.NLM_F_DUMP, sequence, body))
        found: list[bytes] = []
        interrupted = False
        while True:
            data = self._socket.recv(DATAGRAM)
            for kind, flags, seq, start, end in wire.kinds(data):
                if seq != sequence:
                    # The rest of an earlier answer.
                    data = b''
                    break
                interrupted |= bool(flags & wire.NLM_F_DUMP_INTR)
                if kind in (wire.NLMSG_DONE, wire.NLMSG_ERROR):
                    code = _code(data, start, end)
                    if code:
                        raise OSError(code, os.strerror(code))
                    return [*found, data], interrupted
            found.append(data)

    def ask(self, kind: int, body: bytes) -> wire.Body:
        """The body of the answer to a question about one object."""
        sequence = self._next()
        self._socket.send(wire.message(kind, 0, sequence, body))
        while True:
            data = self._socket.recv(DATAGRAM)
            for answer, _flags, seq, _port, start, end in wire.messages(data):
                if seq != sequence:
                    continue
                if answer == wire.NLMSG_ERROR:
                    code = _code(data, start, end)
                    raise OSError(code, os.strerror(code))
                return data, start, end

    def batch(self, requests: Sequence[wire.Request]) -> list[Failure]:
        """Send requests for changes.

        :raises OSError: when the socket cannot be used any more
        """
        failures: list[Failure] = []
        for first in range(0, len(requests), BATCH):
            chunk = requests[first:first + BATCH]
            try:
                found = self._send(chunk)
            except OSError as error:
                if error.errno != errno.ENOBUFS:
                    raise
                # Answers were lost: send again, one by one. What is done
                # already answers EEXIST or ESRCH.
                found = self._one_by_one(chunk)
            failures.extend((first + index, number, text)
                            for index, number, text in found)
        return failures

    def _one_by_one(self, chunk: Sequence[wire.Request]) -> list[Failure]:
        self._drain()
        failures: list[Failure] = []
        for index, request in enumerate(chunk):
            failures.extend((index, number, text)
                            for _zero, number, text in self._send([request]))
        return failures

    def _drain(self) -> None:
        """Discard the waiting answers, to make room for further ones."""
        self._socket.setblocking(False)
        try:
            with contextlib.suppress(BlockingIOError):
                while True:
                    self._socket.recv(DATAGRAM)
        finally:
            self._socket.settimeout(TIMEOUT)

    def _send(self, chunk: Sequence[wire.Request]) -> list[Failure]:
        last = len(chunk) - 1
        base = self._sequence + 1
        if base + last > 0xffffffff:
            base = 1
        self._sequence = base + last
        self._socket.send(b''.join(
            wire.message(kind, flags if index < last
                         else flags | wire.NLM_F_ACK, base + index, body)
            for index, (kind, flags, body) in enumerate(chunk)))
        failures: list[Failure] = []
        while True:
            data = self._socket.recv(DATAGRAM)
            for kind, flags, seq, _port, start, end in wire.messages(data):
                index = seq - base
                if kind != wire.NLMSG_ERROR or not 0 <= index <= last:
                    continue
                code = _code(data, start, end)
                if code:
                    failures.append(
                        (index, code, _explanation(data, flags, start, end)
                         or os.strerror(code)))
                if index == last:
                    return failures


def objects(datagrams: Iterable[bytes]) -> list[wire.Body]:
    """The bodies of the objects of a dump."""
    return [(data, start, end) for data in datagrams
            for kind, _flags, _seq, _port, start, end in wire.messages(data)
            if kind not in (wire.NLMSG_DONE, wire.NLMSG_ERROR)]


def _code(data: bytes, start: int, end: int) -> int:
    """errno of NLMSG_ERROR or NLMSG_DONE; 0 for success."""
    if end - start < 4:
        return 0
    code = -_CODE.unpack_from(data, start)[0]
    return code if 0 <= code <= _MAX_ERRNO else errno.EPROTO


def _explanation(data: bytes, flags: int, start: int, end: int) -> str:
    """The kernel's text in an extended acknowledgement, or ''."""
    if not flags & wire.NLM_F_ACK_TLVS:
        return ''
    # The request's header follows the code; with CAP_ACK, without its body.
    request = start + 4
    length = (wire.HEADER.size if flags & wire.NLM_F_CAPPED
              else wire.HEADER.unpack_from(data, request)[0])
    found = messages.decode(_EXPLANATION, data,
                            request + ((length + 3) & ~3), end)
    return texts.text(messages.attributes(found).get('NLMSGERR_ATTR_MSG'))
