# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Clients that connect again after a loss, at the times of an agent."""

import contextlib
import errno
import json
import selectors
import socket
import time

from ovs import reconnect

from tools.bench.fleet import recorder

_PIECE = 1 << 20
_PROBE = json.dumps({'method': 'echo', 'params': [], 'id': 'echo'}).encode()
_ANSWER = json.dumps({'result': [], 'error': None, 'id': 'echo'}).encode()


def milliseconds():
    """The present time for :class:`reconnect.Reconnect`."""
    return time.monotonic() * 1000


class Client:
    """One client.

    :param address: (address, port) of the server
    :param begin: bytes to begin with
    :param size: bytes that come for these
    :param pauses: (least, most) milliseconds between attempts to connect
    :param probe: milliseconds, 0 for none
    :ivar loaded: monotonic seconds since which it has everything, or None
    """

    def __init__(self, address, begin, size, pauses, probe):
        self._address, self._begin, self._size = address, begin, size
        self._fsm = reconnect.Reconnect(milliseconds())
        self._fsm.set_quiet(True)
        self._fsm.set_backoff(*pauses)
        self._fsm.set_probe_interval(probe)
        self._fsm.enable(milliseconds())
        self.socket = None
        self.loaded = None
        self.attempts = self.given_up = 0
        self._received = 0

    def run(self, selector):
        """Do what is due by time.

        :param selector: selectors.BaseSelector of all clients
        """
        now = milliseconds()
        action = self._fsm.run(now)
        if action == reconnect.CONNECT:
            self._connect(selector, now)
        elif action == reconnect.DISCONNECT:
            # Silent for too long while it was connected, or not connected.
            self.given_up += self._fsm.is_connected()
            self._lose(selector, 0)
        elif action == reconnect.PROBE:
            self._send(selector, _PROBE)

    def ready(self, selector, events):
        """Do what the socket is ready for."""
        if events & selectors.EVENT_WRITE:
            error = self.socket.getsockopt(socket.SOL_SOCKET,
                                           socket.SO_ERROR)
            if error:
                self._lose(selector, error)
                return
            selector.modify(self.socket, selectors.EVENT_READ, self)
            self._fsm.connected(milliseconds())
            self._send(selector, self._begin)
            return
        self._receive(selector)

    def attempted(self):
        """It has looked for data."""
        self._fsm.receive_attempted(milliseconds())

    def close(self):
        """Close the socket."""
        if self.socket is not None:
            self.socket.close()

    def _connect(self, selector, now):
        self.attempts += 1
        self.socket = socket.socket()
        self.socket.setblocking(False)
        error = self.socket.connect_ex(self._address)
        self._fsm.connecting(now)
        self._received = 0
        selector.register(self.socket, selectors.EVENT_WRITE, self)
        if error not in (0, errno.EINPROGRESS):
            self._lose(selector, error)

    def _send(self, selector, data):
        try:
            self.socket.sendall(data)
        except OSError as e:
            self._lose(selector, e.errno)

    def _receive(self, selector):
        try:
            data = self.socket.recv(_PIECE)
        except OSError as e:
            self._lose(selector, e.errno)
            return
        if not data:
            self._lose(selector, reconnect.EOF)
            return
        self._received += len(data)
        self._fsm.activity(milliseconds())
        if self.loaded is None and self._received >= self._size:
            self.loaded = time.monotonic()
        if data.endswith(b'"method":"echo","params":[]}'):
            self._send(selector, _ANSWER)

    def _lose(self, selector, error):
        selector.unregister(self.socket)
        self.socket.close()
        self.socket = None
        self.loaded = None
        self._fsm.disconnected(milliseconds(), error)


def measured(address, begin, ids):
    """How many bytes the answers to some requests have.

    :param begin: bytes of the requests
    :param ids: the ids of the requests
    """
    decoder, text, size, answered = json.JSONDecoder(), '', 0, set()
    with contextlib.closing(socket.create_connection(address)) as made:
        made.sendall(begin)
        while answered != set(ids):
            data = made.recv(_PIECE)
            size += len(data)
            messages, text = recorder.complete(decoder, text + data.decode())
            answered.update(json.dumps(message['id']) for message in messages
                            if 'result' in message)
    return size
