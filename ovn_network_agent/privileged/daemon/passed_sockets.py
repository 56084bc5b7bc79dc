# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Passing a socket that the privileged side has opened to the agent.

Any user may connect to the abstract socket that waits.  So the agent accepts
all at once, closes other users', and takes that of the right process.  These
are no entry points.
"""

from collections.abc import Callable
import contextlib
import errno
import os
import pwd
import queue
import re
import secrets
import socket
import struct
import threading
import time
import typing

from ovn_network_agent import privileged
from ovn_network_agent.common import unix_sockets
from ovn_network_agent.privileged.network import checks

# struct ucred: pid, uid, gid
_CREDENTIALS = struct.Struct('=iII')
# seconds; both ends are on this machine
TIMEOUT = 10.0
# seconds after a connection that could not be accepted
_REST = 0.05

_NAME = re.compile(r'[0-9a-f]{32}')
# seconds; the agent is on this machine and waits already
_PASS_TIMEOUT = 5


def receive(hand_over: Callable[[str], int]) -> socket.socket:
    """Receive a socket by an entry point that gets the name of the waiting
    abstract socket, and returns its process id.
    """
    name = secrets.token_hex(16)
    with _Listener(name) as listener:
        sender = hand_over(name)
        with listener.connection(sender) as channel:
            channel.settimeout(TIMEOUT)
            _data, found, _flags, _address = socket.recv_fds(channel, 1, 1)
    if len(found) != 1:
        raise OSError(errno.EPROTO, 'the privileged side handed over no '
                                    'socket')
    return socket.socket(fileno=found[0])


class _Listener:
    """A waiting socket, and the thread that accepts its connections."""

    def __init__(self, name: str) -> None:
        self._trusted = _trusted()
        self._accepted: queue.SimpleQueue[tuple[int, socket.socket]] = (
            queue.SimpleQueue())
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.bind('\0' + name)
            self._socket.listen()
        except OSError:
            self._socket.close()
            raise
        self._thread = threading.Thread(
            target=self._accept, name='receiving', daemon=True)
        self._thread.start()

    def __enter__(self) -> typing.Self:
        return self

    def __exit__(self, *_error: object) -> None:
        # ends the thread, which waits in accept()
        self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._socket.close()
        with contextlib.suppress(queue.Empty):
            while True:
                self._accepted.get_nowait()[1].close()

    def connection(self, sender: int) -> socket.socket:
        """The connection of a process."""
        deadline = time.monotonic() + TIMEOUT
        while True:
            try:
                pid, channel = self._accepted.get(
                    timeout=max(0.001, deadline - time.monotonic()))
            except queue.Empty:
                raise TimeoutError(
                    errno.ETIMEDOUT, 'the privileged side did not hand over '
                    f'a socket within {TIMEOUT:g} s') from None
            if pid == sender:
                return channel
            channel.close()

    def _accept(self) -> None:
        while True:
            try:
                channel, _address = self._socket.accept()
            except OSError as error:
                if error.errno == errno.EINVAL:
                    return
                # such as too many open files: the next one may be closed
                time.sleep(_REST)
                continue
            pid, uid, _gid = _CREDENTIALS.unpack(channel.getsockopt(
                socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
            if uid in self._trusted:
                self._accepted.put((pid, channel))
            else:
                channel.close()


def _trusted() -> set[int]:
    """The users that a privileged daemon may have."""
    found = {0, os.geteuid()}
    for context in privileged.CONTEXTS:
        user = context.conf.user
        if user:
            found.add(int(user) if user.isdigit()
                      else pwd.getpwnam(user).pw_uid)
    return found


def check(name: object) -> None:
    """Check the name of the abstract Unix socket of the agent."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise checks.invalid(f'{name!r} is no name of a socket')


def give(name: str, opened: socket.socket) -> int:
    """Send an open socket to the agent; returns the id of this process."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as channel:
        # others may have filled the queue of the agent
        unix_sockets.connect(channel, '\0' + name,
                             time.monotonic() + _PASS_TIMEOUT)
        socket.send_fds(channel, [b'.'], [opened.fileno()])
    return os.getpid()
