# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""The messages in a stream of JSON-RPC, and their values.

The parser of python-ovs is a program of Python that looks at each character.
Its parser in C is part of some distributions' packages alone.  Here the
messages are cut by the braces outside of strings, which takes one look at each
piece, and the parser of the standard library reads each message as a whole.
"""

import json
import re
import typing
from typing import Any

from ovs import json as ovs_json

# A backslash is followed by one more byte of the string.
_ESCAPE = re.compile(rb'\\.', re.DOTALL)
_BRACE = re.compile(rb'[{}]')
# The end of one message and the begin of the next, which is nowhere else.
_BETWEEN = re.compile(rb'}\s*{')
_SPACE = b' \t\r\n'


class Malformed(Exception):
    """A stream that is no row of JSON objects; the text names the error."""


class Framer:
    """Cuts a stream into JSON objects."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        # Open braces, whether a string is open, and whether the last byte was
        # a backslash in it.
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
        # Every other part is in a string, which has no braces that count.
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
        """Cut after each object.

        :returns: the bytes behind the last object
        """
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
    """A text that begins an object, or nothing, without space before."""
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
            # The library's parser refuses one half of a surrogate pair, which
            # no other text could be made of.
            found = ovs_json.from_string(text.decode())
            if isinstance(found, str):
                raise Malformed(found)
            return found
        return json.loads(text.decode(), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise Malformed(str(error)) from error


def _refuse(name: str) -> typing.NoReturn:
    raise ValueError(f'{name} is not JSON')
