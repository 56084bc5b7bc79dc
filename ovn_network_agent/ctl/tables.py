# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Tables and colours for people at a terminal."""

from collections.abc import Sequence
import os
from typing import TextIO

#: Colours by their meaning, as SGR parameters of ECMA-48.
GOOD, WARNING, BAD, DIM = '32', '33', '31', '2'
#: of the verdicts of a diagnosis
VERDICTS = {'OK': GOOD, 'WARN': WARNING, 'BROKEN': BAD, 'NOT CHECKED': DIM}


def coloured(text: str, colour: str, stream: TextIO) -> str:
    """A text in a colour, if the stream and NO_COLOR (no-color.org) let it."""
    if not (colour and text and wants_colour(stream)):
        return text
    return f'\x1b[{colour}m{text}\x1b[0m'


def wants_colour(stream: TextIO) -> bool:
    """Whether a file is a terminal that shows colours."""
    return (stream.isatty() and not os.environ.get('NO_COLOR') and
            os.environ.get('TERM') != 'dumb')


def render(header: list[str], rows: Sequence[list[str]]) -> str:
    """A table with aligned columns, without lines; texts may have colours."""
    # The import takes longer than most commands.
    import prettytable
    made = prettytable.PrettyTable(header, align='l', border=False)
    made.left_padding_width, made.right_padding_width = 0, 2
    made.add_rows(rows)
    return '\n'.join(line.rstrip() for line
                     in made.get_string().splitlines()) + '\n'
