# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A control group whose memory runs out, as in a container with a limit.

The kernel chooses the process that it ends by itself, see "memory.max" and
"memory.events" in Documentation/admin-guide/cgroup-v2.rst of Linux.
"""

import contextlib
import os
import tempfile

from lab import syscalls

_NAME = 'limited'
# Bytes that a group gets less than it needs.  Each process of an agent has
# more than that of its own.
_LESS = 4 << 20
# Bytes of files in memory that the kernel gives up first.
_FILES = 1 << 30


class Group:
    """A control group; use it in a with statement."""

    def __enter__(self):
        self._top = tempfile.mkdtemp(prefix='groups-')
        syscalls.mount('cgroup2', self._top, 'cgroup2')
        self._path = os.path.join(self._top, _NAME)
        self._write('+memory', self._top, 'cgroup.subtree_control')
        os.mkdir(self._path)
        return self

    def __exit__(self, *_exception):
        for pid in self._read('cgroup.procs').split():
            with contextlib.suppress(ProcessLookupError):
                self._write(pid, self._top, 'cgroup.procs')
        os.rmdir(self._path)
        syscalls.unmount(self._top)
        os.rmdir(self._top)

    def add(self, pid):
        """Add a process, whose children belong to the group, too.

        The memory that the process has already stays with its former group.
        """
        self._write(str(pid), self._path, 'cgroup.procs')

    def squeeze(self) -> int:
        """Take memory away, until the kernel ends processes."""
        # The kernel says EAGAIN when it finds less than it is asked for.
        with contextlib.suppress(BlockingIOError):
            self._write(str(_FILES), self._path, 'memory.reclaim')
        needed = int(self._read('memory.current'))
        before = self._kills()
        self._write(str(needed - _LESS), self._path, 'memory.max')
        self._write('max', self._path, 'memory.max')
        return self._kills() - before

    def _kills(self):
        return int(dict(line.split() for line in self._read(
            'memory.events').splitlines())['oom_kill'])

    def _read(self, name):
        with open(os.path.join(self._path, name), encoding='ascii') as opened:
            return opened.read()

    @staticmethod
    def _write(text, *path):
        with open(os.path.join(*path), 'w', encoding='ascii') as opened:
            opened.write(text)
