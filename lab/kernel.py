# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The kernel of the lab, which is found, or built once and kept.

The order is: the file named by LAB_KERNEL; a cached build; a new build from
the kernel source of the distribution, of the version that LAB_SERIES names, of
a version in :data:`TRIED` if one is installed, or else the newest.
"""

import contextlib
import fcntl
import glob
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SOURCES = '/usr/src/linux-source-*.tar.*'
_SOURCE = re.compile(r'.*/linux-source-(?P<version>[0-9]+(\.[0-9]+)+)'
                     r'\.tar\.(xz|bz2|gz)')
# The versions that are tried, the best first.  From 6.16 on, user-mode Linux
# catches the system calls of its programs by seccomp.  Before, the kernel
# traced its programs, which takes twice the time of the processor.
TRIED = ((7, 3), (6, 12))
# Free bytes to unpack and compile; version 6.12 takes 1.7 GiB.
ROOM = 3 << 30
DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'data')
FRAGMENT = os.path.join(DATA, 'uml.fragment')
# Patches, each with the version that needs the patch.
PATCHES = {os.path.join(DATA, 'xstate.patch'): (6, 12)}
# The first version that needs none.
WELL = (6, 16)
TOOLS = ('make', 'gcc', 'bc', 'flex', 'bison', 'tar', 'xz', 'patch', 'strip')


class KernelError(Exception):
    """There is no kernel to run the lab on; the text says what to do."""


def choose() -> str:
    """The kernel to use, built if need be.

    :returns: path of a user-mode Linux binary
    :raises KernelError:
    """
    named = os.environ.get('LAB_KERNEL', '')
    if named:
        if not os.access(named, os.X_OK):
            raise KernelError(f'LAB_KERNEL = {named}: not an executable file; '
                              'name a user-mode Linux binary or unset it')
        return os.path.abspath(named)
    return build()


def ready():
    """Whether :func:`choose` has a kernel without building one."""
    if os.environ.get('LAB_KERNEL', ''):
        return True
    try:
        return os.access(cache_path(), os.X_OK)
    except KernelError:
        return False


def source(paths=None) -> str:
    """The archive with the kernel's source to build from.

    :raises KernelError: when there is none
    """
    found = {}
    for path in glob.glob(SOURCES) if paths is None else paths:
        version = _version(path)
        if version:
            found[_preference(version), version] = path
    if not found:
        raise KernelError(
            'there is no source of a kernel in /usr/src; install the package '
            f'linux-source-{_text(TRIED[-1])} or another linux-source of your '
            'distribution, or name a user-mode Linux binary: LAB_KERNEL=...')
    return found[max(found)]


def _version(path):
    """The version of an archive, tuple of int; () for another file."""
    match = _SOURCE.fullmatch(path)
    return tuple(map(int, match['version'].split('.'))) if match else ()


def _preference(version):
    """A number that is higher for a better version, 0 for untried ones."""
    if _text(version[:2]) == os.environ.get('LAB_SERIES'):
        return len(TRIED) + 1
    try:
        return len(TRIED) - TRIED.index(version[:2])
    except ValueError:
        return 0


def _text(version):
    return '.'.join(map(str, version))


def cache_path():
    """The path of the cached build of this source and configuration.

    :raises KernelError: when no kernel source is installed
    """
    digest = hashlib.sha256()
    stat = os.stat(source())
    digest.update(b'%d %d' % (stat.st_size, int(stat.st_mtime)))
    for path in (FRAGMENT, *PATCHES):
        with open(path, 'rb') as opened:
            digest.update(opened.read())
    cache = os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache')
    return os.path.join(cache, 'ovn-network-agent-lab',
                        'linux-uml-' + digest.hexdigest()[:16])


def build() -> str:
    """The cached build; made if it is not there; may raise KernelError."""
    path = cache_path()
    if os.access(path, os.X_OK):
        return path
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        raise KernelError('building the lab kernel needs '
                          f'{", ".join(missing)}; install the packages of '
                          'bindep.txt')
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with _only_one(path + '.lock'):
        if not os.access(path, os.X_OK):
            _build(path)
    return path


@contextlib.contextmanager
def _only_one(path):
    with open(path, 'w', encoding='ascii') as opened:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _say('another process is building the lab kernel, waiting')
            fcntl.flock(opened, fcntl.LOCK_EX)
        yield


def _build(path):
    archive = source()
    free = shutil.disk_usage(os.path.dirname(path)).free
    if free < ROOM:
        raise KernelError(
            f'building the lab kernel takes {ROOM >> 20} MiB in '
            f'{os.path.dirname(path)}, where {free >> 20:d} are free; make '
            'room, or name another place: XDG_CACHE_HOME=...')
    _say('building the lab kernel once (3 to 6 minutes on two cores); it '
         f'is kept in {os.path.dirname(path)}')
    with tempfile.TemporaryDirectory(
            prefix='build-', dir=os.path.dirname(path)) as directory:
        log = os.path.join(directory, 'log')
        _step('unpacking', ['tar', '-xf', archive, '--strip-components=1'],
              directory, log)
        for patch, version in PATCHES.items():
            _patch(patch, version, _version(archive), directory, log)
        _step('configuring', ['make', 'ARCH=um',
                              'KCONFIG_ALLCONFIG=' + FRAGMENT,
                              'allnoconfig'], directory, log)
        _step('compiling', ['make', 'ARCH=um', f'-j{os.cpu_count():d}',
                            'linux'], directory, log)
        _step('stripping', ['strip', 'linux'], directory, log)
        # The rename makes a complete file appear at once.
        os.replace(os.path.join(directory, 'linux'), path)
    _say(f'the lab kernel is ready: {path}')


def _patch(patch, wanted, version: tuple[int, ...], directory, log):
    if version[:2] == wanted:
        _step('patching', ['patch', '-p1', '-i', patch], directory, log)
    elif version < WELL:
        _say(f'{os.path.basename(patch)} is for {_text(wanted)}, not for '
             f'{_text(version)}, and is left out; on a processor with AMX '
             'the machine may not start')


def _step(what, command, directory, log):
    """Run one command of the build, with a line of progress now and then."""
    started = time.monotonic()
    with open(log, 'ab') as opened:
        process = subprocess.Popen(command, cwd=directory, stdout=opened,
                                   stderr=subprocess.STDOUT,
                                   stdin=subprocess.DEVNULL,
                                   start_new_session=True)
        try:
            status = _watch(process, what, started, log)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    if status:
        raise KernelError(f'{" ".join(command)} failed with status '
                          f'{status:d}:\n{_last(log, 20)}')


def _watch(process, what, started, log):
    while True:
        try:
            return process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            seconds = int(time.monotonic() - started)
            _say(f'  {what}, {seconds} s, {_progress(log)}')


def _progress(log):
    with open(log, 'rb') as opened:
        text = opened.read()
    compiled = text.count(b'\n  CC ')
    return f'{compiled} objects'


def _last(log, lines):
    with open(log, encoding='utf-8', errors='replace') as opened:
        return ''.join(opened.readlines()[-lines:])


def _say(text):
    print(f'lab: {text}', file=sys.stderr, flush=True)
