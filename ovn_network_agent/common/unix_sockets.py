# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Connections to the Unix sockets of other programs.

A daemon makes its socket again at a start, so another inode or time of change
means a restart.  The reading starts no process.
"""

import errno
import os
import socket
import struct
import time

# Of a second, the unit of the option SO_SNDTIMEO.
_MICROSECONDS = 1000000


def connect(opened: socket.socket, path: str, deadline: float) -> None:
    """Connect a socket that has no time limit of Python.

    The queue of the listener is full during a hang and right after it, when a
    socket with a time limit of Python would fail at once (EAGAIN of
    connect(2)).  So the kernel has the limit (SO_SNDTIMEO of socket(7)).

    :param deadline: monotonic seconds
    :raises BlockingIOError: when the deadline has passed
    """
    while True:
        # Zero would be no limit.
        seconds, part = divmod(max(0.001, deadline - time.monotonic()), 1)
        opened.setsockopt(
            socket.SOL_SOCKET, socket.SO_SNDTIMEO,
            struct.pack('ll', int(seconds), int(part * _MICROSECONDS)))
        opened.connect(path)
        # A signal ends the wait without a connection (EINTR), even a SIGCHLD
        # without a handler while another thread starts a process.  Python
        # returns as if connected: with TCP the kernel would go on.
        try:
            opened.getpeername()
        except OSError as error:
            if error.errno != errno.ENOTCONN:
                raise
        else:
            return


def of_directory(directory: str, suffix: str) -> dict[str, list[int]]:
    """The marks of all sockets of a directory, by the name without the suffix.

    :param suffix: end of the names, such as '.vty'
    :raises OSError: when the directory cannot be read
    """
    with os.scandir(directory) as entries:
        names = [entry.name for entry in entries
                 if entry.name.endswith(suffix)]
    found = {}
    for name in names:
        mark = of_socket(os.path.join(directory, name))
        # Without its socket, the daemon does not run.
        if mark:
            found[name.removesuffix(suffix)] = mark
    return found


def of_socket(path: str) -> list[int] | None:
    """Inode and time of change in ns, None while there is no socket.

    :raises OSError: when the directory cannot be read
    """
    try:
        found = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        os.stat(os.path.dirname(path))
        return None
    return [found.st_ino, found.st_ctime_ns]
