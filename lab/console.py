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
"""Sessions in nodes, asked for from outside of the machine.

The machine has some consoles besides its own; each carries one session at a
time (see :mod:`lab.frames`).  On the host's own kernel a socket in the job's
directory takes their place.
"""

import contextlib
import fcntl
import json
import os
import pty
import select
import socket
import struct
import subprocess
import termios
import threading
import tty

from lab import frames
from lab import running

# Set by lab.boot: "tty:/dev/tty2,..." or "socket:PATH"
VARIABLE = 'LAB_CONSOLES'


def serve(find):
    """Serve sessions on threads until the program ends.

    :param find: function that returns the Node of a name, or None
    """
    kind, _colon, where = os.environ.get(VARIABLE, '').partition(':')
    if kind == 'tty':
        for path in where.split(','):
            _start(_serve_tty, path, find)
    elif kind == 'socket':
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(where)
        listener.listen()
        _start(_serve_socket, listener, find)
    if running.VARIABLE in os.environ:
        with open(os.environ[running.VARIABLE], 'w', encoding='ascii'):
            pass


def _start(function, *args):
    threading.Thread(target=function, args=args, daemon=True).start()


def _serve_tty(path, find):
    fd = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    tty.setraw(fd)
    with contextlib.suppress(EOFError, OSError):
        _sessions(fd, find)


def _serve_socket(listener, find):
    while True:
        client, _address = listener.accept()
        _start(_serve_client, client, find)


def _serve_client(client, find):
    with client, contextlib.suppress(EOFError, OSError):
        _sessions(client.fileno(), find)


def _sessions(fd, find):
    reader = frames.Reader(fd)
    while True:
        # What belongs to an earlier session is passed over.
        for kind, content in reader.read():
            if kind == frames.REQUEST:
                try:
                    Session(fd, reader, json.loads(content), find).run()
                except (OSError, ValueError, RuntimeError) as e:
                    frames.send(fd, frames.pack(frames.FAILED,
                                                str(e).encode()))


class Session:
    """One command in a node.

    :param fd: of the console
    :param reader: its frames.Reader
    :param request: dict: "node" ('' for the machine itself), "argv",
        "terminal" (None, or [rows, columns]), "term"
    :param find: see :func:`serve`
    """

    def __init__(self, fd, reader, request, find):
        self._fd = fd
        self._reader = reader
        self._outputs = {}
        self._input = None
        self._process = self._launch(request, self._popen(request, find))

    def _popen(self, request, find):
        if not request['node']:
            return subprocess.Popen
        node = find(request['node'])
        if node is None:
            raise ValueError('there is no node %s' % request['node'])
        return node.popen

    def _launch(self, request, popen):
        environ = dict(os.environ, TERM=request.get('term') or 'dumb')
        argv = request['argv']
        if request['terminal']:
            leader, follower = pty.openpty()
            self._input = leader
            self._outputs[leader] = frames.OUTPUT
            self._resize(request['terminal'])
            # A session with the terminal, so that job control works.
            process = popen(['setsid', '--ctty', *argv], stdin=follower,
                            stdout=follower, stderr=follower, env=environ)
            os.close(follower)
            return process
        process = popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE, env=environ, bufsize=0,
                        start_new_session=True)
        self._input = os.dup(process.stdin.fileno())
        process.stdin.close()
        for stream, kind in ((process.stdout, frames.OUTPUT),
                             (process.stderr, frames.ERRORS)):
            self._outputs[os.dup(stream.fileno())] = kind
            stream.close()
        return process

    def run(self):
        """Carry the session to its end."""
        frames.send(self._fd, frames.pack(frames.ACCEPTED))
        try:
            # All output first: the exit status is the last frame.
            while self._outputs:
                self._round()
            status = self._process.wait()
        finally:
            self._close()
        if status < 0:
            status = 128 - status
        frames.send(self._fd, frames.pack(frames.EXIT, b'%d' % status))

    def _round(self):
        ready, _w, _x = select.select([self._fd, *self._outputs], [], [])
        for fd in ready:
            if fd == self._fd:
                for kind, content in self._reader.read():
                    self._take(kind, content)
            elif fd in self._outputs:
                self._give(fd)

    def _give(self, fd):
        try:
            data = os.read(fd, frames.CHUNK)
        except OSError:  # a terminal without programs
            data = b''
        if data:
            frames.send(self._fd, frames.pack(self._outputs[fd], data))
        else:
            del self._outputs[fd]
            if fd != self._input:
                os.close(fd)

    def _take(self, kind, content):
        if kind == frames.INPUT:
            with contextlib.suppress(OSError):
                if self._input is not None:
                    frames.send(self._input, content)
            frames.send(self._fd, frames.pack(frames.TAKEN))
        elif kind == frames.WINDOW:
            self._resize(json.loads(content))
        elif kind == frames.INPUT_END:
            if self._input is not None and self._input not in self._outputs:
                os.close(self._input)
                self._input = None
        elif kind == frames.HANGUP:
            self._end()

    def _end(self):
        """The client is gone: so are its programs and its output."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, 9)
        for fd in self._outputs:
            if fd != self._input:
                os.close(fd)
        self._outputs.clear()

    def _resize(self, window):
        with contextlib.suppress(OSError):
            fcntl.ioctl(self._input, termios.TIOCSWINSZ, struct.pack(
                'HHHH', window[0], window[1], 0, 0))

    def _close(self):
        for fd in {*self._outputs, self._input} - {None}:
            os.close(fd)
        self._outputs.clear()
        self._input = None
