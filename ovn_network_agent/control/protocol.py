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
    """The server's side of one client.

    :param opened: connected socket
    :param patience: seconds for a client that sends or receives nothing
    :ivar json: whether the client wants answers as JSON objects
    :ivar process: process that connected, 0 in another PID namespace
    """

    def __init__(self, opened, patience):
        self._socket = opened
        self._patience = patience
        self._pending = ''
        self._parser = json.JSONDecoder()
        self._decoder = codecs.getincrementaldecoder('utf-8')('replace')
        self.json = False
        self.process = _UCRED.unpack(opened.getsockopt(
            socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size))[0]

    def requests(self):
        """The requests of the client, one after the other.

        :returns: iterator of :class:`jsonrpc.Message`, until the client
            closes its side
        :raises Broken: when the client sends no valid request in time
        """
        while True:
            message = self._receive()
            if message is None:
                return
            if isinstance(message, str):
                raise Broken(message)
            if message.type != jsonrpc.Message.T_REQUEST:
                raise Broken('received what is no request')
            yield message

    def _receive(self):
        """The next :class:`jsonrpc.Message`, an error text, or None."""
        deadline = time.monotonic() + self._patience
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
                return 'a number or a nesting that no request has'
            if len(self._pending) > _LONGEST:
                return f'a request has more than {_LONGEST} characters'
            if not self._more(deadline):
                return None

    def _more(self, deadline):
        """Wait for further text; False at the end."""
        try:
            # The end of the agent closes the socket on another thread.
            self._socket.settimeout(max(0.001, deadline - time.monotonic()))
            data = self._socket.recv(_CHUNK)
        except TimeoutError:
            raise Broken(f'no request within {self._patience:g} s') from None
        except OSError as e:
            raise Broken(e.strerror) from e
        self._pending += self._decoder.decode(data)
        return bool(data)

    def answer(self, request, text):
        """Answer a request.

        :param request: :class:`jsonrpc.Message`
        :param text: str
        :raises Broken: when the answer cannot be delivered
        """
        result = text
        if self.json:
            result = {'reply-format': 'plain', 'reply': text}
        self._send(jsonrpc.Message.create_reply(result, request.id))

    def refuse(self, request, text):
        """Answer a request with the reason of its refusal.

        :param request: :class:`jsonrpc.Message`
        :param text: str
        :raises Broken: when the answer cannot be delivered
        """
        self._send(jsonrpc.Message.create_error(text, request.id))

    def send_away(self, text):
        """Refuse a client whose request is not read, and close.

        :param text: str
        """
        # The number of the first request of a client; nothing else was sent,
        # so this never waits.
        first = jsonrpc.Message.create_error(text, 0)
        with contextlib.suppress(Broken):
            self._send(first)
        self.close()

    def _send(self, message):
        try:
            self._socket.settimeout(self._patience)
            self._socket.sendall(json.dumps(message.to_json()).encode())
        except TimeoutError:
            raise Broken('it does not take its answer') from None
        except OSError as e:
            raise Broken(e.strerror) from e

    def hang_up(self):
        """End the connection, and wake a thread that waits on it."""
        with contextlib.suppress(OSError):
            # The client may have closed the connection already.
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self):
        """End the connection, and close the socket."""
        self.hang_up()
        self._socket.close()
