# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""Text of others without the characters that a terminal or a log obeys.

Whoever may rename a router in Neutron, or set the host name of a chassis,
writes text that operators read.  A line feed would begin a line of its own in
a log, an escape sequence change the screen, and a change of the direction of
writing show other words than there are.
"""


def line(text: str) -> str:
    """A text in one line, with escapes in the place of such characters."""
    return text if text.isprintable() else ''.join(map(_escaped, text))


def lines(text: str) -> str:
    """A text of several lines, of which all but the first are indented."""
    return text if text.isprintable() else ''.join(
        '\n  ' if character == '\n' else _escaped(character)
        for character in text)


def _escaped(character: str) -> str:
    return (character if character.isprintable()
            else character.encode('unicode_escape').decode())
