# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Light clients of a server: they keep no rows."""

import contextlib
import json
import selectors
import socket
import time

from tools.bench.fleet import recorder
from tools.bench.fleet import servers

# Bytes that are kept of what came last.
_END = 4096


class Clients:
    """Light clients of one server.

    :ivar size: bytes that each of them gets at the beginning
    """

    def __init__(self, path, requests, count: int):
        self._path = path
        self._begin = ''.join(json.dumps(one) for one in requests).encode()
        self._ids = [json.dumps(one['id']) for one in requests]
        self._selector = selectors.DefaultSelector()
        self._received, self._ends = {}, {}
        with contextlib.ExitStack() as opened:
            opened.callback(self.close)
            self.size = self._first()
            for _number in range(count - 1):
                self._add()
            self._read(lambda: min(self._received.values()) >= self.size)
            opened.pop_all()

    def received(self):
        """Bytes so far, of all clients."""
        return sum(self._received.values())

    def until(self, mark):
        """Read until every client has got a text, the last of all."""
        self._read(lambda: all(mark in end for end in self._ends.values()))

    def close(self):
        """Close the connections of all clients, and the selector."""
        for key in list(self._selector.get_map().values()):
            key.fileobj.close()
        self._selector.close()

    def _add(self):
        made = socket.socket(socket.AF_UNIX)
        # From now on close() closes the socket.
        self._selector.register(made, selectors.EVENT_READ)
        made.connect(self._path)
        made.sendall(self._begin)
        self._received[made], self._ends[made] = 0, b''
        return made

    def _first(self):
        """Add a client whose answers are read; gives their size."""
        made, decoder, text = self._add(), json.JSONDecoder(), ''
        answered = set()
        while answered != set(self._ids):
            data = made.recv(1 << 20)
            self._received[made] += len(data)
            messages, text = recorder.complete(decoder, text + data.decode())
            for message in messages:
                if 'result' in message:
                    answered.add(json.dumps(message['id']))
        return self._received[made]

    def _read(self, complete):
        started = time.monotonic()
        while not complete():
            if time.monotonic() - started > servers.LIMIT:
                raise RuntimeError('the server does not send everything')
            for key, _events in self._selector.select(0.1):
                made, data = key.fileobj, key.fileobj.recv(1 << 20)
                self._received[made] += len(data)
                self._ends[made] = (self._ends[made] + data)[-_END:]
                if b'"echo"' in data[-200:]:
                    made.sendall(b'{"id":"echo","result":[],"error":null}')
