# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Privileged entry points for FRR, through vtysh or its daemons' sockets.

Each runs fixed commands with checked names and addresses.  Static routes go
over :mod:`vty` if possible, other changes in one transaction to ``vtysh -f``
(``-c`` would take 15 times as long, a process for each change 100 times).
Each process has a time limit, because vtysh waits for ever for a daemon that
hangs.  Only the static routes of one VRF are passed on: the running
configuration has passwords.
"""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Container
from collections.abc import Iterable
import errno
import hashlib
import re
import typing

from ovn_network_agent import privileged
from ovn_network_agent.common import unix_sockets
from ovn_network_agent.conf import registered
from ovn_network_agent.conf.options import frr as options
from ovn_network_agent.frr import lines
from ovn_network_agent.frr import output
from ovn_network_agent.frr import session
from ovn_network_agent.privileged.daemon import command
from ovn_network_agent.privileged.limits import limits
from ovn_network_agent.privileged.network import checks
from ovn_network_agent.privileged.routing import vty

_T = typing.TypeVar('_T')
# Seconds by which the limit inside of a wrapper is shorter.
_GRACE = 2
_OF_STATICS = (vty.MGMTD,)
_CHATTER = re.compile(
    r"% Can't open configuration file|"
    r'\[\d+\|\w+\] (sending configuration|done)$|'
    r'Waiting for children to finish applying config|'
    r'MGMTD: No changes found to be committed')
_NOT_RUNNING = 'failed to connect to any daemons'
BATCH_SIZE = session.BatchSize()

#: end of the names of the sockets
SUFFIX = '.vty'


@privileged.frr.entrypoint
def read_static(vrf: str) -> list[list[str]]:
    """Read the static routes [prefix, rest of the line] of a VRF."""
    routes: list[list[str]] = read_static_again(vrf, '')[0]
    return routes


@privileged.frr.entrypoint
def read_static_again(vrf: str, previous: str) -> list[typing.Any]:
    """As :func:`read_static`, unless the routes are known.

    :param previous: digest of an earlier answer, '' for none
    :returns: [routes, or None for those of the earlier answer; digest]
    """
    check_vrf(vrf)
    running, configuration = _configuration()
    require(running, *output.holders(configuration))
    digest = hashlib.sha256('\n'.join(
        configuration).encode()).hexdigest()
    if digest == previous:
        return [None, digest]
    return [[list(route) for route
             in output.static_routes(configuration, vrf)], digest]


def _configuration() -> tuple[Collection[str], list[str]]:
    try:
        running = vty.daemons(answering=True)
        if 'staticd' not in running:
            return running, []
        return running, vty.static_configuration(running)
    except vty.Unavailable:
        return _whole_configuration()


def _whole_configuration() -> tuple[Collection[str], list[str]]:
    """Running daemons, and the lines of all."""
    result = show('show daemons', 'show running-config')
    try:
        return output.split(result.stdout)
    except output.Unreadable as error:
        raise unreadable(error, result) from error


# In the words of 'show ip route'.
_ORIGINS = ('static', 'kernel')


@privileged.frr.entrypoint
def read_known(vrf: str, origin: str) -> list[str]:
    """Prefixes of zebra's routes of an origin, selected or not."""
    if origin not in _ORIGINS:
        raise OSError(errno.EINVAL, f'{origin!r} is none of {_ORIGINS}')
    name = check_vrf(vrf)
    of_vrf = f'vrf {name} ' if name else ''
    result = show(*(f'show {family} route {of_vrf}{origin} json'
                    for family in ('ip', 'ipv6')))
    try:
        return sorted(output.known_routes(result.stdout))
    except output.Unreadable as error:
        raise unreadable(error, result) from error


@privileged.frr.change
def change_static(vrf: str, adds: checks.Items, deletes: checks.Items
                  ) -> list[typing.Any]:
    """Add static routes to a VRF, then remove some.

    A route with another tag is changed, and announced all the time.  FRR
    removes a route whatever its tag is.

    :param adds: each [prefix, next hop, tag; 0 or missing for none]
    :param deletes: each [prefix, next hop]
    :returns: [refused, messages of vtysh]; refused are the items not tried, as
        [list name ('adds', 'deletes'), index, reason]
    :raises OSError: the change may have been made.  Also for a removal while
        zebra does not run: staticd would forget the route, and bgpd announce
        it until zebra is back
    """
    name = check_vrf(vrf)
    if deletes:
        require(_daemons(), 'zebra')
    enter, leave = ([f'vrf {name}'], ['exit-vrf']) if name else ([], [])
    within = limits.current()

    def line(prefix: str, hop: str, tag: int = 0) -> str:
        text = lines.static_route(prefix, hop, tag)
        within.check_static(prefix, hop)
        return text

    def removal(prefix: str, hop: str) -> str:
        text = lines.static_route(prefix, hop)
        within.check_static(prefix, hop, added=False)
        return text

    refused, configuration = checked_lines(adds, deletes, line, removal)
    messages = [_write([*enter, *some, *leave]) for some in BATCH_SIZE.parts(
        configuration)]
    return [refused, '\n'.join(filter(None, messages))]


@privileged.frr.entrypoint
def read_daemons(answering: bool = False) -> list[str]:
    """Names of running, or of answering daemons: staticd accepts a change
    while zebra hangs, without effect.
    """
    return sorted(_daemons(answering))


def _daemons(answering: bool = False) -> set[str]:
    try:
        return vty.daemons(answering)
    except vty.Unavailable:
        return _running()


def checked_lines(adds: checks.Items, deletes: checks.Items,
                  line: Callable[..., str],
                  removal: Callable[..., str] | None = None
                  ) -> tuple[list[list[typing.Any]], list[str]]:
    """Make configuration lines, those of removals by ``removal`` without "no".

    :returns: refused items as in :func:`change_static`; lines of the others
    """
    refused = []
    configuration = []
    for name, no, items, line in (
            ('adds', '', adds, line),
            ('deletes', 'no ', deletes, removal or line)):
        for index, item in enumerate(checks.sequence(items, name)):
            try:
                configuration.append(
                    no + line(*checks.sequence(item, 'item')))
            except (OSError, TypeError, ValueError) as error:
                refused.append([name, index, str(error)])
    return refused, configuration


def _write(configuration: list[str]) -> str:
    try:
        return vty.configure(configuration)
    except vty.Unavailable:
        return configure(configuration, _OF_STATICS)


def configure(configuration: Iterable[str], daemons: Iterable[str],
              only: str | None = None) -> str:
    """Pass checked lines to vtysh, for all these daemons or for one only."""
    text = '\n'.join(configuration) + '\n'
    processes = [['-d', only]] if only else _one_by_one(daemons)
    results = [_vtysh([*arguments, '-f', '/dev/stdin'], text)
               for arguments in processes]
    messages = _messages('\n'.join(text for result in results
                                   for text in (result.stdout, result.stderr)))
    failed = [result.status for result in results if result.status != 0]
    if failed and not messages:
        messages = f'vtysh ended with status {failed[0]}'
    if failed and vty.MGMTD in _running():
        # mgmtd would keep these lines, see vty.DISCARD.
        _vtysh(['-d', vty.MGMTD, '-f', '/dev/stdin'], vty.DISCARD + '\n')
    return messages


def _running() -> set[str]:
    return output.daemons(show('show daemons').stdout.split('\n'))


def _one_by_one(daemons: Iterable[str]) -> list[list[str]]:
    """Arguments of the processes that reach all daemons: one for each if a
    wrapper may turn the file into a pipe, because vtysh since version 9 has a
    child for each daemon, and all of them read (:func:`command.run`).
    """
    if registered.group(options).vtysh_wrapper.split():
        running = _running()
        if vty.MGMTD in running:
            return [['-d', name] for name in daemons if name in running]
    return [[]]


def _messages(text: str) -> str:
    """Leave out reports of a missing vtysh.conf, which is not needed, and
    since version 9 of children and of empty changes of mgmtd.
    """
    rows = [row.strip() for row in text.split('\n')]
    return '\n'.join(row for row in rows if row and not _CHATTER.match(row))


def ask(questions: dict[str, list[str]]) -> str:
    """Run commands that change nothing, without vtysh if possible."""
    try:
        return vty.ask(questions)
    except vty.Unavailable:
        only = next(iter(questions)) if len(questions) == 1 else None
        return show(*(text for commands in questions.values()
                      for text in commands), daemon=only).stdout


def enabled(daemon: str, command: str) -> str:
    """Run a command of the enabled mode, without vtysh if possible."""
    try:
        return vty.enabled(daemon, command)
    except vty.Unavailable:
        result = show(command, daemon=daemon)
        return _messages(result.stdout + '\n' + result.stderr)


def show(*commands: str, daemon: str | None = None) -> command.Result:
    """Run commands that change nothing, in each daemon or in one."""
    only = ['-d', daemon] if daemon else []
    arguments = [word for text in commands for word in ('-c', text)]
    result = _vtysh([*only, *arguments])
    if result.status != 0:
        raise OSError(errno.EIO, f'vtysh: {result.messages}')
    return result


def _vtysh(arguments: Iterable[str], stdin: str = '') -> command.Result:
    conf = registered.group(options)
    limit = conf.vtysh_timeout
    argv = ['vtysh', *arguments]
    wrapper = conf.vtysh_wrapper.split()
    if wrapper:
        # After a kill of the wrapper, vtysh may go on in its container.
        argv = [*wrapper, 'timeout', '-s', 'KILL', str(limit), *argv]
        limit += _GRACE
    try:
        result = command.run(argv, limit, stdin)
    except TimeoutError as error:
        raise TimeoutError(
            errno.ETIMEDOUT, f'vtysh did not end within {limit} s and was '
            'killed: a daemon of FRR hangs, or another program holds its '
            'configuration lock') from error
    if _NOT_RUNNING in result.stderr:
        raise OSError(errno.ECONNREFUSED, 'FRR is not running: vtysh cannot '
                                          'connect to any daemon')
    return result


def require(running: Container[str], *names: str) -> None:
    """Check that some daemons run."""
    missing = [name for name in names if name not in running]
    if missing:
        raise OSError(errno.ECONNREFUSED,
                      f'{" and ".join(missing)} of FRR not running')


def parsed(parse: Callable[..., _T], *args: typing.Any) -> _T:
    """The result of a parser of output; OSError for an unknown format."""
    try:
        return parse(*args)
    except output.Unreadable as error:
        raise OSError(errno.EPROTO, str(error)) from error


def unreadable(error: Exception, result: command.Result) -> OSError:
    """The OSError for output that could not be parsed."""
    return OSError(errno.EPROTO, f'{error} ({result.messages})')


def check_vrf(name: str) -> str:
    """Check the name of FRR's VRF, '' for the default VRF; returns it."""
    limits.current().check_vrf(name)
    return checked(lines.check_device, name) if name else ''


def check_prefix_list(name: str) -> None:
    """Check the name of the agent's prefix list."""
    limits.check_prefix_list(checked(lines.check_name, name))


def checked(check: Callable[[str], _T], value: str) -> _T:
    """The result of a check of :mod:`frr.lines`; OSError for a refusal."""
    try:
        return check(value)
    except ValueError as error:
        raise OSError(errno.EINVAL, str(error)) from error


def running_lines(daemons: Iterable[str], needed: Iterable[str]) -> list[str]:
    """The lines of some daemons, if those that are needed run."""
    running: Collection[str]
    try:
        running = vty.daemons()
        lines = [line for name in daemons if name in running
                 for line in vty.configuration(name)]
    except vty.Unavailable:
        running, lines = _whole_configuration()
    require(running, *needed)
    return lines


@privileged.frr.entrypoint
def read_sockets() -> dict[str, list[int]]:
    """[inode, time of change in ns] of the socket of each daemon."""
    return unix_sockets.of_directory(registered.group(options).frr_run_dir,
                                     SUFFIX)
