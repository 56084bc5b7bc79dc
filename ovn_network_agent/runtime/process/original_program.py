# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Whether the original program is on this node: running, starting, installed.

It does not know the lock of :mod:`runtime.process.single_instance`, so its
process is looked for: by what every user may read, the command line and the
list of sockets.

Any user may start a file of this name, and must not keep the agent from
starting: a process counts only if it may change the network of this node.
"""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import glob
import os
import typing

from oslo_privsep import capabilities

from ovn_network_agent.privileged.daemon import capability

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


class Former(typing.NamedTuple):
    """The original program on this node."""

    running: tuple[int, ...]  # process ids
    enabled: tuple[str, ...]  # units that start it
    installed: tuple[str, ...]  # paths


def look(places: Iterable[str] = PLACES, units: Sequence[str] = UNITS
         ) -> Former:
    """Look for the original program."""
    return Former(tuple(running()), tuple(enabled(units)),
                  tuple(path for path in places if is_executable(path)))


def running() -> Iterator[int]:
    """Its process ids in this network namespace."""
    for pid in sorted(int(name) for name in os.listdir('/proc')
                      if name.isdigit()):
        # A process may end meanwhile.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if (_is_original(_argv(pid), pid) and _is_here(pid) and
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


def _argv(pid: int) -> list[str]:
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
