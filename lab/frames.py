# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The frames that a console of the machine carries, both ways.

A frame is one letter, its length in four bytes, and its content.  Requests and
input go to the machine; output and the exit status come back.  So one byte
stream carries a whole session.
"""

import json
import os
import struct

REQUEST = b'R'  # to the machine: JSON, see lab.console
INPUT = b'D'
INPUT_END = b'E'
WINDOW = b'W'  # JSON: [rows, columns]
SIGNAL = b'G'  # text: number, for the program
HANGUP = b'K'  # the client is gone
HELLO = b'H'  # from the machine, once: the console can be used
ACCEPTED = b'A'
READ = b'B'  # text: so many bytes were read from the console; for the bridge
TAKEN = b'T'  # text: so many bytes of input were passed on, or dropped
OUTPUT = b'O'
ERRORS = b'S'
EXIT = b'X'  # exit status as text; ends the session
FAILED = b'F'  # text; ends the session

LAST = (EXIT, FAILED)
CHUNK = 2048
# Most bytes on the way that the machine has not read.  The terminal of a
# console buffers 4096 bytes.  When this buffer is full, user-mode Linux stops
# to listen to the console for good (Linux 6.12).
ROOM = 2048
# Most bytes of input that a client may send before the machine has taken any.
# So each side can store all frames, and a program that does not read its input
# blocks neither its output nor its end.
CREDIT = 32768
_HEAD = struct.Struct('>cI')


def pack(kind, content=b''):
    """One frame as bytes."""
    return _HEAD.pack(kind, len(content)) + content


def pack_json(kind, value):
    """A frame with a JSON value."""
    return pack(kind, json.dumps(value).encode())


def send(fd, data):
    """Write all data."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view):]


class Reader:
    """Puts frames together from what arrives."""

    def __init__(self, fd):
        self._fd = fd
        self._buffer = b''
        self.count = 0  # bytes of the last read

    def read(self) -> list[tuple[bytes, bytes]]:
        """Read once; blocks when nothing has arrived.

        :raises EOFError: at the end of the stream
        """
        data = os.read(self._fd, 65536)
        self.count = len(data)
        if not data:
            raise EOFError
        self._buffer += data
        frames = []
        while len(self._buffer) >= _HEAD.size:
            kind, length = _HEAD.unpack_from(self._buffer)
            end = _HEAD.size + length
            if len(self._buffer) < end:
                break
            frames.append((kind, self._buffer[_HEAD.size:end]))
            self._buffer = self._buffer[end:]
        return frames
