# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What all commands share: parser, exit statuses, way to the agent, output."""

import argparse
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
import itertools
import json
import os
import re
import signal
import sys
import time
from typing import Any
from typing import NoReturn
from typing import TextIO

from ovn_network_agent.common import wording

_CHOICE = re.compile(r"invalid choice: '(?P<given>[^']*)' "
                     r'\(choose from (?P<known>.*)\)')
_WORD = re.compile(r'[\w.-]+')
NAME = 'ovn-network-agent-ctl'

OK = 0
FAILED = 1
USAGE = 2
WAITED = 3
NOT_RUNNING = 4
# explain: another node has the address, or nobody has it.
ELSEWHERE = 5
NOBODY = 6
# drain: addresses could not be withdrawn.
REMAINED = 7
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


class Parser(argparse.ArgumentParser):
    """Names the nearest command or option in the message about a typo.

    argparse makes the parsers of commands of this class, too.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{'allow_abbrev': False, **kwargs})
        self._arguments: list[str] = []

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As in the base class."""
        self._arguments = sys.argv[1:] if args is None else list(args)
        found, unknown = self.parse_known_args(args, namespace)
        if unknown:
            command = self.commands().get(getattr(found, 'command', ''))
            of = [self, command] if command else [self]
            (command or self).error(_unknown(
                unknown, [text for parser in of for text in parser.options()]))
        return found

    def error(self, message: str) -> NoReturn:
        """As in the base class; a wrong choice gets the nearest one."""
        match = _CHOICE.search(message)
        known = list(self.commands())
        if match and known:
            # The value of a misspelt option looks like a command.
            wrong = [word for word in itertools.takewhile(
                lambda word: word != match['given'], self._arguments)
                if word.startswith('-') and
                word.partition('=')[0] not in self.options()]
            message = _unknown(wrong, self.options()) if wrong else (
                f'unknown command {match["given"]!r}, there are '
                f'{", ".join(known)}{wording.hint(match["given"], known)}')
        elif match:
            message += wording.hint(match['given'],
                                    _WORD.findall(match['known']))
        super().error(message)

    def commands(self) -> dict[str, 'Parser']:
        """dict of the name of each command to its :class:`Parser`."""
        return next((action.choices for action in self.actions()
                     if isinstance(action.choices, dict)), {})

    def options(self) -> list[str]:
        """The texts of all options, a list."""
        return [text for action in self.actions()
                for text in action.option_strings]

    def actions(self) -> list[argparse.Action]:
        """The arguments of this parser, a list of argparse.Action."""
        return self._actions


class Commands:
    """Adds commands; each without a description is described by its help."""

    def __init__(self, parser: Parser) -> None:
        self._added = parser.add_subparsers(
            dest='command', required=True, metavar='COMMAND')

    def add_parser(self, name: str, **kwargs: Any) -> Parser:
        """As that of argparse; ``help`` is required."""
        text = kwargs['help']
        return self._added.add_parser(name, **{
            'description': f'{text[0].upper()}{text[1:]}.', **kwargs})


def _unknown(arguments: Iterable[str], known: Iterable[str]) -> str:
    hints = ''.join(wording.hint(word.partition('=')[0], known)
                    for word in arguments)
    return f'unrecognized arguments: {" ".join(arguments)}{hints}'


def fail(message: object, status: int) -> int:
    """Print why a command fails to standard error."""
    print(f'{NAME}: {message}', file=sys.stderr)
    return status


def broken_pipe() -> int:
    """The exit status after the reader of standard output has gone.

    It is that of a shell's after SIGPIPE; the rest is written nowhere, so
    that the end of Python has no message.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 128 + signal.SIGPIPE


class NoSocket(Exception):
    """The configuration switches the control socket off."""


def socket_path(args: argparse.Namespace) -> str:
    """The control socket that the command line or the configuration names.

    :raises NoSocket: when the agent has no control socket
    :raises cfg.Error: for a configuration that cannot be used
    """
    path = args.socket or _configured(args)
    if not path:
        raise NoSocket('[DEFAULT] control_socket is empty: this agent takes '
                       'no commands; set it, or give --socket')
    return path


def errors_of_configuration(*others: type[Exception]
                            ) -> tuple[type[Exception], ...]:
    """The errors of a configuration that cannot be used, and others.

    Those of oslo.config only where it is imported, which takes long.
    """
    cfg = sys.modules.get('oslo_config.cfg')
    return (OSError, ValueError, *others, *((cfg.Error,) if cfg else ()))


def files(args: argparse.Namespace) -> list[str]:
    """The options of the command line that name configuration files."""
    found = []
    for name in ('config_file', 'config_dir'):
        for path in getattr(args, name):
            found += ['--' + name.replace('_', '-'), path]
    return found


def _configured(args: argparse.Namespace) -> str:
    # A command with --socket starts much faster without these imports.
    from oslo_config import cfg

    from ovn_network_agent.conf.options import base
    conf = cfg.ConfigOpts()
    conf.register_opts([option for option in base.OPTS
                        if option.name == 'control_socket'])
    conf(args=files(args), project=base.PROJECT, prog=base.PROJECT)
    path: str = conf.control_socket
    return path


def add_timeout(parser: argparse.ArgumentParser, default: float, what: str
                ) -> None:
    """Add the option --timeout; ``what`` says in the help what it is for."""
    parser.add_argument('--timeout', type=positive, default=default,
                        metavar='SECONDS',
                        help=f'{what}, %(default)g by default')


def positive(value: str) -> float:
    """An argument's seconds; argparse.ArgumentTypeError for others."""
    try:
        number = float(value)
    except ValueError:
        number = 0
    if not 0 < number < float('inf'):
        raise argparse.ArgumentTypeError(
            f'{value!r} is not a number of seconds above 0')
    return number


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


def add_json(parser: Parser) -> None:
    """Add the option --json, for :func:`show`."""
    parser.add_argument('--json', action='store_true',
                        help='print JSON; the keys are documented')


def show(args: argparse.Namespace, found: object, text: Callable[[], str]
         ) -> None:
    """Print an answer as text, or with --json as JSON."""
    if args.json:
        again = getattr(args, 'watch', None)
        print(json.dumps(found, indent=None if again else 2))
    else:
        sys.stdout.write(text())


def add_watch(parser: Parser) -> None:
    """Add the option --watch, for :func:`watched`."""
    parser.add_argument('--watch', nargs='?', type=positive,
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
