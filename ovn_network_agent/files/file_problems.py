# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The flaws of a file, in words for an operator."""

from collections.abc import Collection
from collections.abc import Sequence
import typing

from ovn_network_agent.common import wording
from ovn_network_agent.conf import validate

#: Of a value: keys and indexes.
Path = tuple[str | int, ...]
_SHOWN = 60


class Flaw(typing.NamedTuple):
    """One flaw of a file."""

    line: int  # from 1
    path: Path
    value: object  # :data:`NOTHING` to leave it out of the message
    text: str  # the flaw and the remedy

    def say(self, name: str) -> str:
        """The message for the operator."""
        where = where_is(self.path)
        if where and self.value is not NOTHING:
            where += f' = {shown(self.value)}'
        if where:
            where += ': '
        return f'{name}, line {self.line:d}: {where}{self.text}'


NOTHING = object()


class BadFile(validate.ConfigError):
    """A file cannot be used: each message with file, line, value, remedy."""


def where_is(path: Path) -> str:
    """A path as text, such as ``port_forwards[0].rules[1].port``."""
    text = ''
    for step in path:
        text += f'[{step:d}]' if isinstance(step, int) else f'.{step}'
    return text.removeprefix('.')


def shown(value: object) -> str:
    """A value in few characters, in the notation of YAML."""
    if value is None:
        return 'null'
    if isinstance(value, bool):
        return 'true' if value else 'false'
    if isinstance(value, dict):
        return 'a mapping'
    if isinstance(value, list):
        return 'a list'
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN - 3] + '...'


def meant(name: str, known: Collection[str]) -> str:
    """The known name nearest to a name, as the end of a sentence."""
    close = wording.nearest(name.lower(), known)
    return (f'did you mean "{close}"?' if close else
            f'known are {", ".join(sorted(known))}')


def first(messages: Sequence[str]) -> str:
    """The first of some messages, and how many more there are."""
    more = len(messages) - 1
    return messages[0] + (f' (and {more} more, see the log)' if more else '')
