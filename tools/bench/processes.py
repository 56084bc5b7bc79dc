# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What /proc says of a program and of all its descendants."""

import contextlib
import dataclasses
import os
import subprocess
import threading
import time

# linux/posix-timers.h
_CPUCLOCK_SCHED = 2
_GONE = (FileNotFoundError, ProcessLookupError)
_KIBI = 1024


@dataclasses.dataclass(frozen=True)
class Load:
    """What some processes have used so far."""

    processor: float  # milliseconds of the processor, in user and kernel mode
    wakes: int  # how often a thread has gone to sleep, to be woken again

    def since(self, before):
        """The difference to an earlier :class:`Load`."""
        return Load(self.processor - before.processor,
                    self.wakes - before.wakes)


def family(pid):
    """Process ids of a process and of its descendants, a list.

    A process that has ended has no family.
    """
    found, due = [], [pid]
    while due:
        one = due.pop()
        with contextlib.suppress(*_GONE):
            threads = os.listdir(f'/proc/{one:d}/task')
            found.append(one)
            for thread in threads:
                # A thread may have ended meanwhile.
                with contextlib.suppress(*_GONE), open(
                        f'/proc/{one:d}/task/{thread}/children') as opened:
                    due += map(int, opened.read().split())
    return found


def named(word: bytes) -> list:
    """Processes of this PID namespace with a word in their command line."""
    found = []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        with contextlib.suppress(*_GONE), open(
                f'/proc/{pid}/cmdline', 'rb') as opened:
            if word in opened.read():
                found.append(int(pid))
    return found


def others():
    """Process ids of this PID namespace, without the caller, a list."""
    return [pid for pid in map(int, filter(str.isdigit, os.listdir('/proc')))
            if pid != os.getpid()]


def load(pids):
    """The :class:`Load` of some processes; those that ended count nothing."""
    processor, wakes = 0.0, 0
    for pid in pids:
        with contextlib.suppress(*_GONE, OSError):
            processor += time.clock_gettime(_clock(pid)) * 1000
            for thread in os.listdir(f'/proc/{pid:d}/task'):
                with contextlib.suppress(*_GONE):
                    wakes += _wakes(f'/proc/{pid:d}/task/{thread}/status')
    return Load(processor, wakes)


def _clock(pid):
    """The clock of the processor of a process, all its threads together.

    clock_getcpuclockid(3) makes the number in this way; Python has no call.
    """
    return ~pid << 3 | _CPUCLOCK_SCHED


def _wakes(path):
    with open(path) as opened:
        for line in opened:
            if line.startswith('voluntary_ctxt_switches:'):
                return int(line.split()[1])
    return 0


def proportional(pid):
    """Bytes of memory of one process, shared pages in parts (PSS).

    :raises OSError: when the process has ended
    """
    with open(f'/proc/{pid:d}/smaps_rollup') as opened:
        for line in opened:
            if line.startswith('Pss:'):
                return int(line.split()[1]) * _KIBI
    raise OSError(f'the kernel tells no Pss of process {pid:d}')


def name(pid):
    """What the kernel calls a process, 'ended' for one that has ended."""
    with contextlib.suppress(*_GONE), open(f'/proc/{pid:d}/comm') as opened:
        return opened.read().strip()
    return 'ended'


def resident(pid: int, most: bool = False) -> float:
    """Resident memory in MB, now or at most so far."""
    with open(f'/proc/{pid:d}/status') as opened:
        return next(int(line.split()[1]) / 1000 for line in opened
                    if line.startswith('VmHWM' if most else 'VmRSS'))


class Peak:
    """The largest share of a processor that a process uses in a second."""

    def __init__(self, pid: int):
        self._pid = pid
        self._most = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        before, started = load([self._pid]), time.monotonic()
        while not self._ended.wait(1):
            now, moment = load([self._pid]), time.monotonic()
            self._most = max(self._most, now.since(before).processor / 1000 /
                             (moment - started))
            before, started = now, moment

    def end(self) -> float:
        """The largest share; 1.0 is a whole processor."""
        self._ended.set()
        self._thread.join()
        return self._most


def spawn(argv, name, **options) -> subprocess.Popen:
    """Start a program that ends with the namespaces."""
    with open(f'/run/{name}.log', 'ab') as log:
        return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log,
                                stderr=log, **options)


def run(*argv) -> str:
    """Run a program to its end, and return its output.

    :raises RuntimeError: when it fails, with what it said
    """
    ended = subprocess.run(argv, stdin=subprocess.DEVNULL,
                           capture_output=True, text=True)
    if ended.returncode:
        raise RuntimeError(f'{" ".join(argv)}: status {ended.returncode:d}: '
                           f'{ended.stderr.strip()}')
    return ended.stdout


def wait_for(path):
    """Wait until a file appears."""
    deadline = time.monotonic() + 10
    while not os.path.exists(path):
        if time.monotonic() > deadline:
            raise RuntimeError(f'{path} does not appear')
        time.sleep(0.01)
