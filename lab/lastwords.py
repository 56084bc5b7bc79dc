# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.
"""What the kernel of a lab machine says, kept on the host as it comes.

The machine writes to a pipe; a thread of the program that booted the machine
copies the pipe to a file.  So the last words are there also when the kernel
dies of itself or is killed.
"""

import contextlib
import os
import sys
import threading

# Bytes of the two files together: a kernel that repeats one warning for ever
# writes megabytes, and the last words are what counts.
LIMIT = 512 * 1024
# Added to the name of the file with the older half.
OLDER = '.old'
# Seconds for the rest of the pipe, when the machine has ended.
_REST = 10


class Keeper:
    """Copies the console of the kernel to a file of bounded size.

    When the file has half of the bytes that are allowed it is renamed, and a
    new one begins.

    :param path: of the file; an earlier one is replaced
    :param limit: bytes of the file and the older one together
    :param shown: copy everything to standard error, too
    :ivar fd: where the machine writes to
    """

    def __init__(self, path, limit=LIMIT, shown=False):
        self._path = path
        self._half = limit // 2
        self._shown = shown
        self._read_end, self.fd = os.pipe()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path + OLDER)
        self._file = open(path, 'wb', buffering=0)
        self._thread = threading.Thread(target=self._copy, daemon=True)

    def start(self):
        """The machine has been started and holds the pipe."""
        os.close(self.fd)
        self._thread.start()

    def close(self):
        """The machine has ended: take what is left in the pipe."""
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
        """The last lines.

        :param lines: how many at most
        :returns: str
        """
        text = ''
        for path in (self._path + OLDER, self._path):
            with contextlib.suppress(FileNotFoundError):
                with open(path, encoding='utf-8',
                          errors='replace') as opened:
                    text += opened.read()
        return ''.join(text.splitlines(keepends=True)[-lines:])
