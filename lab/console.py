# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Sessions in nodes for clients outside of the machine.

The machine has some consoles besides its own; each carries one session at a
time (see :mod:`lab.frames`).  :mod:`lab.init` starts the process that serves
the sessions, so that every machine can be entered.
"""

import contextlib
import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import threading
import tty

from lab import birth
from lab import frames
from lab import node as nodes

# Set by lab.boot: "tty:/dev/tty2,..."
VARIABLE = 'LAB_CONSOLES'
# Name for the machine itself, with all the nodes in it.
MACHINE = 'machine'
# Seconds for programs to end after their client has gone.
GRACE = 2
# Bytes in a pipe at most, pipe(7).
PIPE = 65536


def serve():
    """Serve sessions; does not return."""
    kind, _colon, where = os.environ.get(VARIABLE, '').partition(':')
    if kind == 'tty':
        for path in where.split(','):
            threading.Thread(target=_serve_tty, args=(path,),
                             daemon=True).start()
    while True:
        signal.pause()


def _serve_tty(path):
    fd = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    tty.setraw(fd)
    # Only now do bytes pass as they are.
    frames.send(fd, frames.pack(frames.HELLO))
    with contextlib.suppress(EOFError, OSError):
        _sessions(fd)


class _Reader(frames.Reader):
    """Reports the number of read bytes, which makes room for more."""

    def read(self):
        found = super().read()
        frames.send(self._fd, frames.pack(frames.READ, b'%d' % self.count))
        return found


def _sessions(fd):
    reader = _Reader(fd)
    while True:
        # Frames of an earlier session are passed over.
        for kind, content in reader.read():
            if kind == frames.REQUEST:
                _answer(fd, reader, content)


def _answer(fd, reader, content):
    request = json.loads(content)
    if request.get('list'):
        names = ' '.join(birth.registered())
        frames.send(fd, frames.pack(frames.OUTPUT, names.encode()))
        frames.send(fd, frames.pack(frames.EXIT, b'0'))
        return
    try:
        session = Session(fd, reader, request)
    except (FileNotFoundError, PermissionError) as e:
        # The message and status of a shell.
        frames.send(fd, frames.pack(frames.ERRORS, (
            f'lab: {request["argv"][0]}: {e.strerror}\n').encode()))
        frames.send(fd, frames.pack(frames.EXIT, (
            b'127' if isinstance(e, FileNotFoundError) else b'126')))
        return
    except (OSError, ValueError, RuntimeError, subprocess.SubprocessError,
            nodes.NodeError) as e:
        frames.send(fd, frames.pack(frames.FAILED, str(e).encode()))
        return
    session.run()


class Session:
    """One command in a node.

    :param request: dict: "node", "argv", "terminal" (None, or [rows,
        columns]), "term"; or "list" alone, for the names of the nodes
    """

    def __init__(self, fd, reader, request: dict):
        self._fd = fd
        self._reader = reader
        self._outputs = {}
        self._terminal = bool(request['terminal'])
        # Input that the program has not read, and whether the input has ended.
        self._pending = b''
        self._input_ended = False
        environ = dict(os.environ, TERM=request.get('term') or 'dumb')
        environ.pop(VARIABLE, None)
        launch = (self._launch_on_terminal if self._terminal else
                  self._launch)
        if request['node'] == MACHINE:
            self._process = launch(subprocess.Popen, request, environ)
        else:
            with nodes.Node.found(request['node']) as node:
                self._process = launch(node.popen, request, environ)
        # Readable when the program has ended.
        self._ended = os.pidfd_open(self._process.pid)
        # A program that does not read must not block this process.
        for descriptor in {self._input, *self._outputs}:
            os.set_blocking(descriptor, False)

    def _launch_on_terminal(self, popen, request, environ):
        leader, follower = pty.openpty()
        _resize(leader, request['terminal'])
        try:
            # A session with the terminal, so that job control works.
            process = popen(['setsid', '--ctty', *request['argv']],
                            stdin=follower, stdout=follower,
                            stderr=follower, env=environ)
        except BaseException:
            os.close(leader)
            raise
        finally:
            os.close(follower)
        self._input = leader
        self._outputs[leader] = frames.OUTPUT
        return process

    def _launch(self, popen, request, environ):
        process = popen(request['argv'], stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                        env=environ, bufsize=0, start_new_session=True)
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
            while self._process.poll() is None:
                self._round()
            # Programs in the background may go on writing; only the content
            # of a pipe is of this program.
            for fd in list(self._outputs):
                for _piece in range(PIPE // frames.CHUNK):
                    if not self._give(fd):
                        break
            status = self._process.returncode
        except (EOFError, OSError):  # of the way to the client
            self._hang_up()
            raise
        finally:
            self._close()
        if status < 0:
            status = 128 - status
        frames.send(self._fd, frames.pack(frames.EXIT, b'%d' % status))

    def _round(self):
        ready, able, _x = select.select(
            [self._fd, self._ended, *self._outputs],
            [self._input] if self._pending else [], [])
        for fd in ready:
            if fd == self._fd:
                for kind, content in self._reader.read():
                    self._take(kind, content)
            elif fd in self._outputs:
                self._give(fd)
        if able and self._input is not None:
            self._feed()

    def _give(self, fd):
        """Pass a piece of output on; False when there is none."""
        try:
            data = os.read(fd, frames.CHUNK)
        except BlockingIOError:
            return False
        except OSError:  # a terminal without programs
            data = b''
        if data:
            frames.send(self._fd, frames.pack(self._outputs[fd], data))
            return True
        del self._outputs[fd]
        if fd != self._input:
            os.close(fd)
        return False

    def _take(self, kind, content):
        if kind == frames.INPUT:
            if self._input is None:
                self._taken(len(content))
            self._pending += content if self._input is not None else b''
        elif kind == frames.WINDOW:
            _resize(self._input, json.loads(content))
        elif kind == frames.INPUT_END:
            self._input_ended = True
            self._end_input()
        elif kind == frames.SIGNAL:
            self._signal(int(content))
        elif kind == frames.HANGUP:
            self._hang_up()

    def _feed(self):
        try:
            written = os.write(self._input, self._pending)
        except BlockingIOError:
            return
        except OSError:  # nobody reads it any more
            written = len(self._pending)
            self._input_ended = True
        self._pending = self._pending[written:]
        self._taken(written)
        self._end_input()

    def _taken(self, count):
        frames.send(self._fd, frames.pack(frames.TAKEN, b'%d' % count))

    def _end_input(self):
        """Pass the end of the input on, after the input."""
        if (self._input_ended and not self._pending and
                not self._terminal and self._input is not None):
            os.close(self._input)
            self._input = None

    def _hang_up(self):
        """End the programs of a client that is gone."""
        self._close_streams()
        if self._process.poll() is not None:
            return
        self._signal(signal.SIGHUP if self._terminal else signal.SIGTERM)
        try:
            self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            self._signal(signal.SIGKILL)
            self._process.wait()

    def _signal(self, number):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    def _close(self):
        self._close_streams()
        os.close(self._ended)

    def _close_streams(self):
        for fd in {*self._outputs, self._input} - {None}:
            os.close(fd)
        self._outputs.clear()
        self._input = None
        self._pending = b''


def _resize(fd, window):
    if fd is not None:
        with contextlib.suppress(OSError):
            fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack(
                'HHHH', window[0], window[1], 0, 0))
