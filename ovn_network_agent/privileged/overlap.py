# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Privileged entry points for the overlap of two owners of gateway ports."""

from collections.abc import Sequence
import contextlib
import errno
import json
import os
import select
import subprocess
import sys
import threading
import time
import typing

from ovn_network_agent import ownership
from ovn_network_agent import privileged
from ovn_network_agent.common import ip_text
from ovn_network_agent.conf import registered
from ovn_network_agent.conf.options import ovs as options
from ovn_network_agent.privileged import overlap_keeper
from ovn_network_agent.privileged import overlap_servers
from ovn_network_agent.privileged.network import checks

# seconds until the program undoes all without the agent; the loop is earlier
LIMIT = 12.0
# seconds in which the program repeats to ovn-controller to go on
RESUME = 30.0
# seconds for the program to begin
_TIMEOUT = 2 * overlap_servers.TIMEOUT + overlap_keeper.NOTICE
# seconds for the program to end after it has undone everything
_EXIT = 1.0

# exit status of a program that has not undone everything
_LEFT = 2

_Pipe = typing.IO[bytes]
_lock = threading.Lock()
_keepers: list[subprocess.Popen[bytes]] = []


@privileged.ovs.entrypoint
def readiness() -> str:
    """Check whether an overlap could begin now, without any change."""
    try:
        version = overlap_keeper.Keeper(_options([])).able()[0]
    except (overlap_servers.Failed, OSError) as error:
        return f'a drain goes on without: {error}'
    if version > overlap_keeper.NEWEST:
        newest = overlap_servers.shown(overlap_keeper.NEWEST)
        return (f'not tried with OVN {overlap_servers.shown(version)}, '
                f'only up to {newest}')
    return ''


@privileged.ovs.change
def begin(addresses: Sequence[str]) -> None:
    """Let the next owners, by tunnel addresses, take over while this node
    serves.

    :raises OSError: with the reason; nothing is left then
    """
    if not checks.sequence(addresses):
        raise OSError(errno.EINVAL, 'no address of another gateway')
    try:
        wanted = [str(ip_text.address(one)) for one in addresses]
    except ValueError as error:
        raise OSError(errno.EINVAL, str(error)) from error
    with _lock:
        _forget()
        if _keepers:
            raise OSError(errno.EBUSY, 'the last overlap has not ended yet')
        keeper = _start(wanted)
        message = _line(_pipes(keeper)[1])
        if message != 'begun':
            # it undoes its changes; another one's would be undone, too
            _keepers.append(keeper)
            _release(keeper)
            _forget()
            raise OSError(errno.EIO, message or
                          f'it did not begin within {_TIMEOUT:.0f} s')
        _keepers.append(keeper)


@privileged.ovs.change
def end() -> None:
    """End the overlap, also a killed program's, and at last its key; returns
    at once.

    :raises OSError: what the last attempt could not undo; a new one begins
    """
    with _lock:
        left = _forget()
        if not _keepers:
            _keepers.append(_start([]))
        for keeper in _keepers:
            _release(keeper)
    if left:
        raise OSError(errno.EIO, left)


def _options(addresses: list[str]) -> overlap_keeper.Options:
    conf = registered.group(options)
    remote = conf.ovsdb_connection
    return overlap_keeper.Options(
        database=remote if isinstance(remote, str) else remote[0],
        rundir=conf.ovn_rundir, limit=LIMIT, resume=RESUME,
        mark=ownership.EXT_ID_OVERLAP,
        remote=ownership.EXT_ID_OVERLAP_REMOTE, addresses=addresses)


def _start(addresses: list[str]) -> subprocess.Popen[bytes]:
    argument = json.dumps(_options(addresses))
    # fixed words, checked addresses and configured values
    return subprocess.Popen(  # noqa: S603
        [sys.executable, '-I', '-S', overlap_keeper.__file__, argument],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0,
        start_new_session=True)


def _line(pipe: _Pipe) -> str:
    """The first line that the program prints in time, or ''."""
    deadline, message = time.monotonic() + _TIMEOUT, b''
    while not message.endswith(b'\n'):
        left = deadline - time.monotonic()
        if left < 0 or not select.select([pipe], [], [], left)[0]:
            return ''
        data = os.read(pipe.fileno(), 4096)
        if not data:
            break
        message += data
    return message.decode(errors='replace').strip()


def _pipes(keeper: subprocess.Popen[bytes]) -> tuple[_Pipe, _Pipe]:
    stdin, stdout = filter(None, (keeper.stdin, keeper.stdout))
    return stdin, stdout


def _release(keeper: subprocess.Popen[bytes]) -> None:
    """Have a program undo its changes; collect it when it has ended."""
    with contextlib.suppress(OSError):
        _pipes(keeper)[0].close()
    threading.Thread(target=keeper.wait, daemon=True).start()


def _forget() -> str:
    """Forget ended programs, a moment after their key; what the last left."""
    for one in _keepers:
        if _pipes(one)[0].closed:
            with contextlib.suppress(subprocess.TimeoutExpired):
                one.wait(_EXIT)
    ended = [one for one in _keepers if one.poll() is not None]
    _keepers[:] = [one for one in _keepers if one not in ended]
    message = ''
    for one in ended:
        with _pipes(one)[1] as stdout:
            rest = stdout.read().decode(errors='replace').split('\n')
        message = rest[0] if one.returncode == _LEFT else ''
    return message
