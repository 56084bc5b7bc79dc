# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The command log-level."""

import argparse
import sys

from ovn_network_agent.control import seconds_option
from ovn_network_agent.control.socket import client
from ovn_network_agent.ctl import exit_status
from ovn_network_agent.ctl import parsing
from ovn_network_agent.ctl import socket_path

LEVELS = ('debug', 'info', 'warn', 'error')
# Seconds for an answer of the agent.
_ANSWER = 10.0


def add(commands: parsing.Commands) -> None:
    """Add the command to the command line."""
    level = commands.add_parser(
        'log-level', help='show or set the log level of the running agent',
        description='Show or set the log level of the running agent. A set '
        'level lasts until the next reload, or for the given time.')
    level.add_argument('level', nargs='?', choices=LEVELS, metavar='LEVEL',
                       help='debug, info, warn or error; without a level the '
                       'command shows the present level')
    level.add_argument('--logger', default='', metavar='NAME',
                       help='only this logger and those below, by the name '
                       'that the log has; default: all')
    level.add_argument('--for', dest='seconds', type=seconds_option.positive,
                       metavar='SECONDS', help='set the former level again '
                       'after this time; default: at the next reload')
    level.add_argument('--json', action='store_true',
                       help='for programs; the keys are documented')
    level.set_defaults(function=run)


def run(args: argparse.Namespace) -> int:
    """Show or set the level."""
    argv = [args.level] if args.level else []
    if args.logger:
        argv += ['--logger', args.logger]
    if args.seconds is not None:
        argv += ['--for', str(args.seconds)]
    if args.json:
        argv.append('--json')
    answer = client.call(socket_path.find(args), 'log-level', argv, _ANSWER)
    sys.stdout.write(answer)
    if args.json:
        print()
    return exit_status.OK
