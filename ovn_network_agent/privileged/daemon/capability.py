# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Giving up capabilities for good: capabilities(7), prctl(2).  uid 0 still
owns root's files, and systemd obeys it, so the unit has another user.
"""

from collections.abc import Collection
import ctypes
import os

from oslo_privsep import capabilities

# linux/prctl.h
PR_SET_NAME = 15
PR_CAPBSET_READ = 23
PR_CAPBSET_DROP = 24
PR_SET_SECUREBITS = 28
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_RAISE = 2
PR_CAP_AMBIENT_CLEAR_ALL = 4

# linux/securebits.h: each bit is followed by its lock
SECBIT_NOROOT = 1 << 0
SECBIT_NOROOT_LOCKED = 1 << 1
SECBIT_KEEP_CAPS_LOCKED = 1 << 5
SECBIT_NO_CAP_AMBIENT_RAISE = 1 << 6
SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED = 1 << 7

_libc = ctypes.CDLL(None, use_errno=True)


def _prctl(option: int, arg2: int = 0, arg3: int = 0) -> int:
    result: int = _libc.prctl(option, *map(ctypes.c_ulong, (arg2, arg3, 0, 0)))
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f'prctl({option}): {os.strerror(number)}')
    return result


def no_new_privileges() -> None:
    """Limit programs that are executed later to this thread's privileges."""
    _prctl(PR_SET_NO_NEW_PRIVS, 1)


def keep_for_programs(numbers: Collection[int]) -> None:
    """Let later programs of a user other than root keep these permitted
    capabilities, as root's do: vtysh has to connect to FRR's sockets.
    """
    if os.geteuid():
        capabilities.drop_all_caps_except(numbers, numbers, numbers)
        for number in numbers:
            _prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, number)


def set_name(name: str) -> None:
    """Set the name that ``ps -o comm`` shows; the kernel keeps 15 bytes."""
    buffer = ctypes.create_string_buffer(name.encode())
    _prctl(PR_SET_NAME, ctypes.addressof(buffer))


def drop_all() -> None:
    """Empty the five capability sets of this thread, for good, before any
    other starts; RuntimeError when another thread still has capabilities.
    """
    if capabilities.CAP_SETPCAP in capabilities.get_caps()[0]:
        number = 0
        while _bounding_has(number):
            _prctl(PR_CAPBSET_DROP, number)
            number += 1
        _prctl(PR_SET_SECUREBITS,
               SECBIT_NOROOT | SECBIT_NOROOT_LOCKED
               | SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE
               | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)
    _prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    no_new_privileges()
    capabilities.drop_all_caps_except([], [], [])
    for thread in os.listdir('/proc/self/task'):
        if _still_has_some(thread):
            raise RuntimeError(
                f'thread {thread} was started before the capabilities were '
                f'given up and still has them')


def _still_has_some(thread: str) -> bool:
    try:
        return permitted(f'self/task/{thread}') != 0
    except FileNotFoundError:
        # ended since it was listed
        return False


def _bounding_has(number: int) -> bool:
    try:
        _prctl(PR_CAPBSET_READ, number)
    except OSError:
        # EINVAL: beyond the last capability of this kernel
        return False
    return True


def permitted(process: str = 'self') -> int:
    """The permitted set, a bit mask, of 'self', '1234' or '1/task/2'."""
    with open(f'/proc/{process}/status', encoding='utf-8',
              errors='replace') as status:
        for line in status:
            if line.startswith('CapPrm:'):
                return int(line.split()[1], 16)
    raise RuntimeError(f'/proc/{process}/status has no CapPrm')
