# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""One connection of the unixctl protocol: JSON-RPC 1.0, one request a time.

The protocol is that of ovs-appctl(8) and of the library's ovs.unixctl.server.
This server is not used, for four reasons.  Its commands are one table for the
whole process.  Its listener takes the socket of a living process and installs
signal handlers.  A bad option of set-options ends its thread (argparse).  A
slow command keeps all other clients waiting.  Here each connection has a
thread of its own, and an error affects only this connection.
"""

import codecs
from collections.abc import Iterator
import contextlib
import json
import socket
import struct
import time

from ovs import jsonrpc

# Most characters of one request; a usual request has a few hundred.
_LONGEST = 65536
_CHUNK = 4096
# struct ucred of unix(7): process, user, group.
_UCRED = struct.Struct('=iII')


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
        # Whether the client wants answers as JSON objects.
        self.json = False
        # The process that connected, 0 in another PID namespace.
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
        """The next :class:`jsonrpc.Message`, an error text, or None."""
        deadline = time.monotonic() + self._timeout
        while True:
            self._pending = self._pending.lstrip()
            try:
                found, used = self._parser.raw_decode(self._pending)
                self._pending = self._pending[used:]
                return jsonrpc.Message.from_json(found)
            except json.JSONDecodeError:
                # An incomplete request raises the same error as a bad one.
                pass
            except (ValueError, RecursionError):
                return 'a number or a nesting that is too large for a request'
            if len(self._pending) > _LONGEST:
                return f'a request has more than {_LONGEST} characters'
            if not self._more(deadline):
                return None

    def _more(self, deadline: float) -> bool:
        """Wait for further text; False at the end."""
        try:
            # The end of the agent closes the socket on another thread.
            self._socket.settimeout(max(0.001, deadline - time.monotonic()))
            data = self._socket.recv(_CHUNK)
        except TimeoutError:
            raise Broken(f'no request within {self._timeout:g} s') from None
        except OSError as e:
            raise Broken(e.strerror) from e
        self._pending += self._decoder.decode(data)
        return bool(data)

    def answer(self, request: jsonrpc.Message, text: str) -> None:
        """Answer a request.

        :raises Broken: when the answer cannot be delivered
        """
        result: str | dict[str, str] = text
        if self.json:
            result = {'reply-format': 'plain', 'reply': text}
        self._send(jsonrpc.Message.create_reply(result, request.id))

    def refuse(self, request: jsonrpc.Message, text: str) -> None:
        """Answer a request with the reason of its refusal.

        :raises Broken: when the answer cannot be delivered
        """
        self._send(jsonrpc.Message.create_error(text, request.id))

    def send_away(self, text: str) -> None:
        """Refuse a client whose request is not read, and close."""
        # The number of the first request of a client; nothing else was sent,
        # so this never waits.
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
            # The client may have closed the connection already.
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """End the connection, and close the socket."""
        self.hang_up()
        self._socket.close()
