# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The other ends of sockets, in this process: whatever they say is an input.

One thread listens on a Unix socket.  It sends the input to whoever connects,
at once or after each request, and closes.
"""

import contextlib
import os
import socket
import struct
import tempfile
import threading
import typing

_PATIENCE = 5.0


class Peer:
    """Listens on a Unix socket.

    :param path: path of the socket
    :param after: bytes at the end of a request, b'' to speak at once
    :ivar answers: list of bytes, one for each request of a connection; with
        the last one, the connection ends
    """

    def __init__(self, path, after=b''):
        self.path = path
        self.answers = []
        self._after = after
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listening.bind(path)
        self._listening.listen(64)
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            accepted, _address = self._listening.accept()
            with accepted, contextlib.suppress(OSError):
                accepted.settimeout(_PATIENCE)
                self._speak(accepted, list(self.answers))

    def _speak(self, accepted, answers):
        pending = b''
        while answers:
            if self._after not in pending:
                received = accepted.recv(65536)
                if not received:
                    return
                pending += received
                continue
            pending = pending.partition(self._after)[2] if (
                self._after) else b''
            accepted.sendall(answers.pop(0))
        accepted.shutdown(socket.SHUT_WR)
        while accepted.recv(65536):
            pass


_peers = {}


def peer(name, after=b''):
    """The listening peer of a name in this process; made at the first call.

    :param name: file name of the socket
    :param after: see :class:`Peer`
    :returns: :class:`Peer`
    """
    key = os.getpid(), name
    if key not in _peers:
        _peers[key] = Peer(os.path.join(directory(), name), after)
    return _peers[key]


_directories = {}


def directory():
    """A directory of this process."""
    if os.getpid() not in _directories:
        _directories[os.getpid()] = tempfile.mkdtemp(prefix='fuzz-')
    return _directories[os.getpid()]


@contextlib.contextmanager
def speaking(data, name='peer', after=b''):
    """Path of a socket that says something while the block runs.

    :param data: bytes, or a list of bytes, see :class:`Peer`
    :param name: file name of the socket
    :param after: see :class:`Peer`
    """
    found = peer(name, after)
    found.answers = [data] if isinstance(data, bytes) else data
    yield found.path


class Recorder(Peer):
    """A daemon of FRR that does nothing, and notes the commands."""

    def __init__(self, path):
        self._commands = []
        super().__init__(path, b'\0')

    def taken(self):
        """The commands since the last call, a list of text."""
        taken, self._commands = self._commands, []
        return taken

    def _speak(self, accepted, answers):
        pending = b''
        while received := accepted.recv(65536):
            *commands, pending = (pending + received).split(b'\0')
            for command in commands:
                self._commands.append(command.decode('utf-8', 'replace'))
                accepted.sendall(self._answer(command) + b'\0\0\0\0')

    def _answer(self, command):
        if command == b'show running-config':
            return b'frr version 8.4'
        return b'{}' if command.endswith(b' json') else b''


# Numbers of OpenFlow 1.3: message types, and commands of a FLOW_MOD.
_HELLO, _FLOW_MOD, _QUESTION, _ANSWER, _BARRIER = 0, 14, 18, 19, 20
ADD, DELETE_STRICT = 0, 4
_OPENFLOW = struct.Struct('!BBHI')
_CHANGE = struct.Struct('!QQBBHHH')


class Change(typing.NamedTuple):
    """A FLOW_MOD."""

    cookie: int
    mask: int
    table: int
    command: int
    priority: int


class Switch(Peer):
    """A switch without flows, which notes the changes."""

    def __init__(self, path):
        self._changes = []
        super().__init__(path)

    def taken(self):
        """The changes since the last call, a list of :class:`Change`."""
        taken, self._changes = self._changes, []
        return taken

    def _speak(self, accepted, answers):
        accepted.settimeout(None)
        pending = b''
        while received := accepted.recv(65536):
            pending += received
            while len(pending) >= _OPENFLOW.size:
                _version, kind, length, xid = _OPENFLOW.unpack_from(pending)
                if len(pending) < length:
                    break
                self._message(accepted, kind, xid, pending[8:length])
                pending = pending[length:]

    def _message(self, accepted, kind, xid, body):
        answer = {_HELLO: (_HELLO, b''), _BARRIER: (_BARRIER + 1, b''),
                  _QUESTION: (_ANSWER, body[:2] + bytes(6))}.get(kind)
        if kind == _FLOW_MOD:
            cookie, mask, table, command, _idle, _hard, priority = (
                _CHANGE.unpack_from(body))
            self._changes.append(Change(cookie, mask, table, command,
                                        priority))
        elif answer:
            accepted.sendall(_OPENFLOW.pack(
                4, answer[0], 8 + len(answer[1]), xid) + answer[1])
