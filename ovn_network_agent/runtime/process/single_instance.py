# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Only one agent in a network namespace, and not beside the original program.

Two agents would take each other's objects for their own.  The lock is an
abstract Unix socket, as it belongs to the network namespace like these
objects, also of a container, and ends with the process.

Any user may take the name while no agent runs, so the message of an agent that
cannot start names the process that has it.
The original program does not know the lock, so its process is looked for: by
what every user may read, the command line and the list of sockets.  Any user
may start a file of this name, and must not keep the agent from starting: a
process counts only if it may change the network of this node.
"""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import errno
import glob
import os
import socket
import struct
import threading
import time
import typing

from oslo_log import log as logging
from oslo_privsep import capabilities

from ovn_network_agent.common import wording
from ovn_network_agent.privileged.daemon import capability

LOG = logging.getLogger(__name__)

NAME = '\0ovn-network-agent'
_TIMEOUT = 2.0  # seconds for the other agent to say where it is
_LONGEST = 400
_ATTEMPTS = 5  # the other agent may end before it is asked
_BACKLOG = 16
PROGRAM = 'ovn-network-agent'
PLACES = ('/usr/bin/ovn-network-agent', '/usr/local/bin/ovn-network-agent')
# The strongest first, systemd.unit(5).
UNITS = ('/etc/systemd/system', '/run/systemd/system',
         '/usr/local/lib/systemd/system', '/usr/lib/systemd/system',
         '/lib/systemd/system')
# The original is an executable file, this agent a Python script.
_MAGIC = b'\x7fELF'
_LOOKS = ('--dry-run', '--check-config')  # Options that change nothing
_SOCKET = '@ovn-network-agent'
_COMMAND = 'ExecStart='
_PREFIXES = '-@:+!|'  # allowed by systemd before the program


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
        threading.Thread(target=self._answer, name='single-instance',
                         daemon=True).start()

    def _answer(self) -> None:
        while True:
            try:
                client, _address = self._socket.accept()
            except OSError as error:
                LOG.warning('Another agent that asked where this one is got '
                            'no answer: %s', wording.error(error))
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
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(_TIMEOUT)
        try:
            client.connect(NAME)
            pid, uid, _gid = struct.unpack('3i', client.getsockopt(
                socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize('3i')))
        except OSError:
            return ''
        try:
            parts = client.recv(_LONGEST).decode(errors='replace')
        except OSError:
            parts = ''
    # A process of another pid namespace has the number 0 here.
    seen = f'process {pid:d} here' if pid else 'in another container'
    text = ''.join(c for c in parts if c.isprintable())
    hint = f' (it says: {text})' if text else ''
    return f'{seen}, of user {uid:d}{hint}'


class Original(typing.NamedTuple):
    """The original program on this node."""

    running: tuple[int, ...]  # process ids
    enabled: tuple[str, ...]  # units that start it
    installed: tuple[str, ...]  # paths


def find_original(places: Iterable[str] = PLACES,
                  units: Sequence[str] = UNITS) -> Original:
    """Look for the original program."""
    return Original(
        tuple(running()), tuple(enabled(units)),
        tuple(path for path in places if is_executable(path)))


def running() -> Iterator[int]:
    """Its process ids in this network namespace."""
    for pid in sorted(int(name) for name in os.listdir('/proc')
                      if name.isdigit()):
        # A process may end meanwhile.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if (_is_original(command_line(pid), pid) and _is_here(pid) and
                    _changes_network(pid)):
                yield pid


def enabled(units: Sequence[str] = UNITS) -> Iterator[str]:
    """The units that start the original when the node starts."""
    wanted = {os.path.basename(link) for folder in units
              for link in glob.glob(f'{folder}/*.wants/*.service')}
    for name in sorted(wanted):
        found = next(filter(os.path.exists, (
            os.path.join(folder, name) for folder in units)), None)
        if found and _starts(found):
            yield name


def is_executable(path: str) -> bool:
    """Whether a file is in the ELF format."""
    try:
        with open(path, 'rb') as opened:
            return opened.read(len(_MAGIC)) == _MAGIC
    except (OSError, ValueError):
        return False  # a zero byte in it


def _is_original(argv: list[str], pid: int) -> bool:
    if not argv or os.path.basename(argv[0]) != PROGRAM or (
            set(argv).intersection(_LOOKS)):
        return False
    try:
        executable = os.readlink(f'/proc/{pid}/exe')
    except PermissionError:
        return is_executable(argv[0])
    return 'python' not in os.path.basename(executable) and is_executable(
        f'/proc/{pid}/exe')


def command_line(pid: int) -> list[str]:
    """The command line of a process; OSError when it is gone."""
    with open(f'/proc/{pid}/cmdline', 'rb') as opened:
        return opened.read().decode(errors='replace').split('\0')[:-1]


def _is_here(pid: int) -> bool:
    try:
        return os.readlink(f'/proc/{pid}/ns/net') == os.readlink(
            '/proc/thread-self/ns/net')
    except PermissionError:
        here = _locks('thread-self')
        return bool(here) and here == _locks(pid)


def _changes_network(pid: int) -> bool:
    """Whether a process may change the network of this node.

    Another user namespace, with another map of users, gives no rights here.
    """
    permitted = capability.permitted(str(pid))
    return bool(permitted >> capabilities.CAP_NET_ADMIN & 1) and (
        _users(pid) == _users('self'))


def _users(process: int | str) -> bytes:
    with open(f'/proc/{process}/uid_map', 'rb') as opened:
        return opened.read()


def _locks(process: int | str) -> set[str]:
    with open(f'/proc/{process}/net/unix', encoding='utf-8',
              errors='replace') as opened:
        lines = [line.split() for line in opened]
    return {fields[6] for fields in lines if fields[7:] == [_SOCKET]}


def _starts(unit: str) -> bool:
    try:
        with open(unit, encoding='utf-8', errors='replace') as opened:
            commands = [line.removeprefix(_COMMAND).split()
                        for line in opened if line.startswith(_COMMAND)]
    except OSError:
        return False
    programs = [argv[0].lstrip(_PREFIXES) for argv in commands if argv]
    return any(os.path.basename(program) == PROGRAM and is_executable(program)
               for program in programs)
