# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Starting the lab machine and running one command in it."""

import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import threading
import tty

from lab import bridge
from lab import console
from lab import kernel
from lab import lastwords
from lab import places
from lab import processor
from lab import running
from lab import syscalls

INIT = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'init.py')
# Variables that name things of the host, which the machine must not get.
FOREIGN = ('TMPDIR', 'XDG_RUNTIME_DIR', 'SSH_AUTH_SOCK', 'NOTIFY_SOCKET',
           'DBUS_SESSION_BUS_ADDRESS')
# Free bytes that a place for the machine's memory must have at least.
ROOM = 1 << 30
# The level of messages on the kernel's console: warnings and errors.  The
# traces of a crash are warnings.
LOUDNESS = 5
# Lines of these messages to show when the machine has died.
TAIL = 40


class BootError(Exception):
    """The machine could not be started; the text says why."""


class MachineDied(BootError):
    """The machine ended before its command."""


def run(argv: list[str], memory='3G', writable=(), interactive: bool = False,
        verbose: bool = False, environ: dict | None = None, log=None) -> int:
    """Run a command as root in a new machine.

    :param memory: size of the machine's memory, with unit
    :param writable: directories of the host that the command may write to; all
        other files are gone at its end
    :param log: file for the kernel's messages, see
        :class:`lab.lastwords.Keeper`
    :raises BootError: when the machine did not come up
    :raises MachineDied: when the machine ended before the command
    """
    chosen = kernel.choose()
    directory = tempfile.mkdtemp(prefix='ovn-lab-', dir=temporary_directory())
    socket = os.path.join(directory, 'console')
    environ = dict(os.environ if environ is None else environ)
    environ[console.VARIABLE] = bridge.Bridge.variable()
    environ[running.VARIABLE] = running.marker(socket)
    try:
        _write_job(directory, argv, writable, interactive, environ,
                   places.of_machine())
        write_init(directory)
        with running.announced(os.path.basename(directory), socket, argv):
            words = lastwords.Keeper(
                log or os.path.join(directory, 'kernel.log'), shown=verbose)
            return _run_machine(chosen, directory, socket, memory,
                                interactive, words)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _write_job(directory, argv, writable, interactive, environ, visible):
    for name in FOREIGN:
        environ.pop(name, None)
    paths = environ.get('PATH', '').split(':')
    # The programs of the agent come last: nothing else has their names.
    paths += ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin',
              '/sbin', '/bin', os.path.dirname(sys.executable)]
    environ['PATH'] = ':'.join(dict.fromkeys(p for p in paths if p))
    environ['PYTHONPATH'] = ':'.join(
        p for p in (places.TOP, environ.get('PYTHONPATH')) if p)
    environ['LAB_MACHINE'] = '1'
    environ['LAB_VISIBLE'] = ':'.join(places.of_nodes())
    job = {'argv': list(argv), 'cwd': os.getcwd(), 'environ': environ,
           'writable': [os.path.abspath(p) for p in writable],
           'visible': visible,
           'interactive': interactive}
    with open(os.path.join(directory, 'job.json'), 'w',
              encoding='utf-8') as opened:
        json.dump(job, opened)


def write_init(directory):
    """Write the first program of the machine.

    Its path stands in the kernel's command line, where a space ends a word;
    those of the source tree and of Python may have any character.
    """
    path = init_of(directory)
    with open(path, 'w', encoding='utf-8') as opened:
        words = shlex.join([sys.executable, INIT, directory])
        opened.write(f'#!/bin/sh\nexec {words}\n')
    os.chmod(path, 0o755)


def init_of(directory):
    """Path of the first program of the machine with this directory."""
    return os.path.join(directory, 'init')


def temporary_directory():
    """The usual directory, or /tmp if its path is no word for the kernel."""
    usual = tempfile.gettempdir()
    return usual if re.fullmatch(r'[\w/.,+@%-]+', usual, re.ASCII) else '/tmp'


def _status(directory, ended, log):
    try:
        with open(os.path.join(directory, 'status'),
                  encoding='utf-8') as opened:
            return int(opened.read())
    except (OSError, ValueError):
        raise MachineDied(
            f'the lab machine ended (status {ended}) without that of its '
            f'command; its last words:\n{log}') from None


# -- user-mode Linux -------------------------------------------------------

def _run_machine(path, directory, socket, memory, interactive, words):
    consoles = bridge.Bridge(socket)
    command = [
        path, f'mem={memory}', f'umid={os.path.basename(directory)}',
        f'uml_dir={directory}/', 'root=/dev/root', 'rootfstype=hostfs',
        'rootflags=/', 'ro', f'loglevel={LOUDNESS}', 'panic=1', 'con=null',
        f'con0=null,fd:{words.fd:d}', 'con1=fd:0,fd:1',
        # A kernel before 6.16 gives this word to init, which does not look.
        'seccomp=auto',
        *consoles.arguments(),
        f'init={init_of(directory)}']
    with contextlib.ExitStack() as stack:
        stdin, stdout = _console(stack, interactive)
        number = stack.enter_context(
            processor.reserved(running.own_directory()))
        # In a session of its own, the machine gets a Ctrl-C only once, from
        # this process, and all its processes can be ended by their group.
        machine = subprocess.Popen(
            command, stdin=stdin, stdout=stdout,
            stderr=words.fd, start_new_session=True,
            pass_fds=(words.fd, *consoles.fds),
            preexec_fn=lambda: _before_exec(number),
            env={'HOME': '/root', 'PATH': os.environ.get('PATH', ''),
                 'TMPDIR': memory_directory(memory)})
        words.start()
        stack.callback(words.close)
        consoles.start()
        stack.callback(consoles.close)
        try:
            _wait(machine)
        finally:
            _end(machine)
    return _status(directory, machine.returncode, words.tail(TAIL))


def _before_exec(number):
    syscalls.die_with_parent()
    os.sched_setaffinity(0, {number})


def memory_directory(memory='3G') -> str:
    """The directory for the machine's memory, preferably not on a disk.

    The file system must allow execution.  When it is full, the kernel of the
    machine dies at its next access to the memory.

    :param memory: size of the machine's memory, with unit
    :raises BootError: when there is no such directory
    """
    refused, fit = [], []
    for path in dict.fromkeys((os.environ.get('TMPDIR'), '/dev/shm', '/tmp')):
        if not path:
            continue
        reason = unfit(path)
        if reason:
            refused.append(f'{path} {reason}')
        else:
            fit.append((path, _free(os.statvfs(path))))
    if not fit:
        raise BootError('the memory of the machine has no place: '
                        f'{", ".join(refused)}; name a directory that fits: '
                        'TMPDIR=...')
    # Running labs, this one included, may not have used all their memory yet.
    return roomy(fit, bytes_of(memory) * max(1, len(running.labs())))


def unfit(path, room=ROOM):
    """The reason why the machine's memory cannot be in a place, or ''.

    :param room: bytes that have to be free
    """
    if not os.access(path, os.W_OK | os.X_OK):
        return 'cannot be written to'
    stat = os.statvfs(path)
    if stat.f_flag & os.ST_NOEXEC:
        return 'is mounted noexec'
    if _free(stat) < room:
        return f'has {_free(stat) >> 20:d} MiB free of the {room >> 20} needed'
    return ''


def _free(stat):
    return stat.f_bavail * stat.f_frsize


def roomy(fit: list[tuple[str, int]], needed: int):
    """The first place with enough room, else the place with the most room."""
    for path, free in fit:
        if free >= needed:
            return path
    return max(fit, key=lambda place: place[1])[0]


def bytes_of(memory):
    """Bytes of a size with unit, as the kernel reads it.

    :raises BootError: when the text is no size
    """
    found = re.fullmatch('([0-9]+)([kmg]?)', memory.lower())
    if not found:
        raise BootError(f'--mem {memory}: not a size; use a number and K, M '
                        'or G, for example 3G')
    return int(found[1]) << {'': 0, 'k': 10, 'm': 20, 'g': 30}[found[2]]


def _console(stack, interactive):
    if interactive and sys.stdin.isatty():
        saved = termios.tcgetattr(0)
        stack.callback(termios.tcsetattr, 0, termios.TCSADRAIN, saved)
        tty.setraw(0)
        return 0, 1
    # The machine polls both ends, which is not possible with /dev/null.
    read_in, write_in = os.pipe()
    stack.callback(os.close, write_in)
    read_out, write_out = os.pipe()
    copier = threading.Thread(target=_copy, args=(read_out,), daemon=True)
    copier.start()
    stack.callback(copier.join, 10)
    stack.callback(os.close, write_out)
    stack.callback(os.close, read_in)
    return read_in, write_out


def _copy(fd):
    out = getattr(sys.stdout, 'buffer', None)
    while True:
        data = os.read(fd, 65536)
        if not data:
            os.close(fd)
            return
        if out is None:
            sys.stdout.write(data.decode(errors='replace'))
        else:
            out.write(data)
        sys.stdout.flush()


def _wait(machine):
    """Wait for the end; a signal to this process ends the machine."""
    def stop(number, _frame):
        raise KeyboardInterrupt(number)

    previous = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGHUP):
            previous[number] = signal.signal(number, stop)
    try:
        machine.wait()
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _end(machine):
    """End all processes of the machine: they are one process group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(machine.pid, signal.SIGKILL)
    machine.wait()
