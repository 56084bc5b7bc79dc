# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The command plan: what the running agent would change now."""

import argparse
import json
import sys
from typing import Any
from typing import NoReturn
from typing import TextIO

from ovn_network_agent.control.socket import client
from ovn_network_agent.ctl import exit_status
from ovn_network_agent.ctl import parsing
from ovn_network_agent.ctl import socket_path
from ovn_network_agent.ctl import tables

# The exit statuses of this command alone; see the epilog.
SAME = 0
DIFFERENT = 2

# Seconds for an answer of the agent, which waits for slow systems.
ANSWER = 300.0
_SIGNS = {'create': '+', 'update': '~', 'delete': '-'}
_COLOURS = {'create': tables.GOOD, 'update': tables.WARNING,
            'delete': tables.BAD}
_EPILOG = """\
exit status, of this command alone: 0 there is no difference; 2 there is one;
1 something else: refused, failed, a system could not be read, or the command
line or the configuration cannot be used; 4 no agent runs
"""


def add(commands: parsing.Commands) -> None:
    """Add the command to the command line."""
    plan = commands.add_parser(
        'plan', help='what the running agent would '
        'change now, after all systems have been read again', epilog=_EPILOG,
        description='Compare what the running agent wants with what there '
        'is, and change nothing.',
        formatter_class=argparse.RawDescriptionHelpFormatter)
    # argparse ends the program with 2.
    plan.error = (  # type: ignore[method-assign]
        lambda message: _refuse(plan, message))
    plan.add_argument('--json', action='store_true',
                      help='for programs; the keys are documented')
    plan.set_defaults(function=run)


def _refuse(plan: argparse.ArgumentParser, message: str) -> NoReturn:
    """End the program; 2 says of this command that there is a difference."""
    plan.print_usage(sys.stderr)
    plan.exit(exit_status.FAILED, f'{plan.prog}: error: {message}\n')


def run(args: argparse.Namespace) -> int:
    """Print the differences."""
    try:
        path = socket_path.find(args)
    except socket_path.errors_of_configuration(socket_path.NoSocket) as e:
        return exit_status.fail(f'configuration: {e}', exit_status.FAILED)
    found = json.loads(client.call(path, 'plan', [], ANSWER))
    if args.json:
        print(json.dumps(found, indent=2))
    else:
        sys.stdout.write(text(found, sys.stdout))
    for name, reason in sorted(found['unreadable'].items()):
        exit_status.fail(f'{name} could not be read: {reason}',
                         exit_status.FAILED)
    if found['steps']:
        return DIFFERENT
    return exit_status.FAILED if found['unreadable'] else SAME


def text(found: dict[str, Any], stream: TextIO) -> str:
    """The differences in lines, by backend."""
    lines = []
    for name in dict.fromkeys(step['backend'] for step in found['steps']):
        lines.append(f'{name}:')
        lines += [_line(step, stream) for step in found['steps']
                  if step['backend'] == name]
    lines += [f'! {problem}' for problem in found['problems']]
    counts = found['counts']
    lines.append(
        f'{counts["create"]:d} to create, {counts["update"]:d} to update, '
        f'{counts["delete"]:d} to delete; nothing was changed')
    return '\n'.join(lines) + '\n'


def _line(step: dict[str, Any], stream: TextIO) -> str:
    verb = step['verb']
    sign = tables.coloured(_SIGNS[verb], _COLOURS[verb], stream)
    was = f' (was {step["was"]})' if verb == 'update' else ''
    why = f': {step["reason"]}' if step['reason'] else ''
    return f'  {sign} {step["kind"]} {step["will"] or step["was"]}{was}{why}'
