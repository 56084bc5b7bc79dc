# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The processor of the host that a lab machine has for itself.

User-mode Linux has one processor for its programs.  On the host it is several
processes: a kernel, and one process for each program.  One process runs at a
time, and the next one runs after every system call and page fault.  If the
host moves this turn to another processor, it takes three to four times as
long: getppid 74 and 17 us, fork 45 and 17 ms, the start of Python 446 and
149 ms (6.12, two processors).
"""

import contextlib
import fcntl
import os
import time

_TICKS = os.sysconf('SC_CLK_TCK')
# Seconds of a look, the share of it without work that counts as idle, and
# seconds until nobody waits any more.
_PERIOD, _IDLE, _BUSY_AT_MOST = 0.1, 0.8, 10.0


@contextlib.contextmanager
def reserved(directory: str):
    """Reserve a processor that no other machine has, if there is one.

    :param directory: path of the locks of all machines of this user
    :returns: context manager with the number of the processor, int
    """
    allowed = sorted(os.sched_getaffinity(0))
    with contextlib.ExitStack() as stack:
        for number in allowed:
            if _locked(stack, os.path.join(
                    directory, f'processor-{number:d}.lock')):
                break
        else:
            # With more machines than processors, they share.
            number = allowed[os.getpid() % len(allowed)]
        yield number


def wait_idle():
    """Wait for a time in which the machine had almost nothing to do."""
    deadline = time.monotonic() + _BUSY_AT_MOST
    while time.monotonic() < deadline:
        since = Idle()
        time.sleep(_PERIOD)
        took, idle = since.seconds()
        if idle >= _IDLE * took:
            return


class Idle:
    """How long the machine had nothing to do since the object was made.

    A long wait with an idle processor is a wait for a timer: of OVN, of FRR,
    of the agent, or of the test.
    """

    def __init__(self):
        self._began = time.monotonic()
        self._idle = self._read()

    def seconds(self):
        """(seconds that have passed, seconds of them without work)."""
        return time.monotonic() - self._began, self._read() - self._idle

    @staticmethod
    def _read():
        # "cpu", then user, nice, system, idle, ...
        with open('/proc/stat', encoding='ascii') as opened:
            return int(opened.readline().split()[4]) / _TICKS


def _locked(stack, path):
    """Lock a file until the end of a stack; False if it is locked already.
    """
    opened = stack.enter_context(open(path, 'a', encoding='ascii'))
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
