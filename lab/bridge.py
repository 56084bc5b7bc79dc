# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The host's side of the consoles: a socket to which "lab enter" connects.

Runs on threads of the program that booted the machine.
"""

import collections
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
# Seconds that a client waits for the machine to come up, and for a console.
BOOT, BUSY = 10, 5


class Bridge:
    """Joins clients on a unix socket to free consoles of the machine."""

    def __init__(self, path):
        self._free = queue.SimpleQueue()
        self._up = threading.Event()
        self._ours = []
        self._theirs = []
        for _number in range(CONSOLES):
            ours, theirs = socket.socketpair()
            self._ours.append(ours)
            self._theirs.append(theirs)
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
        return [f'con{FIRST + n}=fd:{fd:d}'
                for n, fd in enumerate(self.fds)]

    @staticmethod
    def variable():
        """Value of the environment variable that lab.console reads."""
        return 'tty:' + ','.join(f'/dev/tty{FIRST + n}'
                                 for n in range(CONSOLES))

    def start(self):
        """Accept clients; the machine has to be started already."""
        for one in self._theirs:
            one.close()
        for function in (self._greet, self._accept):
            threading.Thread(target=function, daemon=True).start()

    def close(self):
        """Accept no more clients, after the end of the machine."""
        # close() alone would not wake the thread that waits for clients.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _greet(self):
        """Use a console after the machine's greeting.

        Its terminal would change and echo earlier input.
        """
        waiting = [_Console(ours) for ours in self._ours]
        while waiting:
            for console in select.select(waiting, [], [])[0]:
                try:
                    greeted = console.read()
                except (EOFError, OSError):
                    return  # the machine has ended
                if greeted:
                    waiting.remove(console)
                    self._free.put(console)
                    self._up.set()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _address = self._listener.accept()
                threading.Thread(target=self._carry, args=(client,),
                                 daemon=True).start()

    def _carry(self, client):
        with client:
            try:
                if not self._up.wait(BOOT):
                    raise queue.Empty
                console = self._free.get(timeout=BUSY)
            except queue.Empty:
                text = (f'all {CONSOLES} consoles are in use'
                        if self._up.is_set() else 'it is not up yet')
                with contextlib.suppress(OSError):
                    client.sendall(frames.pack(frames.FAILED, text.encode()))
                return
            with contextlib.suppress(OSError, EOFError):
                _Session(client, console).run()
                self._free.put(console)


class _Console:
    """The host's end of a console."""

    def __init__(self, ours):
        self._socket = ours
        self._reader = frames.Reader(ours.fileno())
        self._room = frames.ROOM
        self._waiting = collections.deque()  # frames, or the rest of one

    def fileno(self):
        """For select."""
        return self._socket.fileno()

    def send(self, frame):
        """Send a frame, as soon as there is room."""
        self._waiting.append(frame)
        self._push()

    def forget(self):
        """Drop the unsent frames, but not the rest of a begun frame."""
        while len(self._waiting) > 1:
            self._waiting.pop()

    def _push(self):
        while self._waiting and self._room:
            frame = self._waiting[0]
            sent = self._socket.send(frame[:self._room])
            self._room -= sent
            if sent == len(frame):
                self._waiting.popleft()
            else:
                self._waiting[0] = frame[sent:]

    def read(self):
        """Read once: list of (kind, content).

        :raises EOFError: when the machine has ended
        """
        found = []
        for kind, content in self._reader.read():
            if kind == frames.READ:
                self._room += int(content)
                self._push()
            else:
                found.append((kind, content))
        return found


class _Session:
    """A client and its console."""

    def __init__(self, client, console):
        self._client = client
        self._console = console
        self._reader = frames.Reader(client.fileno())
        self._there = True

    def run(self):
        """Run until the machine reports the end of the session."""
        while True:
            sources = [self._console]
            if self._there:
                sources.append(self._client)
            ready, _w, _x = select.select(sources, [], [])
            if self._client in ready:
                self._listen()
            if self._console in ready:
                for kind, content in self._console.read():
                    if self._there:
                        self._forward(kind, content)
                    if kind in frames.LAST:
                        self._console.forget()
                        return

    def _listen(self):
        try:
            for kind, content in self._reader.read():
                self._console.send(frames.pack(kind, content))
        except (EOFError, OSError):
            self._lost()

    def _forward(self, kind, content):
        try:
            self._client.sendall(frames.pack(kind, content))
        except OSError:
            self._lost()

    def _lost(self):
        """Report the loss of the client, so that the session ends."""
        self._there = False
        self._console.forget()
        self._console.send(frames.pack(frames.HANGUP))
