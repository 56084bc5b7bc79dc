# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""How a node is born: its namespaces, its file systems, its PID 1."""

import contextlib
import ctypes
import fcntl
import grp
import os
import pwd
import signal
import socket
import struct

from lab import debian
from lab import syscalls
from lab import waiting

# Directory with a file for every running node: its PID 1, and the start time
# of this process.  By the file, other programs find the node.
REGISTRY = '/run/lab/nodes'
# Directories that a power failure empties, as on a real host.
KEPT = '/mnt/visible'
VOLATILE = ('/run', '/tmp')
# The node's disk: it survives a power failure.
DISK = ('/var/log', '/var/lib/openvswitch', '/var/lib/ovn', '/var/lib/frr',
        '/var/lib/ovn-network-agent', '/var/tmp', '/etc/frr',
        '/etc/openvswitch', '/etc/ovn', '/etc/ovn-network-agent')
_PDEATHSIG = 1
_IFF_UP = 1
_SIOCSIFFLAGS = 0x8914
_CLONE, _CLONE_PARENT = 56, 0x00008000  # x86_64
_libc = ctypes.CDLL(None)


def registered():
    """All running nodes of all programs, dict of name to PID."""
    found = {}
    names = os.listdir(REGISTRY) if os.path.isdir(REGISTRY) else ()
    for name in sorted(names):
        # The program that made the node may have died, and another process
        # may have the PID now.
        with contextlib.suppress(OSError, ValueError, IndexError):
            with open(os.path.join(REGISTRY, name),
                      encoding='ascii') as opened:
                entry = opened.read()
            pid = int(entry.split()[0])
            if entry == _entry(pid):
                found[name] = pid
    return found


def _entry(pid):
    with open(f'/proc/{pid:d}/stat', encoding='ascii',
              errors='replace') as opened:
        started = opened.read().rpartition(')')[2].split()[19]
    return f'{pid:d} {started}\n'


def register(name, pid):
    """Let other programs find a node."""
    os.makedirs(REGISTRY, exist_ok=True)
    with open(os.path.join(REGISTRY, name), 'w', encoding='ascii') as opened:
        opened.write(_entry(pid))


def start(name, disk, root: str | None = None) -> int:
    """Make the namespaces and PID 1 of a node.

    The caller has to be the main thread: PID 1 dies with its parent thread,
    so that no node outlives the program that made it.

    :param disk: directory for the files that survive a power failure
    :param root: path of a root file system with systemd, which becomes PID 1
        on a copy of the root; None for the machine's own programs
    :raises waiting.NodeError: when the kernel refuses
    """
    read_end, write_end = os.pipe()
    middle = os.fork()
    if middle == 0:
        _birth(name, disk, root, read_end, write_end)
    os.close(write_end)
    with os.fdopen(read_end) as opened:
        said = opened.read().split()
    os.waitpid(middle, 0)
    # Two processes write, in any order.
    if len(said) != 2 or 'ready' not in said:
        raise waiting.NodeError(f'{name}: its namespaces could not be made')
    said.remove('ready')
    return int(said[0])


def _birth(name, disk, root, read_end, write_end):
    try:
        os.close(read_end)
        syscalls.unshare(
            syscalls.CLONE_NEWNS | syscalls.CLONE_NEWUTS |
            syscalls.CLONE_NEWIPC | syscalls.CLONE_NEWNET |
            syscalls.CLONE_NEWPID)
        # With CLONE_PARENT, the caller can wait for PID 1.
        pid = _libc.syscall(_CLONE, _CLONE_PARENT | signal.SIGCHLD,
                            0, 0, 0, 0)
        if pid:
            os.write(write_end, b'%d ' % pid)
            os._exit(0)
        _libc.prctl(_PDEATHSIG, signal.SIGKILL)
        syscalls.sethostname(name)
        if root:
            debian.mounts(name, root)
        else:
            _mounts(disk)
        _directories()
        _loopback_up()
        os.write(write_end, b'ready ')
        os.close(write_end)
        if root:
            debian.be_systemd()
        _be_init()
    except BaseException as e:
        os.write(2, f'lab: node {name}: {e}\n'.encode())
    os._exit(1)


def _mounts(disk):
    syscalls.make_private()
    syscalls.mount('proc', '/proc', 'proc')
    syscalls.mount('sysfs', '/sys', 'sysfs')
    # The repository and the interpreter have to stay visible, see places.py.
    visible = [p for p in os.environ.get('LAB_VISIBLE', '').split(':') if p]
    for path in visible:
        syscalls.mount(path, KEPT + path, flags=syscalls.MS_BIND)
    for path in VOLATILE:
        syscalls.mount('node', path, 'tmpfs', options='mode=0755')
    for path in DISK:
        os.makedirs(disk + path, exist_ok=True)
        syscalls.mount(disk + path, path, flags=syscalls.MS_BIND)
    for path in visible:
        syscalls.mount(KEPT + path, path, flags=syscalls.MS_BIND)
    for path in ('/tmp', '/var/tmp'):
        os.chmod(path, 0o1777)


def _directories():
    """What packages and their services make on a host."""
    for path in ('/run/openvswitch', '/run/ovn', '/var/log/openvswitch',
                 '/var/log/ovn'):
        os.makedirs(path, exist_ok=True)
    for path in ('/run/frr', '/var/log/frr', '/etc/frr'):
        os.makedirs(path, exist_ok=True)
        _give_to_frr(path)


def _give_to_frr(path):
    try:
        user, group = pwd.getpwnam('frr').pw_uid, grp.getgrnam('frr').gr_gid
    except KeyError:
        return
    os.chown(path, user, group)


def _loopback_up():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as opened:
        fcntl.ioctl(opened, _SIOCSIFFLAGS,
                    struct.pack('16sH22x', b'lo', _IFF_UP))


def _be_init():
    """Reap orphaned processes for ever."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    # No file may stay open: the reader of a pipe would wait for its end.
    devnull = os.open('/dev/null', os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(devnull, fd)
    os.closerange(3, 4096)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            signal.sigwait([signal.SIGCHLD])
