# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The commands of the control socket: their names and their arguments."""

import argparse
import json

from ovn_network_agent import version
from ovn_network_agent.control import text


class Refused(Exception):
    """A command is refused; the text says why, and the remedy."""


class _Arguments(argparse.ArgumentParser):
    """Refuses wrong arguments, instead of ending the program."""

    def error(self, message):
        raise Refused(f'{self.prog}: {message}; usage: {self.usage}')


def arguments(name, usage):
    """A parser that refuses what it does not know.

    :param name: name of the command
    :param usage: its arguments, for the message
    :returns: argparse.ArgumentParser
    """
    return _Arguments(prog=name, usage=f'{name} {usage}',
                      add_help=False, allow_abbrev=False)


class Table:
    """The commands of the control socket.

    :param maintenance: :class:`maintenance.Maintenance`
    :param report: function without arguments that returns the state of the
        agent, see :func:`report.build`
    :param more: dict of the name of a further command to (usage,
        function(arguments, argv)); ``arguments`` is an argparse parser that
        refuses what it does not know, and the function returns a text
    """

    def __init__(self, maintenance, report, more=()):
        self._maintenance = maintenance
        self._report = report
        self._commands = {
            'drain': ('[--router ROUTER]... [--force] [--json]',
                      self._drain),
            'undrain': ('[--router ROUTER]... [--json]', self._undrain),
            'status': ('[--json]', self._status),
            'version': ('', self._version),
            'list-commands': ('', self._list),
            'help': ('', self._list),
            'set-options': ('[--format text|json]', self._set_options),
            **{name: (usage, _without_connection(function))
               for name, (usage, function) in dict(more).items()}}

    def run(self, connection, name, argv):
        """Carry out a command.

        :param connection: :class:`protocol.Client`
        :param name: str
        :param argv: list, as the client sent it
        :returns: text
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

    def _drain(self, _connection, arguments, argv):
        arguments.add_argument('--router', action='append', default=[])
        arguments.add_argument('--force', action='store_true')
        arguments.add_argument('--json', action='store_true')
        given = arguments.parse_args(argv)
        done = self._maintenance.drain(given.router, given.force)
        return _json(done) if given.json else text.of_change(done)

    def _undrain(self, _connection, arguments, argv):
        arguments.add_argument('--router', action='append', default=[])
        arguments.add_argument('--json', action='store_true')
        given = arguments.parse_args(argv)
        done = self._maintenance.undrain(given.router)
        return _json(done) if given.json else text.of_change(done)

    def _status(self, _connection, arguments, argv):
        arguments.add_argument('--json', action='store_true')
        given = arguments.parse_args(argv)
        found = self._report()
        return _json(found) if given.json else text.of_status(found)

    def _version(self, _connection, arguments, argv):
        arguments.parse_args(argv)
        return f'{version.PACKAGE} {version.STRING}'

    def _list(self, _connection, arguments, argv):
        arguments.parse_args(argv)
        lines = [f'  {name:<23} {usage}'.rstrip() for name, (usage, _function)
                 in sorted(self._commands.items())]
        return '\n'.join(['The available commands are:', *lines, ''])

    def _set_options(self, connection, arguments, argv):
        arguments.add_argument('--format', choices=('text', 'json'),
                               default='text', type=str.lower)
        connection.json = arguments.parse_args(argv).format == 'json'
        return ''


def _without_connection(function):
    return lambda _connection, *args: function(*args)


def _json(value):
    return json.dumps(value, indent=2, sort_keys=True)
