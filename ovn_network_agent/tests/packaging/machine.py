# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A Debian that runs: systemd is its first process."""

import itertools
import os
import pathlib
import signal
import subprocess

from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.packaging import root

# All namespaces but that of users.  systemd has a group of processes of its
# own, because systemd takes its first group for the whole machine.
# The values of the kernel that hold for the whole machine are read-only.
_BOOT = '''
root=$1 group=$2
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t cgroup2 cgroup2 "$root/mnt"
mkdir "$root/mnt$group"
echo 0 >"$root/mnt$group/cgroup.procs"
umount "$root/mnt"
mount --bind "$root/proc/sys" "$root/proc/sys"
mount --bind "$root/proc/sys/net" "$root/proc/sys/net"
mount -o remount,bind,ro "$root/proc/sys"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
mkdir "$root/dev/pts" "$root/dev/shm" "$root/dev/net"
for name in null zero full random urandom tty net/tun; do
    touch "$root/dev/$name"
    mount --bind "/dev/$name" "$root/dev/$name"
done
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
shift 2
while [ $# -gt 0 ]; do
    mkdir -p "$root$1"
    mount --bind "$2" "$root$1"
    shift 2
done
exec unshare --cgroup sh -ec '
    mount -t cgroup2 cgroup2 "$1/sys/fs/cgroup"
    cd "$1"
    pivot_root . mnt
    umount -l /mnt
    exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin \\
        /lib/systemd/systemd --system
' sh "$root"
'''
# The groups go from the inner to the outer.
_REMOVE_GROUP = '''
mount -t cgroup2 cgroup2 /mnt
[ ! -d "/mnt$1" ] || find "/mnt$1" -depth -type d -exec rmdir {} +
'''
# Seconds for a boot: other tests may compute at the same time.
LIMIT = 180
_STARTED = ('running', 'degraded')


class Machine:
    """A machine with a copy of the root, on a network of its own.

    :param directory: of files that go with the machine, a path
    :param shared: dict of paths in the machine to directories outside
    :param files: dict of paths in the machine to texts, written before the
        start
    :param suite: as for :func:`root.copy`
    :ivar path: of its root
    :raises AssertionError: when systemd does not start
    """

    def __init__(self, directory, shared, files, suite=None):
        self.path = pathlib.Path(directory, 'root')
        self._group = _own_group().rstrip('/') + f'/debian-{os.getpid():d}'
        root.copy(self.path, suite)
        for path, text in files.items():
            pathlib.Path(f'{self.path}{path}').write_text(text)
        self._log = pathlib.Path(directory, 'log')
        with open(self._log, 'wb') as log:
            self._process = subprocess.Popen(
                # It ends with the process of the tests in any case.
                ['setpriv', '--pdeathsig', 'KILL',
                 'unshare', '--mount', '--pid', '--net', '--ipc', '--uts',
                 '--fork', '--kill-child', 'sh', '-ec', _BOOT, 'sh',
                 str(self.path), self._group,
                 *itertools.chain(*shared.items())],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def wait(self):
        """Wait until systemd has started all that it starts at a boot."""
        waiting.eventually(self._is_up, self._log.read_text, LIMIT)

    def _is_up(self):
        assert self._process.poll() is None, self._log.read_text()
        return self._in_root('systemctl', 'is-system-running').stdout.strip(
            ) in _STARTED

    def inside(self, *argv):
        """A command that runs a program there, a list."""
        first, = self._children()
        return ['nsenter', f'--target={first:d}', '--all', '--root', '--wd',
                'env', '-i', 'PATH=/usr/sbin:/usr/bin:/sbin:/bin',
                'LC_ALL=C.UTF-8', 'DEBIAN_FRONTEND=noninteractive',
                *(f'{name}={value}' for name, value in root.ENV.items()),
                *argv]

    def _children(self):
        """Ids of the children of unshare: the only one becomes systemd."""
        pid = self._process.pid
        with open(f'/proc/{pid:d}/task/{pid:d}/children') as opened:
            return [int(word) for word in opened.read().split()]

    def _in_root(self, *argv):
        return subprocess.run(
            self.inside(*argv), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def run(self, *argv, status=0):
        """Run a program there to its end; gives all its output, a text.

        :raises AssertionError: when the program ends with another status
        """
        ended = self._in_root(*argv)
        assert ended.returncode == status, (argv, ended.returncode,
                                            ended.stdout)
        return ended.stdout

    def close(self):
        """End all its processes, and leave nothing behind but files."""
        if self._process.poll() is None:
            # unshare ends when no process of the machine is left.
            first, = self._children()
            os.kill(first, signal.SIGKILL)
            self._process.wait()
        subprocess.run(['unshare', '--mount', 'sh', '-ec', _REMOVE_GROUP,
                        'sh', self._group], check=True)


def _own_group():
    """Path of the group of processes of this process, of cgroup2."""
    with open('/proc/self/cgroup') as opened:
        return next(line.rstrip('\n').removeprefix('0::') for line in opened
                    if line.startswith('0::'))
