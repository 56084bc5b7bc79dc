# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The listening socket for commands: creation, takeover and removal.

The file outlives a killed process, so a new agent checks under a lock whether
another one listens, which may start at the same moment.  The lock file has
mode 0600: whoever may read a directory could lock it.
"""

from collections.abc import Iterator
import contextlib
import errno
import fcntl
import os
import socket
import stat
import time

_BACKLOG = 64
_MODE = 0o600  # only the owner: a client may move every router off this node
_DIRECTORY_MODE = 0o700  # of RuntimeDirectoryMode= in the agent's systemd unit
_LOCK_SUFFIX = '.lock'
_TIMEOUT = 2.0  # seconds for the lock


class InUse(Exception):
    """Another process listens at the path, or the path is no socket."""


class Listener:
    """A Unix socket that listens.

    :param path: absolute path, at most 107 bytes (sun_path of unix(7))
    :raises InUse: when another process listens there
    :raises OSError: when the socket cannot be made
    """

    def __init__(self, path: str) -> None:
        self.path = path
        with _locked(path):
            _make_room(path)
            self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                # bind() makes the file with this mode, never a wider one.
                os.fchmod(self.socket.fileno(), _MODE)
                self.socket.bind(path)
                self.socket.listen(_BACKLOG)
            except OSError:
                self.socket.close()
                raise
            self._file = _identity(path)

    @property
    def reachable(self) -> bool:
        """Whether the path still leads to this socket."""
        try:
            return _identity(self.path) == self._file
        except OSError:
            return False

    def close(self) -> None:
        """Stop listening, and remove the file if it is still this socket."""
        with contextlib.suppress(OSError):
            # Wakes a thread in accept().
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        if self.reachable:
            # The next agent replaces it.
            with contextlib.suppress(OSError):
                os.unlink(self.path)


def _identity(path: str) -> tuple[int, int]:
    found = os.lstat(path)
    return found.st_dev, found.st_ino


@contextlib.contextmanager
def _locked(path: str) -> Iterator[None]:
    """Make the directory if it is missing (not its parents), and lock.

    The lock file stays, or two processes could lock two of the name.
    """
    with contextlib.suppress(FileExistsError):
        os.mkdir(os.path.dirname(path), _DIRECTORY_MODE)
    opened = os.open(path + _LOCK_SUFFIX, os.O_RDWR | os.O_CREAT |
                     os.O_NOFOLLOW | os.O_CLOEXEC, _MODE)
    try:
        deadline = time.monotonic() + _TIMEOUT
        while True:
            try:
                fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise InUse('another process has locked '
                                f'{path + _LOCK_SUFFIX}') from None
                time.sleep(0.05)
        yield
    finally:
        os.close(opened)


def _make_room(path: str) -> None:
    """Remove the socket of a process that is gone.

    :raises InUse: when another process listens, or the path is no socket
    """
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise InUse('it exists and is no socket; remove it')
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        # A process that does not accept has a full queue.
        probe.setblocking(False)
        error = probe.connect_ex(path)
    if error not in (errno.ECONNREFUSED, errno.ENOENT):
        raise InUse('another agent listens there' if error in
                    (0, errno.EAGAIN) else os.strerror(error))
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
