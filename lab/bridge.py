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
"""The host's side of the consoles: a socket to which "lab enter" connects.

Runs on threads of the program that booted the machine.
"""

import contextlib
import os
import queue
import select
import socket
import threading

from lab import frames

CONSOLES = 12
# The first two are the kernel's and the command's.
FIRST = 2


class Bridge:
    """Joins clients on a unix socket to free consoles of the machine.

    :param path: of the socket
    """

    def __init__(self, path):
        self._free = queue.SimpleQueue()
        self._theirs = []
        for _number in range(CONSOLES):
            ours, theirs = socket.socketpair()
            self._theirs.append(theirs)
            self._free.put((ours, frames.Reader(ours.fileno())))
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(path)
        os.chmod(path, 0o600)
        self._listener.listen()

    @property
    def fds(self):
        """File descriptors that the machine inherits."""
        return [one.fileno() for one in self._theirs]

    def arguments(self):
        """For the kernel's command line."""
        return ['con%d=fd:%d' % (FIRST + n, fd)
                for n, fd in enumerate(self.fds)]

    @staticmethod
    def variable():
        """Value of the environment variable that lab.console reads."""
        return 'tty:' + ','.join('/dev/tty%d' % (FIRST + n)
                                 for n in range(CONSOLES))

    def start(self):
        """Take clients from now on; the machine has been started."""
        for one in self._theirs:
            one.close()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        """Take no more clients."""
        self._listener.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _address = self._listener.accept()
                threading.Thread(target=self._carry, args=(client,),
                                 daemon=True).start()

    def _carry(self, client):
        with client:
            try:
                console, reader = self._free.get(timeout=5)
            except queue.Empty:
                client.sendall(frames.pack(
                    frames.FAILED, b'all consoles are in use'))
                return
            with contextlib.suppress(OSError, EOFError):
                _session(client, console, reader)
                self._free.put((console, reader))


def _session(client, console, reader):
    """Until the machine has said that the session is over."""
    there = True
    while True:
        ready, _w, _x = select.select([client, console] if there else
                                      [console], [], [])
        if client in ready and there:
            data = _receive(client)
            # The machine has to know, or the session would never end.
            console.sendall(data or frames.pack(frames.HANGUP))
            there = bool(data)
        if console in ready:
            for kind, content in reader.read():
                if there:
                    there = _forward(client, console, kind, content)
                if kind in frames.LAST:
                    return


def _receive(client):
    try:
        return client.recv(frames.CHUNK)
    except OSError:
        return b''


def _forward(client, console, kind, content):
    try:
        client.sendall(frames.pack(kind, content))
        return True
    except OSError:
        console.sendall(frames.pack(frames.HANGUP))
        return False
