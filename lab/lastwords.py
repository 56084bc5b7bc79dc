# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The messages of a lab machine's kernel, kept on the host.

The machine writes to a pipe; a thread of the program that booted the machine
copies the pipe to a file.  So the last messages are there even if the kernel
dies or is killed.
"""

import contextlib
import os
import sys
import threading

# Most bytes of both files.  A kernel that repeats a warning writes megabytes,
# and only the last messages count.
LIMIT = 512 * 1024
# Added to the name of the file with the older half.
OLDER = '.old'
# Begin of the words of a kernel that gives up.  A dump of its registers and
# its stack follows, which is as long as the stack was deep.
_PANIC = 'Kernel panic - not syncing'
# Seconds for the rest of the pipe, when the machine has ended.
_REST = 10


class Keeper:
    """Copies the console of the kernel to a file of bounded size.

    When the file has half of the allowed bytes, it is renamed, and a new file
    begins.

    :param limit: bytes of the file and the renamed file together
    :ivar fd: file descriptor that the machine writes to
    """

    def __init__(self, path: str, limit=LIMIT, shown: bool = False):
        self._path = path
        self._half = limit // 2
        self._shown = shown
        self._read_end, self.fd = os.pipe()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path + OLDER)
        self._file = open(path, 'wb', buffering=0)
        self._thread = threading.Thread(target=self._copy, daemon=True)

    def start(self):
        """Begin to copy; the machine has been started with the pipe."""
        os.close(self.fd)
        self._thread.start()

    def close(self):
        """Copy the rest of the pipe, after the end of the machine."""
        self._thread.join(_REST)

    def _copy(self):
        while True:
            data = os.read(self._read_end, min(65536, self._half))
            if not data:
                break
            if self._shown:
                os.write(sys.stderr.fileno(), data)
            if self._file.tell() + len(data) > self._half:
                self._turn()
            self._file.write(data)
        os.close(self._read_end)
        self._file.close()

    def _turn(self):
        self._file.close()
        os.replace(self._path, self._path + OLDER)
        self._file = open(self._path, 'wb', buffering=0)

    def tail(self, lines):
        """The last lines, and the line that says why the kernel gave up.

        :returns: str; if the kernel gave up before these lines, the text
            begins with the reason
        """
        text = ''
        for path in (self._path + OLDER, self._path):
            with contextlib.suppress(FileNotFoundError):
                with open(path, encoding='utf-8',
                          errors='replace') as opened:
                    text += opened.read()
        told = text.splitlines(keepends=True)
        cut = max(0, len(told) - lines)
        reasons = [line for line in told[:cut] if _PANIC in line]
        return ''.join(reasons[:1] + told[cut:])
