# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""PID 1 of the lab machine: file systems, the command, its exit status.

The root is the host's file system, read-only, with an overlay in memory.  So
the programs of the host are there.  The files of the command are gone at its
end, except in the directories that the job names.

Started by the kernel with the path of the job's directory as its only
argument.
"""

import fcntl
import json
import os
import signal
import sys
import termios
import traceback
import tty

sys.path.insert(0, os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))

from lab import syscalls  # noqa: E402

STAGING = '/mnt'
CONSOLE = '/dev/tty1'


def main(directory):
    """Run the job of ``directory``; never returns."""
    status = 255
    machine = os.getpid() == 1
    try:
        with open(os.path.join(directory, 'job.json'),
                  encoding='utf-8') as opened:
            job = json.load(opened)
        _file_systems((directory, *job['writable']), job['visible'])
        _network()
        _sysctls(machine)
        if machine:
            _console(job.get('interactive', False))
        _serve_sessions(job)
        status = _run(job)
    except Exception:
        traceback.print_exc()
    try:
        with open(os.path.join(directory, 'status'), 'w',
                  encoding='utf-8') as opened:
            opened.write(f'{status:d}\n')
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        if machine:
            _drain_console()
            syscalls.power_off()
        os._exit(status)


def _file_systems(writable, visible):
    """Mount the overlay as root, and the other file systems below it.

    :param visible: directories that the new /tmp and /run would hide
    """
    syscalls.make_private()
    syscalls.mount('lab', STAGING, 'tmpfs')
    for name in ('upper', 'work', 'root'):
        os.mkdir(os.path.join(STAGING, name))
    root = os.path.join(STAGING, 'root')
    syscalls.mount('overlay', root, 'overlay', options=(
        f'lowerdir=/,upperdir={STAGING}/upper,workdir={STAGING}/work'))
    # These mounts need the old root, and their targets are below mounts that
    # are still to come.
    for path in (*visible, *writable):
        syscalls.mount('none', os.path.join(STAGING, 'host') + path, 'hostfs',
                       options=path)
    _basic_mounts(root)
    for path in (*visible, *writable):
        syscalls.mount(os.path.join(STAGING, 'host') + path, root + path,
                       flags=syscalls.MS_BIND)
    syscalls.pivot_root(root)


def _basic_mounts(root):
    syscalls.mount('proc', root + '/proc', 'proc')
    syscalls.mount('sysfs', root + '/sys', 'sysfs')
    syscalls.mount('dev', root + '/dev', 'devtmpfs')
    syscalls.mount('devpts', root + '/dev/pts', 'devpts',
                   options='ptmxmode=666')
    syscalls.mount('shm', root + '/dev/shm', 'tmpfs')
    for name, target in (('fd', '/proc/self/fd'),
                         ('stdin', '/proc/self/fd/0'),
                         ('stdout', '/proc/self/fd/1'),
                         ('stderr', '/proc/self/fd/2')):
        if not os.path.lexists(root + '/dev/' + name):
            os.symlink(target, root + '/dev/' + name)
    for path in ('/run', '/tmp'):
        syscalls.mount('tmp', root + path, 'tmpfs', options='mode=1777')


def _network():
    syscalls.sethostname('machine')
    os.spawnlp(os.P_WAIT, 'ip', 'ip', 'link', 'set', 'lo', 'up')


def _sysctls(machine):
    values = {'net/ipv4/ip_forward': 0}
    if machine:
        # Written data reach the directories of the host within a second,
        # because the machine may die before its command closes a file.
        values.update({'vm/dirty_expire_centisecs': 50,
                       'vm/dirty_writeback_centisecs': 50})
    for name, value in values.items():
        with open('/proc/sys/' + name, 'w', encoding='ascii') as opened:
            opened.write(str(value))


def _console(interactive):
    """Make the second console the terminal; the kernel has the first."""
    os.setsid()
    fd = os.open(CONSOLE, os.O_RDWR)
    fcntl.ioctl(fd, termios.TIOCSCTTY, 1)
    if not interactive:
        # Bytes as they are: no carriage returns, no echo.
        tty.setraw(fd)
    for target in (0, 1, 2):
        os.dup2(fd, target)
    if fd > 2:
        os.close(fd)


def _drain_console():
    try:
        termios.tcdrain(1)
    except termios.error:
        return


def _serve_sessions(job):
    """Start the process that lets nodes be entered from outside."""
    if os.fork():
        return
    try:
        # This process must not get the Ctrl-C of the command's terminal, but
        # its sessions must get theirs.
        os.setsid()
        for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        null = os.open('/dev/null', os.O_RDWR)
        for target in (0, 1):
            os.dup2(null, target)
        _become(job)
        from lab import console
        console.serve()
    except BaseException:
        traceback.print_exc()
    os._exit(1)


def _become(job):
    os.chdir(job['cwd'])
    os.environ.clear()
    os.environ.update(job['environ'])


def _run(job):
    """Run the command, and reap all processes until its end."""
    pid = os.fork()
    if pid == 0:
        _exec(job)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda n, _f: os.kill(pid, n))
    while True:
        ended, status = os.waitpid(-1, 0)
        if ended == pid:
            return os.waitstatus_to_exitcode(status) % 256


def _exec(job):
    try:
        _become(job)
        os.execvp(job['argv'][0], job['argv'])
    except OSError as e:
        print(f'lab: cannot run {job["argv"][0]}: {e}',
              file=sys.stderr)
    os._exit(127)


if __name__ == '__main__':
    main(sys.argv[1])
