# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The commands of the control socket: their names and their arguments."""

import argparse
from collections.abc import Callable
from collections.abc import Mapping
import functools
import json
import typing
from typing import Any
from typing import NoReturn

from ovn_network_agent import version
from ovn_network_agent.control.reports import screen
from ovn_network_agent.control.reports import text
from ovn_network_agent.control.socket import protocol

if typing.TYPE_CHECKING:
    from ovn_network_agent.control import drains as maintaining

# The answer, by a strict parser and what the client sent.
Function = Callable[[argparse.ArgumentParser, list[str]], str]
Command = tuple[str, Function]  # usage first
_Function = Callable[[protocol.Client, argparse.ArgumentParser, list[str]],
                     str]


class Refused(Exception):
    """A command is refused; the text says why, and the remedy."""


class _Arguments(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Refused(f'{self.prog}: {message}; usage: {self.usage}')


def arguments(name: str, usage: str) -> argparse.ArgumentParser:
    """A parser that refuses what it does not know.

    It knows --json where the usage has it; some answers are always JSON.
    """
    made = _Arguments(prog=name, usage=f'{name} {usage}', add_help=False,
                      allow_abbrev=False)
    if '[--json]' in usage:
        made.add_argument('--json', action='store_true')
    return made


class Table:
    """The socket's commands; ``report`` as :func:`report.build`."""

    def __init__(self, maintenance: 'maintaining.Maintenance',
                 report: Callable[[], dict[str, Any]],
                 more: Mapping[str, Command] | None = None) -> None:
        self._maintenance = maintenance
        self._report = report
        self._commands: dict[str, tuple[str, _Function]] = {
            'drain': ('[--router ROUTER]... [--force] [--json]',
                      self._drain),
            'undrain': ('[--router ROUTER]... [--json]',
                        functools.partial(self._drain, ends=True)),
            'status': ('[--verbose] [--json]', self._status),
            'version': ('', self._version),
            'list-commands': ('', self._list),
            'help': ('', self._list),
            'set-options': ('[--format text|json]', self._set_options),
            **{name: (usage, lambda _connection, *args, run=function: run(
                *args)) for name, (usage, function) in (more or {}).items()}}

    def run(self, connection: protocol.Client, name: str, argv: list[Any]
            ) -> str:
        """Carry out a command.

        :raises Refused: when the command cannot or must not be carried out
        """
        if name not in self._commands:
            raise Refused(f'"{name}" is not a valid command; "list-commands" '
                          'names those that are')
        if not all(isinstance(arg, str) for arg in argv):
            raise Refused(f'"{name}" command has non-string argument')
        usage, function = self._commands[name]
        return function(connection, arguments(name, usage), argv)

    # -- commands ---------------------------------------------------------

    def _drain(self, _connection: protocol.Client,
               arguments: argparse.ArgumentParser, argv: list[str],
               ends: bool = False) -> str:
        arguments.add_argument('--router', action='append', default=[])
        if not ends:
            arguments.add_argument('--force', action='store_true')
        args = arguments.parse_args(argv)
        done = (self._maintenance.undrain(args.router) if ends else
                self._maintenance.drain(args.router, args.force))
        return _json(done) if args.json else text.of_change(done)

    def _status(self, _connection: protocol.Client,
                arguments: argparse.ArgumentParser, argv: list[str]) -> str:
        arguments.add_argument('--verbose', action='store_true')
        args = arguments.parse_args(argv)
        found = self._report()
        return (_json(found) if args.json else
                screen.of_status(found, args.verbose))

    def _version(self, _connection: protocol.Client,
                 arguments: argparse.ArgumentParser, argv: list[str]) -> str:
        arguments.parse_args(argv)
        return f'{version.PACKAGE} {version.STRING}'

    def _list(self, _connection: protocol.Client,
              arguments: argparse.ArgumentParser, argv: list[str]) -> str:
        arguments.parse_args(argv)
        lines = [f'  {name:<23} {usage}'.rstrip() for name, (usage, _function)
                 in sorted(self._commands.items())]
        return '\n'.join(['The available commands are:', *lines, ''])

    def _set_options(self, connection: protocol.Client,
                     arguments: argparse.ArgumentParser, argv: list[str]
                     ) -> str:
        arguments.add_argument('--format', choices=('text', 'json'),
                               default='text', type=str.lower)
        connection.json = arguments.parse_args(argv).format == 'json'
        return ''


def _json(value: object) -> str:
    return json.dumps(value, indent=2, sort_keys=True)
