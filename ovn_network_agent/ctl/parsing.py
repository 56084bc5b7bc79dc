# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Parser of ovn-network-agent-ctl: it names what a typo probably means."""

import argparse
from collections.abc import Iterable
import itertools
import re
import sys
from typing import Any
from typing import NoReturn

from ovn_network_agent.common import suggestions

_CHOICE = re.compile(r"invalid choice: '(?P<given>[^']*)' "
                     r'\(choose from (?P<known>.*)\)')
_WORD = re.compile(r'[\w.-]+')


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
                f'{", ".join(known)}{suggestions.hint(match["given"], known)}')
        elif match:
            message += suggestions.hint(match['given'],
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
    hints = ''.join(suggestions.hint(word.partition('=')[0], known)
                    for word in arguments)
    return f'unrecognized arguments: {" ".join(arguments)}{hints}'
