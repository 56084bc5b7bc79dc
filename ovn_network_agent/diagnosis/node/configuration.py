# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Checks of the configuration, of files that it names, and of versions."""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
import datetime
import grp
import os
import pwd
import re
import stat
import typing

from ovn_network_agent.common import wording
from ovn_network_agent.conf import tls
from ovn_network_agent.diagnosis.node import check
from ovn_network_agent.diagnosis.node import sources
from ovn_network_agent.ovsdb import connection
from ovn_network_agent.privileged import nft
from ovn_network_agent.privileged.daemon import context
from ovn_network_agent.runtime import reloads
from ovn_network_agent.runtime.process import file_permissions

# contrib/sysusers.d makes this user.
USER = 'ovn-network-agent'
# Days before its end when a certificate should be renewed.
DAYS = 14
# Its messages are those of other checks.
_ELSEWHERE = ('link',)
FRR, OVN, OVS, NFT, KERNEL = ('FRR', 'OVN', 'Open vSwitch', 'nftables',
                              'Linux')
# Those that the tests ran with, the oldest first; a test compares them with
# the page of versions in the documentation.
TRIED = {FRR: ('8.4.4', '10.3', '10.7.1'), OVN: ('23.03', '25.03', '26.03.1'),
         OVS: ('3.1', '3.5', '4.0')}
# Versions in between that were never run, and differ from their neighbours.
NEVER = {FRR: (9,)}
# Below these, a part of the agent cannot work.
LEAST = {KERNEL: ('4.20', 'the agent needs its netlink with strict checks')}


class Problems(typing.NamedTuple):
    """The mistakes of the configuration."""

    problems: tuple[str, ...]  # messages that prevent a start
    warnings: tuple[str, ...]  # messages that do not
    files: tuple[str, ...]


def read_configuration(sources: sources.Sources) -> Problems:
    """The agent's own messages, without TLS; warnings only if it can start."""
    conf = sources.conf
    of_tls = {*tls.problems(conf)}
    problems = tuple(message for message in reloads.problems(conf)
                     if message not in of_tls)
    warnings: tuple[str, ...] = ()
    if not problems and sources.unloaded:
        problems = (sources.unloaded,)
    if not problems and not of_tls:
        of_tls = {*tls.warnings(conf)}
        warnings = tuple(message for message in reloads.warnings(conf)
                         if message not in of_tls)
    return Problems(problems, warnings, tuple(conf.config_file or ()))


def judge_configuration(found: Problems) -> Iterator[check.Result]:
    """What prevents a start is broken; every other message is a warning."""
    yield from (check.of_message(check.Verdict.BROKEN, message)
                for message in found.problems)
    yield from (check.of_message(check.Verdict.WARN, message)
                for message in found.warnings)
    if not found.problems and not found.warnings:
        yield check.ok(', '.join(found.files) or 'no file: the environment '
                       'and the defaults')


def read_prerequisites(sources: sources.Sources) -> tuple[str, ...]:
    """Messages of the backends, without those of other checks."""
    return tuple(message for backend in sources.backends
                 if backend.name not in _ELSEWHERE
                 for message in backend.check())


def judge_prerequisites(messages: Iterable[str]) -> list[check.Result]:
    """Every missing program or device is broken."""
    return check.of_messages(check.Verdict.BROKEN, messages,
                             'the programs and devices of all backends are '
                             'there')


class Tls(typing.NamedTuple):
    """The files of TLS."""

    used: bool  # whether a remote begins with "ssl:"
    problems: tuple[str, ...]  # messages that prevent a start
    warnings: tuple[str, ...]  # other messages
    # (path, end of the certificate).
    ends: tuple[tuple[str, datetime.datetime], ...]


def read_tls(sources: sources.Sources) -> Tls:
    """Read the files of TLS; a bad file leaves neither warnings nor dates."""
    conf = sources.conf
    files = dict.fromkeys(tls.by_remote(conf).values())
    problems = tuple(tls.problems(conf))
    return Tls(bool(files), problems,
               () if problems else tuple(tls.warnings(conf)),
               () if problems else tuple(
                   (path, tls.end(path)) for each in files
                   for path in (each.cert, each.ca) if path))


def judge_tls(found: Tls, now: datetime.datetime | None = None
              ) -> Iterator[check.Result]:
    """An expired certificate is broken; one that expires soon is a warning.

    :param now: datetime with a time zone, None for the present time
    """
    if not (found.used or found.problems or found.warnings):
        yield check.not_checked('no remote begins with "ssl:"')
        return
    now = now or datetime.datetime.now(datetime.UTC)
    yield from (check.of_message(check.Verdict.BROKEN, message)
                for message in found.problems)
    expired = [(path, end) for path, end in found.ends if end <= now]
    # The agent's warning about the same date is not repeated.
    yield from (check.of_message(check.Verdict.WARN, message)
                for message in found.warnings if 'expired' not in message)
    for path, end in expired:
        yield check.broken(f'{path} has expired at {end:%Y-%m-%d %H:%M}',
                           'renew the certificate; the agent reads the new '
                           'file at its next connection')
    for path, end in found.ends:
        if now < end < now + datetime.timedelta(DAYS):
            yield check.warn(f'{path} expires at {end:%Y-%m-%d %H:%M}',
                             'renew the certificate; the agent reads the new '
                             'file at its next connection')
    if not found.problems and not expired:
        first = min((end for _path, end in found.ends), default=None)
        yield check.ok('the files can be used' + (
            f', the first certificate expires at {first:%Y-%m-%d}'
            if first else ''))


class Access(typing.NamedTuple):
    """Whether the agent's user can read its files."""

    user: bool
    closed: tuple[str, ...]  # paths that the user cannot read
    files: int
    # Paths of the program that the user cannot read.
    program: tuple[str, ...] = ()


def read_access(sources: sources.Sources) -> Access:
    """Find the named files that the agent's user cannot read.

    They are those of the configuration, TLS, port forwarding and peerings, if
    they exist.  The program is doctor's, which is installed with the agent.
    """
    conf = sources.conf
    wanted = [*(conf.config_file or ()), conf.port_forward.rules_file,
              conf.network_peer.peers_file]
    for files in tls.by_remote(conf).values():
        wanted += [files.ca, files.cert, files.key]
    paths = sorted({path for path in wanted if path})
    try:
        user = pwd.getpwnam(USER)
    except KeyError:
        return Access(False, (), len(paths))
    groups = {user.pw_gid, *(g.gr_gid for g in grp.getgrall()
                             if user.pw_name in g.gr_mem)}
    return Access(True, tuple(
        path for path in paths if os.path.exists(path) and
        not reads(path, user.pw_uid, groups)), len(paths), tuple(
            path for path in file_permissions.files()
            if not reads(path, user.pw_uid, groups)))


def reads(path: str, uid: int, groups: Collection[int]) -> bool:
    """Whether a user can open a file, by the modes of its way."""
    path = os.path.realpath(path)
    if not _allowed(os.stat(path), uid, groups, stat.S_IROTH):
        return False
    while path != os.path.dirname(path):
        path = os.path.dirname(path)
        if not _allowed(os.stat(path), uid, groups, stat.S_IXOTH):
            return False
    return True


def _allowed(found: os.stat_result, uid: int, groups: Collection[int], bit: int
             ) -> bool:
    if found.st_uid == uid:
        return bool(found.st_mode & bit << 6)
    return bool(found.st_mode & bit << (3 if found.st_gid in groups else 0))


def judge_access(found: Access) -> Iterator[check.Result]:
    """A file that the agent's user cannot read is broken."""
    if not found.user:
        yield check.not_checked(f'there is no user {USER}; another user runs '
                                'the agent')
        return
    for path in found.closed:
        yield check.broken(
            f'{USER} cannot read {path}, and the unit starts the agent as '
            'this user', f'"chgrp {USER}" and "chmod 640" the file, and open '
            'the directories above it')
    if found.program:
        yield check.broken(file_permissions.message(USER, list(found.program)),
                           file_permissions.remedy(list(found.program)))
    if not found.closed and not found.program:
        yield check.ok(f'{USER} can read {wording.count(found.files, "file")},'
                       ' and the program')


class Versions(typing.NamedTuple):
    """The versions that are installed and running."""

    # (program, version), '' for one that is not known.
    found: tuple[tuple[str, str], ...]


def read_versions(sources: sources.Sources) -> Versions:
    """Ask each program for its version, '' where it does not tell."""
    return Versions((
        (KERNEL, os.uname().release),
        (FRR, _version(lambda: sources.frr(4).version)),
        (OVN, _version(lambda: [*sources.controller(), ''][0])),
        (OVS, _version(lambda: _switch(sources))),
        (NFT, _version(lambda: _nft(sources)))))


def _version(ask: Callable[[], str]) -> str:
    """A version, '' where a system does not tell; another check says why."""
    try:
        return ask()
    except (check.NotChecked, connection.Unavailable, *context.FAILURES):
        return ''


def _switch(sources: sources.Sources) -> str:
    with sources.database('ovs').rows() as ovs:
        return next((''.join(row.ovs_version)
                     for row in ovs['Open_vSwitch'].values()), '')


def _nft(sources: sources.Sources) -> str:
    sources.privileged()
    return nft.read_version()


def numbers(version: str) -> tuple[int, ...]:
    """The first two numbers of a version such as '6.12.0-amd64'."""
    return tuple(int(part) for part in re.findall(
        r'[0-9]{1,9}', version)[:2])


def judge_versions(found: Versions) -> Iterator[check.Result]:
    """A version below :data:`LEAST` is broken.

    One beside all of :data:`TRIED` is a warning, one in between a remark.
    """
    problems = [result for name, version in found.found if version
                for result in _judged(name, version)]
    yield from problems
    if not problems:
        yield check.ok(', '.join(
            f'{name} {version}{_unseen(name, version)}'
            for name, version in found.found if version))


def _unseen(name: str, version: str) -> str:
    tried = TRIED.get(name, ())
    return '' if not tried or numbers(version) in map(numbers, tried) else (
        f' (no test ran with it, but with {", ".join(tried)})')


def _judged(name: str, version: str) -> Iterator[check.Result]:
    here = numbers(version)
    least, why = LEAST.get(name, ('0', ''))
    if here < numbers(least):
        yield check.broken(f'{name} {version} is older than {least}: {why}',
                           f'install {name} {least} or later')
        return
    tried = TRIED.get(name, ())
    if tried and not numbers(tried[0]) <= here <= numbers(tried[-1]):
        yield check.warn(
            f'{name} {version} was not tried: the tests ran with '
            f'{", ".join(tried)}', 'try it on a node without traffic first')
    elif here[:1] and here[0] in NEVER.get(name, ()):
        yield check.warn(f'{name} {version}: {name} {here[0]:d} was never '
                         'run', 'try it on a node without traffic first')


CHECKS = (
    check.Check(
        'configuration', 'configuration',
        'problems that prevent a start, unknown sections, options and '
        'variables, values that look unintended',
        read_configuration, judge_configuration),
    check.Check(
        'tls-files', 'TLS', 'the files of "ssl:" remotes can be used, belong '
        'together and do not expire soon', read_tls, judge_tls),
    check.Check(
        'file-access', 'files of the agent', 'the user of the unit can read '
        'the configuration, the rules, the files of TLS, and the program '
        'with its Python packages',
        read_access, judge_access),
    check.Check(
        'prerequisites', 'programs and devices', 'what a backend needs for a '
        'start: vtysh, nft, wrappers, the device of VIPs',
        read_prerequisites, judge_prerequisites, ('configuration',)),
    check.Check(
        'versions', 'programs', 'Linux, FRR, OVN, Open vSwitch and nftables '
        'are of versions that were tried', read_versions, judge_versions),
)
