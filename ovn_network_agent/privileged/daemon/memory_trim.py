# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The memory of this process, and how free parts go back to the kernel.

Python keeps thousands of free tuples and lists, each of which holds an arena
of 1 MB, until a full collection.  The C library keeps freed pages between
those in use; malloc_trim(3) of glibc gives them back.
"""

from collections.abc import Callable
from collections.abc import Iterable
import ctypes
import gc
import os
import threading
import time

_PAGE = os.sysconf('SC_PAGE_SIZE')
# bytes by which a process has to grow until it looks for free memory
_GROWTH = 2 << 20
# seconds to each release: more may come soon, or be in use then
_PAUSES = (1.0, 10.0)
# malloc.h of glibc
_M_ARENA_MAX = -8
# musl, for example, has no such functions, and needs none
_library = ctypes.CDLL(None)
_trim = getattr(_library, 'malloc_trim', None)
_set_option = getattr(_library, 'mallopt', None)


def share() -> None:
    """Have all threads share one heap of the C library, before the first
    thread: else most have their own free parts.  They rarely wait, as one runs
    at a time.
    """
    if _set_option is not None:
        _set_option(_M_ARENA_MAX, 1)


class Size:
    """Bytes of this process in memory, shared pages included.  The file stays
    open for a process out of descriptors; a fork needs its own object.
    """

    def __init__(self) -> None:
        self._file = open('/proc/self/statm', 'rb', buffering=0)

    def __call__(self) -> int:
        return int(os.pread(self._file.fileno(), 200, 0).split()[1]) * _PAGE


def release() -> None:
    """Give free memory back to the kernel; about 1 ms in a daemon, whose
    objects are mostly frozen (:mod:`runtime.process.interpreter`).
    """
    gc.collect()
    trim()


def trim() -> None:
    """Give back the C library's alone: no collection of many objects."""
    if _trim is not None:
        _trim(0)


class Keeper:
    """Releases memory when it has grown, after each of ``pauses`` (seconds).
    """

    def __init__(self, release: Callable[[], None],
                 size: Callable[[], int] | None = None,
                 pauses: Iterable[float] = _PAUSES) -> None:
        self._release = release
        self._size = size or Size()
        self._pauses = pauses
        self._least = self._size()
        self._grown = threading.Event()

    def start(self) -> None:
        """Start the thread, which sleeps until the process has grown."""
        threading.Thread(target=self._run, name='memory-trim',
                         daemon=True).start()

    def look(self) -> None:
        """Have the thread release memory if the process has grown; 0.01 ms."""
        if self._size() - self._least > _GROWTH:
            self._grown.set()

    def _run(self) -> None:
        while self._grown.wait():
            for pause in self._pauses:
                time.sleep(pause)
                self._grown.clear()
                self.tidy()

    def tidy(self) -> None:
        """Release memory now; a later growth counts from the size then."""
        self._release()
        self._least = self._size()
