# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The lock that allows only one agent in a network namespace.

Two agents would take each other's objects for their own.  The lock is an
abstract Unix socket, as it belongs to the network namespace like these
objects, also of a container, and ends with the process.

Any user may take the name while no agent runs, so the message of an agent that
cannot start names the process that has it.
"""

import contextlib
import errno
import os
import socket
import struct
import threading
import time

from oslo_log import log as logging

from ovn_network_agent.common import error_words

LOG = logging.getLogger(__name__)

NAME = '\0ovn-network-agent'
_TIMEOUT = 2.0  # seconds for the other agent to say where it is
_LONGEST = 400
_ATTEMPTS = 5  # the other agent may end before it is asked
_BACKLOG = 16


class AnotherOne(Exception):
    """Another agent runs; the text names its process and the remedy."""


class Place:
    """The lock of the only agent in this network namespace.

    To be taken before a fork or thread; ``about`` is told a second agent.

    :raises AnotherOne: when another agent has the lock
    :raises OSError: when the socket cannot be made
    """

    def __init__(self, about: str) -> None:
        self._about = about.encode(errors='replace')[:_LONGEST]
        self._socket = _bound()
        self._socket.listen(_BACKLOG)
        # A forked process may outlive this one.
        os.register_at_fork(after_in_child=self._socket.close)

    def answer(self) -> None:
        """Begin to answer other agents; returns at once."""
        threading.Thread(target=self._answer, name='sole',
                         daemon=True).start()

    def _answer(self) -> None:
        while True:
            try:
                client, _address = self._socket.accept()
            except OSError as error:
                LOG.warning('Another agent that asked where this one is got '
                            'no answer: %s', error_words.text(error))
                time.sleep(_TIMEOUT)
                continue
            with contextlib.suppress(OSError), client:
                client.settimeout(_TIMEOUT)
                client.sendall(self._about)


def describe(control_socket: str) -> str:
    """The place of this process, for an operator of the same node."""
    parts = [f'process {os.getpid()}', f'host name {socket.gethostname()}']
    try:
        with open('/proc/self/cgroup', encoding='utf-8') as opened:
            parts.append(f'cgroup {opened.readline().strip()}')
    except OSError as error:
        parts.append(f'cgroup unknown ({error.strerror})')
    parts.append(f'control socket {control_socket or "none"}')
    return ', '.join(parts)


def _bound() -> socket.socket:
    for _attempt in range(_ATTEMPTS):
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            made.bind(NAME)
            return made
        except OSError as error:
            made.close()
            if error.errno != errno.EADDRINUSE:
                raise
        parts = holder()
        if parts:
            break
    raise AnotherOne(
        'another agent works in this network namespace: '
        f'{parts or "it is ending"}. Two agents would remove '
        "each other's routes: stop the other agent first, or let it work; "
        '"--dry-run" may run beside an agent')


def holder() -> str:
    """The process with the lock as text, '' without one.

    That is the kernel's process id and user, and the process' answer.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.settimeout(_TIMEOUT)
        try:
            asking.connect(NAME)
            pid, uid, _gid = struct.unpack('3i', asking.getsockopt(
                socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize('3i')))
        except OSError:
            return ''
        try:
            parts = asking.recv(_LONGEST).decode(errors='replace')
        except OSError:
            parts = ''
    # A process of another pid namespace has the number 0 here.
    seen = f'process {pid:d} here' if pid else 'in another container'
    text = ''.join(c for c in parts if c.isprintable())
    hint = f' (it says: {text})' if text else ''
    return f'{seen}, of user {uid:d}{hint}'
