# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Tables, colours and repeated output for people at a terminal."""

import argparse
from collections.abc import Callable
from collections.abc import Sequence
import os
import sys
import time
from typing import TextIO

from ovn_network_agent.ctl import program

_INTERVAL = 2.0
# Clears the screen, and puts the cursor to its corner (ECMA-48).
_CLEAR = '\x1b[2J\x1b[H'
#: Colours by their meaning, as SGR parameters of ECMA-48.
GOOD, WARNING, BAD, DIM = '32', '33', '31', '2'
#: of the verdicts of a diagnosis
VERDICTS = {'OK': GOOD, 'WARN': WARNING, 'BROKEN': BAD, 'NOT CHECKED': DIM}
# States of addresses, resources and intents.
_STATES = {'announced': GOOD, 'in place': GOOD, 'created': GOOD,
           'failed': BAD, 'refused': BAD, 'unreachable': BAD,
           'disputed': BAD, 'conflict': BAD, 'error': BAD,
           'waiting': WARNING, 'waits': WARNING, 'held': WARNING,
           'pending': WARNING, 'omitted': DIM, 'withheld': DIM,
           'ready': GOOD, 'degraded': WARNING, 'not ready': BAD, 'ok': GOOD,
           'Established': GOOD, 'serving': GOOD, 'up': GOOD, 'silent': BAD,
           'gone': BAD, 'no owner': BAD, 'not announced': WARNING,
           'unknown': WARNING}


def coloured(text: str, colour: str, stream: TextIO) -> str:
    """A text in a colour, if the stream and NO_COLOR (no-color.org) let it."""
    if not (colour and text and wants_colour(stream)):
        return text
    return f'\x1b[{colour}m{text}\x1b[0m'


def painter(stream: TextIO) -> Callable[[str, str], str]:
    """Gives a text the colour of a state, for one file."""
    return lambda text, state: coloured(text, _STATES.get(state, ''), stream)


def state(text: str, stream: TextIO) -> str:
    """A state in its colour; '-' for none."""
    return coloured(text or '-', _STATES.get(text, ''), stream)


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


def add_watch(parser: program.Parser) -> None:
    """Add the option --watch, for :func:`watched`."""
    parser.add_argument('--watch', nargs='?', type=program.positive,
                        const=_INTERVAL, metavar='SECONDS',
                        help='repeat, every %(const)g seconds by default')


def watched(args: argparse.Namespace, show: Callable[[str], int]) -> int:
    """Show something once, or again and again with --watch.

    :param show: shows the present state after the given head; the exit status
    """
    while True:
        head = ''
        if args.watch is not None and not args.json:
            head = (_CLEAR if sys.stdout.isatty() else
                    time.strftime('%Y-%m-%dT%H:%M:%SZ\n', time.gmtime()))
        status = show(head)
        sys.stdout.flush()
        if args.watch is None:
            return status
        time.sleep(args.watch)
