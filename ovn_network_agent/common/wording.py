# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Parts of messages for people: numbers, errors, typos, foreign text."""

from collections.abc import Iterable
from collections.abc import Sequence


def plural(noun: str) -> str:
    """The noun with its English ending."""
    return noun + ('es' if noun.endswith('s') else 's')


def count(number: int, one: str, many: str = '') -> str:
    """The number, and the words for it: "1 problem", "2 addresses".

    :param many: the words for all numbers but 1; default: the plural of one
    """
    return f'{number:d} {one if number == 1 else many or plural(one)}'


def first(texts: Sequence[str], most: int, between: str = ', ') -> str:
    """The first texts, and how many more there are: "a, b and 3 more"."""
    more = f' and {len(texts) - most:d} more' if len(texts) > most else ''
    return between.join(texts[:most]) + more


def error(failure: BaseException) -> str:
    """An error without its type; an OSError without its number, with its path.

    Of another error without a text the name of its type.
    """
    if not isinstance(failure, OSError) or not failure.strerror:
        return str(failure) or type(failure).__name__
    if failure.filename is None:
        return str(failure.strerror)
    path = failure.filename
    if isinstance(path, bytes):
        path = path.decode(errors='surrogateescape')
    return (f'{path} does not exist' if isinstance(failure, FileNotFoundError)
            else f'{path}: {failure.strerror}')


def typed_error(unknown: BaseException) -> str:
    """As :func:`error`, with the type of an error that nobody expects."""
    ours = type(unknown).__module__.startswith('ovn_network_agent.')
    return error(unknown) if ours or isinstance(unknown, OSError) else (
        f'{type(unknown).__name__}: {unknown}')


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that is most like another word, as typed by a person."""
    # It takes longer than a command of ovn-network-agent-ctl, and only a typo
    # needs it.
    import difflib
    return next(iter(difflib.get_close_matches(word, known, n=1)), None)


def hint(word: str, known: Iterable[str]) -> str:
    """``'; did you mean WORD?'``, or '' when no known word is like it."""
    close = nearest(word, known)
    return f'; did you mean {close}?' if close else ''


# Whoever may rename a router in Neutron, or set the host name of a chassis,
# writes text that operators read.  A line feed would begin a line of its own
# in a log, an escape sequence change the screen, and a change of the direction
# of writing show other words than there are.

def one_line(text: str) -> str:
    """A text in one line, with escapes for what a terminal or log obeys."""
    return text if text.isprintable() else ''.join(map(_escaped, text))


def indented(text: str) -> str:
    """As :func:`one_line`, in lines, of which all but the first are indented.
    """
    return text if text.isprintable() else ''.join(
        '\n  ' if character == '\n' else _escaped(character)
        for character in text)


def _escaped(character: str) -> str:
    return (character if character.isprintable()
            else character.encode('unicode_escape').decode())
