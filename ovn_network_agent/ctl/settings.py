# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The commands reload and log-level: settings of the running agent."""

import argparse
import json
import sys

from ovn_network_agent.control.socket import client
from ovn_network_agent.ctl import program

LEVELS = ('debug', 'info', 'warn', 'error')
# Seconds for an answer of the agent.
_ANSWER = 10.0
_TIMEOUT = 60.0
# Seconds beyond the timeout, within which the agent says that it is over.
_MARGIN = 5.0


def add(commands: program.Commands) -> None:
    """Add both commands to the command line."""
    reload = commands.add_parser(
        'reload', help='read the configuration again, and show what has '
        'changed', description='Read the configuration files and the rules '
        'file again, as SIGHUP does, and print what has changed and what '
        'waits for a restart. With a mistake in one of the files, nothing '
        'changes.')
    reload.add_argument('--wait', action='store_true',
                        help='wait for a complete pass with the new values')
    reload.add_argument('--json', action='store_true',
                        help='print JSON; the keys are documented')
    program.add_timeout(reload, _TIMEOUT, 'for the answer, and for --wait')
    reload.set_defaults(function=_reload)
    _add_log_level(commands)


def _reload(args: argparse.Namespace) -> int:
    """Reload, and print the answer."""
    argv = ['--json', '--timeout', str(args.timeout)]
    if args.wait:
        argv.append('--wait')
    answer = client.call(program.socket_path(args), 'reload', argv,
                         args.timeout + _MARGIN)
    found = json.loads(answer)
    if args.json:
        print(answer)
    else:
        from ovn_network_agent.control.reports import text
        sys.stdout.write(text.of_reload(found))
    sys.stdout.flush()
    if found['refused']:
        return program.fail('reload: refused', program.FAILED)
    if args.wait and not found['in_force']:
        return program.fail(
            f'reloaded, but no complete pass followed within '
            f'{args.timeout:g} s; "status" has the reasons',
            program.WAITED)
    return program.OK


def _add_log_level(commands: program.Commands) -> None:
    level = commands.add_parser(
        'log-level', help='show or set the log level of the running agent',
        description='Show or set the log level of the running agent. A set '
        'level lasts until the next reload, or for the given time.')
    level.add_argument('level', nargs='?', choices=LEVELS, metavar='LEVEL',
                       help='debug, info, warn or error; without a level the '
                       'command shows the present level')
    level.add_argument('--logger', default='', metavar='NAME',
                       help='only this logger and those below, by the name '
                       'in the log; default: all')
    level.add_argument('--for', dest='seconds', type=program.positive,
                       metavar='SECONDS', help='set the former level again '
                       'after this time; default: at the next reload')
    level.add_argument('--json', action='store_true',
                       help='print JSON; the keys are documented')
    level.set_defaults(function=_log_level)


def _log_level(args: argparse.Namespace) -> int:
    """Show or set the level."""
    argv = [args.level] if args.level else []
    if args.logger:
        argv += ['--logger', args.logger]
    if args.seconds is not None:
        argv += ['--for', str(args.seconds)]
    if args.json:
        argv.append('--json')
    answer = client.call(program.socket_path(args), 'log-level', argv, _ANSWER)
    sys.stdout.write(answer)
    if args.json:
        print()
    return program.OK
