# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""JSON-RPC sessions of python-ovs with a faster ``recv()``.

A session also takes questions, answered in the order of the updates.

The parser of python-ovs looks at each character in Python, and few have its
parser in C.  Here messages are cut by braces outside of strings, and the
standard library parses each.
"""

import collections
from collections.abc import Callable
import errno
import json
import os
import re
import typing
from typing import Any

from oslo_log import log as logging
from ovs import json as ovs_json
from ovs import jsonrpc

LOG = logging.getLogger(__name__)

_CHUNK = 65536  # bytes read at once; a record of TLS has at most 16 KiB
_ESCAPE = re.compile(rb'\\.', re.DOTALL)
_BRACE = re.compile(rb'[{}]')
_BETWEEN = re.compile(rb'}\s*{')  # Between two messages, and nowhere else
_SPACE = b' \t\r\n'


class Connection(jsonrpc.Connection):
    """A connection whose messages :class:`Framer` cuts and reads."""

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self._framer = Framer()
        self._texts: collections.deque[bytes] = collections.deque()

    def recv(self) -> tuple[int, Any]:
        """The next message, without a wait.

        :returns: (0, ovs.jsonrpc.Message), or (errno, None): EAGAIN without a
            whole message, else the end of the connection
        """
        while not self.status:
            if self._texts:
                return self._message()
            error, data = self.stream.recv(_CHUNK)
            if error == errno.EAGAIN:
                return error, None
            if error or not data:
                self._end(error)
            else:
                self.received_bytes += len(data)
                self._take(data)
        return self.status, None

    def recv_wait(self, poller: Any) -> None:
        """Have the poller wake when :meth:`recv` has something to do."""
        if self.status or self._texts:
            poller.immediate_wake()
        else:
            self.stream.recv_wait(poller)

    def _end(self, error: int) -> None:
        if error:
            LOG.warning('%s: receive error: %s', self.name,
                        os.strerror(error))
        self.error(error or jsonrpc.EOF)

    def _take(self, data: bytes) -> None:
        try:
            self._texts.extend(self._framer.feed(data))
        except Malformed as error:
            self._refuse(error)

    def _message(self) -> tuple[int, Any]:
        try:
            found = jsonrpc.Message.from_json(
                value(self._texts.popleft()))
        except Malformed as error:
            found = str(error)
        if isinstance(found, jsonrpc.Message):
            return 0, found
        self._refuse(found)
        return self.status, None

    def _refuse(self, reason: object) -> None:
        LOG.warning('%s: received what is no message of JSON-RPC: %s',
                    self.name, reason)
        self.error(errno.EPROTO)


class Session(jsonrpc.Session):
    """A session whose connections are of :class:`Connection`."""

    rpc: Any

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._questions: dict[Any, Callable[[Any], object]] = {}

    @classmethod
    def in_place_of(cls, session: Any) -> typing.Self:
        """A session in the place of one that has not begun to connect."""
        made = cls(session.reconnect, None, session.remotes)
        made.pick_remote()
        return made

    def run(self) -> None:
        """As in the library, which makes connections of its own class."""
        super().run()
        if self.rpc is not None and not isinstance(self.rpc, Connection):
            made = Connection(self.rpc.stream)  # Nothing has been received yet
            made.output = self.rpc.output
            self.rpc = made

    def ask(self, request: Any, answered: Callable[[Any], object]) -> None:
        """Send a request whose answer is not for the IDL.

        :param answered: called with its ovs.jsonrpc.Message after all earlier
            updates; with None for no answer
        """
        self._questions[request.id] = answered
        if self.send(request):
            self._questions.pop(request.id)(None)

    def give_up(self) -> None:
        """Expect no answer any more to what was asked so far."""
        while self._questions:
            self._questions.popitem()[1](None)

    def recv(self) -> Any:
        """As in the library, without answers to questions."""
        found = super().recv()
        while found is not None and found.id in self._questions and (
                found.type in (jsonrpc.Message.T_REPLY,
                               jsonrpc.Message.T_ERROR)):
            self._questions.pop(found.id)(found)
            found = super().recv()
        return found


class Malformed(Exception):
    """A stream that is no row of JSON objects; the text names the error."""


class Framer:
    """Cuts a stream into JSON objects."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        # Open braces; in a string; behind a backslash there.
        self._depth = 0
        self._quoted = False
        self._escaped = False

    def feed(self, data: bytes) -> list[bytes]:
        """Take the next bytes.

        :raises Malformed: for something else than objects
        """
        if not data:
            return []
        plain = self._without_escapes(data)
        # Every other part is in a string, whose braces do not count.
        parts = plain.split(b'"')
        unquoted = b''.join(parts[self._quoted::2])
        after = self._depth + unquoted.count(b'{') - unquoted.count(b'}')
        found: list[bytes] = []
        if self._depth == 0 or after <= 0 or _BETWEEN.search(unquoted):
            data = self._cut(data, parts, found)
        else:
            self._depth = after
        if data:
            self._chunks.append(data)
        self._quoted ^= len(parts) % 2 == 0
        return found

    def _without_escapes(self, data: bytes) -> bytes:
        """The same number of bytes, without quotes that end no string."""
        plain = data
        if self._escaped:
            plain = b'_' + data[1:]
        if b'\\' in plain:
            plain = _ESCAPE.sub(b'__', plain)
        self._escaped = plain.endswith(b'\\')
        return plain

    def _cut(self, data: bytes, parts: list[bytes],
             found: list[bytes]) -> bytes:
        """Cut after each object; the bytes behind the last one."""
        begin = offset = 0
        quoted = self._quoted
        for part in parts:
            if not quoted:
                for brace in _BRACE.finditer(part):
                    self._depth += 1 if brace[0] == b'{' else -1
                    if self._depth <= 0:
                        end = offset + brace.end()
                        found.append(self._whole(data[begin:end]))
                        begin = end
            offset += len(part) + 1
            quoted = not quoted
        rest = data[begin:]
        if not self._chunks:
            rest = _begun(rest)
        return rest

    def _whole(self, last: bytes) -> bytes:
        chunks, self._chunks = self._chunks, []
        return _begun(b''.join((*chunks, last)))


def _begun(text: bytes) -> bytes:
    text = text.lstrip(_SPACE)
    if text and not text.startswith(b'{'):
        raise Malformed(f'{text[:20]!r} begins no JSON object')
    return text


def value(text: bytes) -> Any:
    """The value of a JSON object, as the parser of python-ovs gives it.

    :raises Malformed: when the text is not JSON
    """
    try:
        if b'\\u' in text:
            # The library refuses one half of a surrogate pair, of which no
            # other text could be made.
            found = ovs_json.from_string(text.decode())
            if isinstance(found, str):
                raise Malformed(found)
            return found
        return json.loads(text.decode(), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise Malformed(str(error)) from error


def _refuse(name: str) -> typing.NoReturn:
    raise ValueError(f'{name} is not JSON')
