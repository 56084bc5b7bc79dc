# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The labs that run on this host, and the way to reach them."""

import contextlib
import json
import os
import signal
import stat
import time

NAME = 'ovn-network-agent-lab'
# Tells the program in the machine which file to make to offer its lab.
VARIABLE = 'LAB_OPEN'


class NotRunning(Exception):
    """There is no such lab; the text names the running labs."""


def _directories():
    """Directories in which labs may be announced, the best one first.

    That of root is fixed, because another terminal may have another
    environment.
    """
    bases = ['/run'] if os.geteuid() == 0 else []
    bases += filter(None, [os.environ.get('XDG_RUNTIME_DIR')])
    return [*(os.path.join(base, NAME) for base in bases),
            f'/tmp/{NAME}-{os.geteuid():d}']


def _ours(directory):
    """Whether a directory is of this user, and only this user can write."""
    try:
        found = os.lstat(directory)
    except OSError:
        return False
    return (stat.S_ISDIR(found.st_mode) and
            found.st_uid == os.geteuid() and not found.st_mode & 0o022)


def own_directory() -> str:
    """The directory of this user's labs, which is made if need be.

    :raises NotRunning: when there is no place for it
    """
    for directory in _directories():
        with contextlib.suppress(OSError):
            os.makedirs(directory, mode=0o700, exist_ok=True)
        if _ours(directory) and os.access(directory, os.W_OK):
            return directory
    directories = ', '.join(_directories())
    raise NotRunning(f'none of {directories} is a directory of ours; remove '
                     'what is in the way')


@contextlib.contextmanager
def announced(name: str, socket: str, argv: list[str]):
    """Announce this program's lab while the block runs.

    :raises NotRunning: when there is no directory for it
    """
    path = os.path.join(own_directory(), name + '.json')
    with open(path + '.new', 'w', encoding='utf-8') as opened:
        json.dump({'name': name, 'pid': os.getpid(), 'socket': socket,
                   'argv': list(argv), 'born': _born(os.getpid())}, opened)
    os.replace(path + '.new', path)
    try:
        yield
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


def marker(socket):
    """Path of the file that offers a lab to be entered."""
    return socket + '.open'


def _born(pid):
    """When a process started: a PID alone may have been used again."""
    try:
        with open(f'/proc/{pid:d}/stat', encoding='ascii') as opened:
            return opened.read().rpartition(')')[2].split()[19]
    except OSError:
        return None


def labs():
    """All running labs, a list of dict; dead labs are forgotten."""
    found = {}
    for directory in filter(_ours, _directories()):
        for entry in sorted(os.listdir(directory)):
            if not entry.endswith('.json'):
                continue
            one = _load(os.path.join(directory, entry))
            if one is not None:
                found[one['name']] = one
    return [found[name] for name in sorted(found)]


def _load(path):
    try:
        with open(path, encoding='utf-8') as opened:
            one = json.load(opened)
    except (OSError, ValueError):
        return None
    if _born(one['pid']) == one['born']:
        return {**one, 'path': path}
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    return None


def offer():
    """Offer the lab of this machine as the one to enter, among several."""
    with open(os.environ[VARIABLE], 'w', encoding='ascii'):
        pass


def find(name=None):
    """The lab of that name, or the only one, or the only one that is offered.
    """
    running = labs()
    chosen = [one for one in running if name in (None, one['name'])]
    if len(chosen) > 1:
        chosen = [one for one in running
                  if os.path.exists(marker(one['socket']))] or chosen
    if len(chosen) == 1:
        return chosen[0]
    names = ', '.join(one['name'] for one in running) or 'none'
    problem = ('which lab? name one with --lab' if chosen else
               'there is no such lab')
    raise NotRunning(f'{problem} (running: {names})')


def end(one, timeout=30):
    """End a lab and wait until it is gone."""
    os.kill(one['pid'], signal.SIGTERM)
    deadline = time.monotonic() + timeout
    while _load(one['path']) is not None:
        if time.monotonic() > deadline:
            raise NotRunning(f'process {one["pid"]:d} does not end')
        time.sleep(0.05)
