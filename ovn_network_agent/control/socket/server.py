# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The control socket, and its server beside the loop.

The file outlives a killed process, so a new agent checks under a lock whether
another one listens, which may start at the same moment.  The lock file has
mode 0600: whoever may read a directory could lock it.

One thread accepts, and each client has its own.  When all places are taken, a
new client gets that of the oldest without a command under way, so a client
that hangs keeps no other out.  A socket that fails or is removed is made
later.
"""

import collections
from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import errno
import fcntl
import os
import socket
import stat
import threading
import time

from oslo_log import log as logging
from ovs import jsonrpc

from ovn_network_agent.common import wording
from ovn_network_agent.control.socket import client
from ovn_network_agent.control.socket import commands
from ovn_network_agent.control.socket import protocol

LOG = logging.getLogger(__name__)

CLIENTS = 32  # at the same time
# Seconds for a client to send a request, and to receive the answer.
TIMEOUT = 30.0
INTERVAL = 5.0  # seconds between looks for the socket
_REST = 0.1  # seconds after a failure to accept
_CLOSE = 2.0  # seconds for the thread, a daemon
_BACKLOG = 64
_MODE = 0o600  # only the owner: a client may move every router off this node
_DIRECTORY_MODE = 0o700  # of RuntimeDirectoryMode= in the agent's systemd unit
_LOCK_SUFFIX = '.lock'
_LOCK = 2.0  # seconds for the lock


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
        deadline = time.monotonic() + _LOCK
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


class Server:
    """Owns the control socket and the threads of its clients.

    Its thread calls ``changed`` when ``problem`` has changed.
    """

    def __init__(self, path: str, table: commands.Table,
                 changed: Callable[[], object] = lambda: None,
                 timeout: float = TIMEOUT, interval: float = INTERVAL
                 ) -> None:
        self._path = path
        self._table = table
        self._changed = changed
        self._timeout = timeout
        self._interval = interval
        self._listener: Listener | None = None
        self._lock = threading.Lock()
        # By age; whether a command is under way.
        self._clients: dict[protocol.Client, bool] = {}
        self._crowded = False
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._logged = ''
        self.problem = ''  # why no client can connect, or ''

    def start(self) -> None:
        """Start the thread."""
        self._thread = threading.Thread(target=self._run, daemon=True,
                                        name='control')
        self._thread.start()

    def stop(self) -> None:
        """Close the socket and all connections; may be called twice."""
        self._stopping.set()
        with self._lock:
            if self._listener is not None:
                self._listener.close()
                self._listener = None
            clients = list(self._clients)
        for connection in clients:
            connection.close()
        if self._thread is not None:
            self._thread.join(_CLOSE)

    # -- listening (on the server's thread) -------------------------------

    def _run(self) -> None:
        while not self._stopping.is_set():
            opened = self._look_after()
            if opened is None:
                self._stopping.wait(self._interval)
                continue
            self._accept(opened)

    def _look_after(self) -> socket.socket | None:
        with self._lock:
            if self._stopping.is_set():
                return None
            if self._listener is not None and not self._listener.reachable:
                LOG.warning('The control socket %s was removed; making it '
                            'again', self._path)
                self._listener.close()
                self._listener = None
            problem = ''
            if self._listener is None:
                problem = self._listen()
            found = self._listener.socket if self._listener else None
        self._say(problem)
        return found

    def _listen(self) -> str:
        """Make the socket; the reason of a failure, or ''."""
        try:
            self._listener = Listener(self._path)
        except InUse as e:
            return (f'control socket {self._path}: {e}; give this agent '
                    'another one in [DEFAULT] control_socket')
        except OSError as e:
            return (f'control socket {self._path}: {e.strerror or e}; make '
                    'its directory for the user of the agent, or set '
                    '[DEFAULT] control_socket')
        return ''

    def _say(self, problem: str) -> None:
        if problem == self.problem:
            return
        self.problem = problem
        if problem:
            LOG.error('%s; commands cannot be given until then', problem)
        else:
            LOG.info('Listening on %s', self._path)
        self._changed()

    def _accept(self, opened: socket.socket) -> None:
        try:
            opened.settimeout(self._interval)
            accepted, _address = opened.accept()
        except TimeoutError:
            return
        except OSError as e:
            # Such as too many open files, while a client waits.
            if not self._stopping.is_set():
                if str(e) != self._logged:
                    LOG.warning('Control socket: accepting failed: %s',
                                wording.error(e))
                self._logged = str(e)
                self._stopping.wait(_REST)
            return
        self._logged = ''
        connection = protocol.Client(accepted, self._timeout)
        refusal = self._make_room(connection)
        if refusal:
            connection.send_away(refusal)
            return
        threading.Thread(target=self._serve, args=(connection,),
                         daemon=True, name='control-client').start()

    def _make_room(self, connection: protocol.Client) -> str:
        """Why there is no place for a new client, or ''."""
        with self._lock:
            if self._stopping.is_set():
                return f'{client.BUSY}: it stops'
            full = len(self._clients) >= CLIENTS
            busiest = self._most() if full else ''
            oldest = next((each for each, works in self._clients.items()
                           if not works), None) if full else None
            if oldest is not None:
                del self._clients[oldest]
                # The client's thread closes the socket.
                oldest.hang_up()
            refused = full and oldest is None
            if not refused:
                self._clients[connection] = False
            before, self._crowded = self._crowded, full or (
                self._crowded and len(self._clients) > CLIENTS // 2)
        if full and not before:
            LOG.warning('Control socket: %d clients at once, %s; a new one '
                        'takes the place of the oldest that waits for '
                        'nothing', CLIENTS, busiest)
        return (f'{client.BUSY}: it works on {CLIENTS} other commands, '
                f'{busiest}' if refused else '')

    def _most(self) -> str:
        (process, number), = collections.Counter(
            each.process for each in self._clients).most_common(1)
        return f'{number} of them of process {process or "unknown"}'

    # -- one client (on a thread of its own) ------------------------------

    def _serve(self, connection: protocol.Client) -> None:
        try:
            for request in connection.requests():
                if not self._works(connection, True):
                    return
                self._answer(connection, request)
        except protocol.Broken as e:
            LOG.debug('Control socket: a client is refused: %s', e)
        except Exception:
            LOG.exception('Control socket: a client is refused')
        finally:
            with self._lock:
                self._clients.pop(connection, None)
            connection.close()

    def _works(self, connection: protocol.Client, works: bool) -> bool:
        """Note whether a command is under way; False after a hang-up."""
        with self._lock:
            if connection not in self._clients:
                return False
            self._clients[connection] = works
            return True

    def _answer(self, connection: protocol.Client, request: jsonrpc.Message
                ) -> None:
        send = connection.refuse
        try:
            text = self._table.run(connection, request.method,
                                   request.params)
            send = connection.answer
        except commands.Refused as e:
            text = str(e)
        except Exception as e:
            LOG.exception('The command "%s" failed', request.method)
            text = (f'the command failed in the agent: {type(e).__name__}: '
                    f'{e}; its log has more')
        if self._works(connection, False):
            send(request, text)
