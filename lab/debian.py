# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A node with a root file system of its own, and systemd as PID 1.

The root is a directory of the host, for example of debootstrap.  The node
sees the directory with an overlay in memory, so that nodes share one root and
nothing changes there.  A power failure empties such a node.
"""

import os
import stat
import uuid

from lab import syscalls
from lab import waiting

STAGING = '/mnt'
GROUPS = '/sys/fs/cgroup'
DEVICES = ('null', 'zero', 'full', 'random', 'urandom', 'tty', 'net/tun')
LINKS = (('ptmx', 'pts/ptmx'), ('fd', '/proc/self/fd'),
         ('stdin', '/proc/self/fd/0'), ('stdout', '/proc/self/fd/1'),
         ('stderr', '/proc/self/fd/2'))
# Seconds; 10 s with a processor alone.
BOOT = 180
_RUNNING = ('running', 'degraded')


def mounts(name, root: str):
    """Mount the root of a node and all below it, and make it the root.

    systemd has a tree of control groups of its own.
    """
    syscalls.make_private()
    top = overlay(root, STAGING)
    # An engine of containers puts overlays there, and not on an overlay.
    syscalls.mount('node', top + '/var/lib/containers', 'tmpfs')
    syscalls.mount('proc', top + '/proc', 'proc')
    syscalls.mount('sysfs', top + '/sys', 'sysfs')
    _own_group(name)
    syscalls.mount('cgroup2', top + GROUPS, 'cgroup2')
    _devices(top + '/dev')
    for path in ('/run', '/tmp'):
        syscalls.mount('node', top + path, 'tmpfs', options='mode=0755')
    os.chmod(top + '/tmp', 0o1777)
    _identity(name, top + '/etc')
    syscalls.pivot_root(top)


def overlay(root: str, staging: str) -> str:
    """Mount a directory of the host with an overlay in memory; its path."""
    syscalls.mount('node', staging, 'tmpfs')
    lower, upper, work, top = (os.path.join(staging, part) for part in
                               ('lower', 'upper', 'work', 'top'))
    host_directory(root, lower)
    os.mkdir(upper)
    os.mkdir(work)
    syscalls.mount('overlay', top, 'overlay', options=(
        f'lowerdir={lower},upperdir={upper},workdir={work}'))
    return top


def _identity(name, path):
    """Write the files that no two hosts have in common.

    udev makes the MACs of links from the id.
    """
    for file, text in (('hostname', name), ('machine-id', uuid.uuid4().hex),
                       ('hosts', f'127.0.0.1 localhost\n127.0.1.1 {name}')):
        with open(os.path.join(path, file), 'w',
                  encoding='ascii') as opened:
            opened.write(text + '\n')


def host_directory(path, target):
    """Mount a directory of the host, without the overlay of the machine."""
    syscalls.mount('none', target, 'hostfs', options=path)


def _devices(path):
    """The devices that each host has, but no terminal of the machine."""
    syscalls.mount('dev', path, 'tmpfs', options='mode=0755')
    for name in DEVICES:
        target = os.path.join(path, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.mknod(target, 0o666 | stat.S_IFCHR, os.stat('/dev/' + name).st_rdev)
        os.chmod(target, 0o666)
    for name, target in LINKS:
        os.symlink(target, os.path.join(path, name))
    syscalls.mount('devpts', path + '/pts', 'devpts',
                   options='newinstance,ptmxmode=666')
    syscalls.mount('shm', path + '/shm', 'tmpfs')


def _own_group(name):
    """Be the root of a tree of control groups."""
    syscalls.mount('cgroup2', STAGING + '/groups', 'cgroup2')
    # Units may have limits of memory.
    with open(STAGING + '/groups/cgroup.subtree_control', 'w',
              encoding='ascii') as opened:
        opened.write('+memory')
    path = f'{STAGING}/groups/{name}'
    os.makedirs(path, exist_ok=True)
    with open(path + '/cgroup.procs', 'w', encoding='ascii') as opened:
        opened.write('0')
    syscalls.unshare(syscalls.CLONE_NEWCGROUP)
    syscalls.unmount(STAGING + '/groups')


def be_systemd():
    """Become systemd; does not return."""
    null = os.open('/dev/null', os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.closerange(3, 4096)
    os.execve('/lib/systemd/systemd', ['/lib/systemd/systemd', '--system'], {
        'container': 'other', 'PATH': '/usr/sbin:/usr/bin:/sbin:/bin'})


def wait_up(node):
    """Wait until systemd of a node has started what it starts at a boot."""
    waiting.wait_until(f'systemd of {node.name} has started all', lambda: (
        node.run(['systemctl', 'is-system-running'], check=False)
        .stdout.strip() in _RUNNING), BOOT, interval=0.5)
