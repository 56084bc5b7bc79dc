# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The program that makes an overlap of two owners; stdlib only.

Python runs this file without the package (``-I -S``): what undoes an overlap
must not need the agent's modules, but for the one beside this file.

It pauses this node's ovn-controller, which keeps its flows and claims no port,
and stops BFD in the tunnels to the next owners alone: for them this node is
dead, so the next takes over, while compute nodes send here until the
priorities in the Northbound database change.  At the end of standard input, a
signal, or the end of its time, it restores BFD, also after the agent's death,
and then ovn-controller, which would else take this node for the only one
alive.

ovn-controller reads the Southbound messages of the meantime in parts (at most
50, or up to an inactivity probe): it could see the port on another chassis
before the new priorities, and take it back.  A new connection gets the state
in one message: external_ids:ovn-remote-<chassis> comes before ovn-remote, and
an address in another spelling makes one.

The argument is JSON of :class:`Options`; it prints ``begun`` or why not.  With
exit status 2 something, and the key in external_ids, is left to the next
program.
"""

from collections.abc import Callable
import contextlib
import json
import os
import re
import select
import signal
import sys
import time
import typing

if typing.TYPE_CHECKING or __package__:
    from ovn_network_agent.privileged import overlap_servers as servers
else:
    sys.path.append(os.path.dirname(os.path.abspath(__file__)))
    import overlap_servers as servers

# Seconds for ovs-vswitchd to read a change, and for BFD to come up: both ends
# begin with one packet a second (RFC 5880, section 6.8.3).
NOTICE, UP = 2.0, 6.0
_INTERVAL = 0.02
# seconds between two requests that ovn-controller go on
_AGAIN = 0.5
# seconds for an iteration of ovn-controller's loop in a large cloud
_ROUND = 20.0
# Milliseconds between BFD packets: the first reports that the session is down,
# the second would begin a new one.
_SILENCE = '60000'
# the first OVN that has external_ids for one chassis
OLDEST = (23, 3)
# the last OVN tested; later versions are accepted, too
NEWEST = (26, 3)
# with -<chassis> appended, this key comes before the key without
_REMOTE = 'ovn-remote'
_TARGET = re.compile(r'((?:tcp|ssl):.+:)(\d+)')
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Options(typing.TypedDict):
    """The argument of the program."""

    database: str  # remote of the local Open_vSwitch database
    rundir: str  # directory of the control socket of ovn-controller
    limit: float  # seconds until the program undoes everything by itself
    # seconds in which it repeats its request that ovn-controller go on
    resume: float
    mark: str  # key of external_ids that exists during the overlap
    remote: str  # key of external_ids with another spelling of ovn-remote
    # IP addresses of the next owners' tunnels; empty to undo the changes of a
    # killed program
    addresses: list[str]


class NotOurs(servers.Failed):
    """Another program has paused ovn-controller; nothing is to be undone."""


def respelled(remote: str) -> str:
    """Another spelling of the same servers, which differs for each server."""
    return ','.join(_renamed(target) for target in remote.split(','))


def _renamed(target: str) -> str:
    found = _TARGET.fullmatch(target)
    if found:
        return f'{found[1]}0{found[2]}'
    kind, _colon, path = target.partition(':')
    if kind == 'unix' and path.startswith('/'):
        return f'unix:/.{path}'
    raise servers.Failed(
        f'external_ids:ovn-remote has {target!r}, which is neither '
        'tcp:HOST:PORT, ssl:HOST:PORT nor unix:/PATH')


def _until(condition: Callable[[], bool], seconds: float) -> bool:
    """Wait for a condition; whether it became true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(_INTERVAL)
    return True


class Keeper:
    """Makes one overlap, and undoes its changes."""

    def __init__(self, options: Options) -> None:
        self._mark = options['mark']
        self._remote_key = options['remote']
        self._addresses = options['addresses']
        self._timeout = options['resume']
        self._database = servers.Database(options['database'])
        self._controller = servers.Controller(options['rundir'])
        self._tunnels: dict[str, servers.Settings] = {}

    def able(self) -> tuple[tuple[int, int], str, str]:
        """Check whether an overlap is possible, without any change.

        :returns: OVN's version; external_ids key and value for a new
            connection
        """
        version = self._controller.version()
        if version < OLDEST:
            raise servers.Failed(
                f'ovn-controller is of OVN {servers.shown(version)}; it '
                f'needs OVN {servers.shown(OLDEST)} or later')
        ids = self._database.external_ids()
        key = f'{_REMOTE}-{ids.get("system-id", "")}'
        if key in ids and ids[key] != ids.get(self._remote_key):
            raise servers.Failed(
                f'external_ids:{key} is set, and would have to be changed for '
                'it; ovn-remote would not')
        return version, key, respelled(ids.get(_REMOTE, ''))

    def begin(self) -> None:
        """Begin; :meth:`end` has to follow any error but NotOurs."""
        try:
            status = self._controller.call('debug/status').strip()
            _version, key, remote = self.able()
        except (servers.Failed, OSError) as e:
            # :meth:`end` must undo nothing: another overlap may have begun
            raise NotOurs(str(e)) from e
        if status != 'running':
            raise NotOurs('ovn-controller is paused already')
        # first, for the program that follows after a crash
        self._database.mark({self._mark: ' '.join(self._addresses)})
        self._controller.call('debug/pause')
        # ovn-controller reads this first when it goes on
        self._database.mark({key: remote, self._remote_key: remote})
        tunnels = self._database.tunnels(self._addresses)
        if not tunnels:
            raise servers.Failed('no tunnel of OVN to '
                                 f'{", ".join(self._addresses)} has BFD')
        self._tunnels = tunnels
        self._database.set_bfd(dict.fromkeys(tunnels, {}))
        if not _until(lambda: not any(self._database.status(tunnels)),
                      NOTICE):
            raise servers.Failed('ovs-vswitchd does not end BFD')
        self._database.set_bfd({uuid: {**bfd, 'min_tx': _SILENCE}
                                for uuid, bfd in tunnels.items()})

    def end(self) -> tuple[list[str], bool]:
        """Undo all changes; a missing tunnel or process is no failure.

        :returns: errors; whether a change, and so the key, is left
        """
        reasons = _tried(self._restore)
        paused = _tried(self._resume)
        if paused:
            return [*reasons, *paused, 'ovn-controller may be paused, so the '
                    'mark of the overlap stays'], True
        reasons += _tried(self._wait_round)
        marked = _tried(self._unmark)
        return reasons + marked, bool(marked)

    def _restore(self) -> None:
        if self._tunnels:
            self._database.set_bfd(self._tunnels)
            _until(self._up, UP)

    def _up(self) -> bool:
        return all((status.get('state'), status.get('remote_state')) == (
            'up', 'up') for status in self._database.status(self._tunnels))

    def _resume(self) -> None:
        """It may be too busy to answer at once; a restart ends a pause."""
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                self._controller.call('debug/resume')
                return
            except servers.Absent:
                return
            except (servers.Failed, OSError):
                if time.monotonic() > deadline:
                    raise
            time.sleep(_AGAIN)

    def _wait_round(self) -> None:
        """An answer comes once in each iteration, which reads the new key."""
        with contextlib.suppress(servers.Absent):
            self._controller.call('debug/status', _ROUND)

    def _unmark(self) -> None:
        ids = self._database.external_ids()
        remote = ids.get(self._remote_key)
        copies = {key for key, value in ids.items()
                  if key.startswith(_REMOTE + '-') and value == remote}
        self._database.mark(dict.fromkeys(
            {*copies, self._remote_key, self._mark}, ''))


def _tried(step: Callable[[], object]) -> list[str]:
    """Take a step; returns a list with its error, or an empty list."""
    try:
        step()
    except (servers.Failed, OSError) as e:
        return [str(e)]
    return []


def main(argument: str) -> int:
    """Run the program; returns its exit status."""
    options: Options = json.loads(argument)
    waking, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(woken)
    for number in _SIGNALS:
        signal.signal(number, lambda *_args: None)
    keeper, failure = Keeper(options), ''
    ends = time.monotonic() + options['limit']
    if options['addresses']:
        try:
            keeper.begin()
            _say('begun')
            select.select([0, waking], [], [], max(
                0.0, ends - time.monotonic()))
        except NotOurs as e:
            _say(str(e))
            return 1
        except (servers.Failed, OSError) as e:
            failure = str(e)
    reasons, left = keeper.end()
    message = '; '.join([failure, *reasons]).strip('; ') or 'ended'
    _say(message)
    if left:
        # to the journal: the agent may have gone
        _say('ovn-network-agent: ' + message, 2)
    return 2 if left else 1 if failure or reasons else 0


def _say(text: str, descriptor: int = 1) -> None:
    with contextlib.suppress(OSError):
        os.write(descriptor, text.encode() + b'\n')


if __name__ == '__main__':
    sys.exit(main(sys.argv[1]))
