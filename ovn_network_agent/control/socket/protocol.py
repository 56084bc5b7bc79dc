# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""One connection of the unixctl protocol: JSON-RPC 1.0, one request a time.

See ovs-appctl(8).  ovs.unixctl.server is not used: its commands are one table
for the process, its listener takes the socket of a living process and installs
signal handlers, a bad option of set-options ends its thread (argparse), and a
slow command keeps all clients waiting.
"""

import codecs
from collections.abc import Iterator
import contextlib
import json
import socket
import struct
import time

from ovs import jsonrpc

_LONGEST = 65536  # characters of one request; usual are a few hundred
_CHUNK = 4096
_UCRED = struct.Struct('=iII')  # struct ucred, unix(7)


class Broken(Exception):
    """The connection cannot be used any more; the text says why."""


class Client:
    """The server's side of one client, which may be silent for a time."""

    def __init__(self, opened: socket.socket, timeout: float) -> None:
        self._socket = opened
        self._timeout = timeout
        self._pending = ''
        self._parser = json.JSONDecoder()
        self._decoder = codecs.getincrementaldecoder('utf-8')('replace')
        self.json = False  # answers as JSON objects
        # 0 in another PID namespace.
        self.process = _UCRED.unpack(opened.getsockopt(
            socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size))[0]

    def requests(self) -> Iterator[jsonrpc.Message]:
        """The requests of the client, until the client closes its side.

        :raises Broken: when the client sends no valid request in time
        """
        while True:
            message = self._receive()
            if message is None:
                return
            if isinstance(message, str):
                raise Broken(message)
            if message.type != jsonrpc.Message.T_REQUEST:
                raise Broken('received an invalid request')
            yield message

    def _receive(self) -> jsonrpc.Message | str | None:
        deadline = time.monotonic() + self._timeout
        while True:
            self._pending = self._pending.lstrip()
            try:
                found, used = self._parser.raw_decode(self._pending)
                self._pending = self._pending[used:]
                return jsonrpc.Message.from_json(found)
            except json.JSONDecodeError:
                pass  # incomplete, or bad
            except (ValueError, RecursionError):
                return 'a number or a nesting that is too large for a request'
            if len(self._pending) > _LONGEST:
                return f'a request has more than {_LONGEST} characters'
            if not self._more(deadline):
                return None

    def _more(self, deadline: float) -> bool:
        try:
            # The end of the agent closes it on another thread.
            self._socket.settimeout(max(0.001, deadline - time.monotonic()))
            data = self._socket.recv(_CHUNK)
        except TimeoutError:
            raise Broken(f'no request within {self._timeout:g} s') from None
        except OSError as e:
            raise Broken(e.strerror) from e
        self._pending += self._decoder.decode(data)
        return bool(data)

    def answer(self, request: jsonrpc.Message, text: str) -> None:
        """Answer; :class:`Broken` when this cannot be delivered."""
        result: str | dict[str, str] = text
        if self.json:
            result = {'reply-format': 'plain', 'reply': text}
        self._send(jsonrpc.Message.create_reply(result, request.id))

    def refuse(self, request: jsonrpc.Message, text: str) -> None:
        """Answer with a reason; :class:`Broken` if it cannot be delivered."""
        self._send(jsonrpc.Message.create_error(text, request.id))

    def send_away(self, text: str) -> None:
        """Refuse a client whose request is not read, and close."""
        # The number of a client's first request; this never waits.
        first = jsonrpc.Message.create_error(text, 0)
        with contextlib.suppress(Broken):
            self._send(first)
        self.close()

    def _send(self, message: jsonrpc.Message) -> None:
        try:
            self._socket.settimeout(self._timeout)
            self._socket.sendall(json.dumps(message.to_json()).encode())
        except TimeoutError:
            raise Broken('it does not read its answer') from None
        except OSError as e:
            raise Broken(e.strerror) from e

    def hang_up(self) -> None:
        """End the connection, and wake a thread that waits on it."""
        with contextlib.suppress(OSError):
            # The client may have closed it already.
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """End the connection, and close the socket."""
        self.hang_up()
        self._socket.close()
