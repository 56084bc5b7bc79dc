# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""The messages in a stream of JSON-RPC, and their values.

The parser of python-ovs looks at each character in Python, and few have its
parser in C.  Here messages are cut by braces outside of strings, and the
standard library parses each.
"""

import json
import re
import typing
from typing import Any

from ovs import json as ovs_json

_ESCAPE = re.compile(rb'\\.', re.DOTALL)
_BRACE = re.compile(rb'[{}]')
_BETWEEN = re.compile(rb'}\s*{')  # Between two messages, and nowhere else
_SPACE = b' \t\r\n'


class Malformed(Exception):
    """A stream that is no row of JSON objects; the text names the error."""


class Framer:
    """Cuts a stream into JSON objects."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
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
        bare = b''.join(parts[self._quoted::2])
        after = self._depth + bare.count(b'{') - bare.count(b'}')
        found: list[bytes] = []
        if self._depth == 0 or after <= 0 or _BETWEEN.search(bare):
            data = self._cut(data, parts, found)
        else:
            self._depth = after
        if data:
            self._pieces.append(data)
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
        if not self._pieces:
            rest = _begun(rest)
        return rest

    def _whole(self, last: bytes) -> bytes:
        pieces, self._pieces = self._pieces, []
        return _begun(b''.join((*pieces, last)))


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
