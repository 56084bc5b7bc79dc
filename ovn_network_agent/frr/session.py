# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A session with one daemon of FRR, and the lines that it gets at once.

In the protocol of vtysh, commands end with a zero byte; an answer is text,
three zero bytes and a status.
"""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
import errno
import os
import socket
import time
from typing import Any

from ovn_network_agent.common import unix_sockets

SUFFIX = '.vty'
SUCCESS = 0
_MARK = b'\0\0\0'
#: status and text
Answer = tuple[int, str]
# Lines at an unknown speed: a route takes 0.2 ms on a common machine, 1.4 ms
# on a very slow one, so within 10 s.
_UNKNOWN = 2500
# seconds for each transaction, by the speed of the one before
_BUSY = 2.0
# by this factor the last may be longer, so that no short one follows
_LAST = 1.25
# seconds that a route takes at least, for a clock that stands
_QUICKEST = 0.0001
# tells the speed: fewer lines take most time for present routes
_MIN_SAMPLE = 1000
# seconds for which a speed counts, as FRR or the machine may be busy
_RECENT = 10.0


def daemons(directory: str) -> list[str]:
    """Names of the daemons with a socket; OSError for a bad directory."""
    return [entry.removesuffix(SUFFIX) for entry in os.listdir(directory)
            if entry.endswith(SUFFIX)]


class Session:
    """A connection to one daemon; any call raises OSError without an answer.

    :param directory: with the sockets of the daemons
    :param limit: seconds that the caller waits for, for messages
    :param deadline: monotonic seconds, the limit for all answers
    """

    def __init__(self, directory: str, name: str, limit: float,
                 deadline: float) -> None:
        self._name = name
        self._limit = limit
        self._deadline = deadline
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._connect(os.path.join(directory, name + SUFFIX))
        except BaseException:
            self.close()
            raise

    def ask(self, command: str) -> Answer:
        """Run a command; the text of a failure is never empty."""
        return self.ask_all([command])[0]

    def ask_all(self, commands: Sequence[str]) -> list[Answer]:
        """Run commands, which the daemon gets at once; see :meth:`ask`."""
        return [(status, text if text or status == SUCCESS
                 else f'status {status} of {self._name}')
                for status, text in self.exchange_all(commands)]

    def exchange(self, command: str) -> Answer:
        """Run a command; the answer is that of the daemon."""
        return self.exchange_all([command])[0]

    def exchange_all(self, commands: Sequence[str]) -> list[Answer]:
        """As :meth:`exchange`, with commands that the daemon gets at once."""
        self.send(commands)
        return self.receive(len(commands))

    def send(self, commands: Sequence[str]) -> None:
        """Send commands, whose answers :meth:`receive` has to take."""
        self._in_time(self._socket.sendall, b''.join(
            command.encode() + b'\0' for command in commands))

    def receive(self, count: int) -> list[Answer]:
        """Receive the answers to commands that were sent."""
        received, looked = bytearray(), 0
        answers: list[Answer] = []
        while len(answers) < count:
            data = self._in_time(self._socket.recv, 65536)
            if not data:
                raise ConnectionResetError(
                    errno.ECONNRESET, f'{self._name} of FRR has ended')
            received += data
            # An answer may have megabytes, so each part is looked at once.
            while (end := received.find(_MARK, looked)) >= 0 and (
                    len(received) > end + len(_MARK)):
                answers.append((
                    received[end + len(_MARK)],
                    received[:end].decode(errors='replace').strip()))
                del received[:end + len(_MARK) + 1]
                looked = 0
            looked = max(0, len(received) - len(_MARK))
        return answers

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def _connect(self, path: str) -> None:
        try:
            self._within_limit(lambda where: unix_sockets.connect(
                self._socket, where, self._deadline), path)
        except (ConnectionRefusedError, FileNotFoundError) as error:
            # the kernel's text does not say who refused
            raise type(error)(
                error.errno, f'{self._name} of FRR takes no connections, so '
                f'it does not run or only starts: {error.strerror}') from error

    def _in_time(self, function: Callable[[Any], Any], argument: Any) -> Any:
        self._socket.settimeout(self._left())
        return self._within_limit(function, argument)

    def _left(self) -> float:
        # a timeout of 0 would have another meaning
        return max(0.001, self._deadline - time.monotonic())

    def _within_limit(self, function: Callable[[Any], Any],
                      argument: Any) -> Any:
        try:
            return function(argument)
        except (TimeoutError, BlockingIOError) as error:
            raise TimeoutError(
                errno.ETIMEDOUT, f'{self._name} of FRR did not answer within '
                f'{self._limit} s: it hangs, or another program '
                'holds its configuration lock') from error


class BatchSize:
    """How many lines FRR gets in one transaction, by its speed in the last.

    Each transaction also costs time for the routes that are there, but
    meanwhile the daemon answers nobody, and watchfrr restarts it after 10 s
    (watchfrr(8), --timeout).

    :param clock: monotonic seconds
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        # seconds for a line, and until when they count
        self._known: tuple[float, float] | None = None

    def forget(self) -> None:
        """Take the speed for unknown, as at the start."""
        self._known = None

    def parts(self, lines: list[str]) -> Iterator[list[str]]:
        """Parts for one transaction each; a caller that does not come back for
        the next one makes the speed unknown.
        """
        while lines:
            size = self._size(len(lines))
            some, lines = lines[:size], lines[size:]
            before, self._known = self._known, None
            began = self._clock()
            yield some
            self._known = before
            self._note(len(some), began)

    def _size(self, left: int) -> int:
        at_most = _UNKNOWN
        if self._known is not None and self._clock() < self._known[1]:
            at_most = max(_UNKNOWN, int(_BUSY / self._known[0]))
        return left if left <= at_most * _LAST else at_most

    def _note(self, count: int, began: float) -> None:
        if count >= _MIN_SAMPLE:
            now = self._clock()
            self._known = (max((now - began) / count, _QUICKEST),
                           now + _RECENT)
