# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The system calls that Python 3.11 does not offer."""

import ctypes
import os
import signal

# linux/sched.h
CLONE_FS = 0x00000200
CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

# linux/mount.h
MS_BIND = 4096
MS_REC = 16384
MS_PRIVATE = 1 << 18
MNT_DETACH = 2

# linux/reboot.h
POWER_OFF = 0x4321FEDC

_PIVOT_ROOT = 155  # x86_64
_PIDFD_GETFD = 438  # the same number everywhere
_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None, use_errno=True)


def _call(what, result):
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, f'{what}: {os.strerror(number)}')


def unshare(flags):
    """unshare(2)."""
    _call('unshare', _libc.unshare(flags))


def setns(fd, flag):
    """setns(2): enter the namespace behind an open file."""
    _call('setns', _libc.setns(fd, flag))


def pidfd_getfd(pidfd, fd):
    """pidfd_getfd(2): a duplicate of an open file of another process."""
    duplicate = _libc.syscall(_PIDFD_GETFD, pidfd, fd, 0)
    _call('pidfd_getfd', duplicate)
    return duplicate


def die_with_parent():
    """End this process at the end of the thread that started it."""
    _call('prctl', _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL))


def reap_orphans():
    """Be the parent of processes below this one that lose theirs."""
    _call('prctl', _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1))


def sethostname(name):
    """sethostname(2)."""
    raw = name.encode()
    _call('sethostname', _libc.sethostname(raw, len(raw)))


def mount(source, target, fstype=None, flags=0, options=''):
    """mount(2); makes a missing target directory."""
    if not os.path.exists(target):
        os.makedirs(target)
    _call(f'mount {fstype or source} on {target}', _libc.mount(
        source.encode(), target.encode(),
        fstype.encode() if fstype else None, flags,
        options.encode() if options else None))


def make_private():
    """Keep the mounts of this namespace out of all other namespaces."""
    _call('mount', _libc.mount(b'none', b'/', None, MS_REC | MS_PRIVATE,
                               None))


def unmount(target):
    """Lazy umount2(2)."""
    _call(f'umount {target}', _libc.umount2(target.encode(), MNT_DETACH))


def pivot_root(new_root):
    """Make a mount the root, and unmount the former root."""
    os.chdir(new_root)
    _call('pivot_root', _libc.syscall(_PIVOT_ROOT, b'.', b'.'))
    _call('umount', _libc.umount2(b'.', MNT_DETACH))
    os.chdir('/')


def power_off():
    """reboot(2); does not return."""
    os.sync()
    _libc.reboot(ctypes.c_int(POWER_OFF - (1 << 32)
                              if POWER_OFF >= 1 << 31 else POWER_OFF))
