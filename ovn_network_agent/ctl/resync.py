# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The command resync: read backends again, and repair at once."""

import argparse
import json
import sys
from typing import Any

from ovn_network_agent.control import seconds_option
from ovn_network_agent.control.socket import client
from ovn_network_agent.ctl import exit_status
from ovn_network_agent.ctl import parsing
from ovn_network_agent.ctl import socket_path

_TIMEOUT = 60.0
# Seconds for the answer of the agent, beyond the wait for the result.
_MORE = 30.0


def add(commands: parsing.Commands) -> None:
    """Add the command to the command line."""
    resync = commands.add_parser(
        'resync', help='have backends read again and '
        'repaired at once')
    resync.add_argument('backend', nargs='*', metavar='BACKEND',
                        help='a name of "status"; default: all')
    resync.add_argument('--force', action='store_true',
                        help='withdraw the addresses that the withdrawal '
                        'guard holds')
    resync.add_argument('--json', action='store_true',
                        help='for programs; the keys are documented')
    seconds_option.add_timeout(resync, _TIMEOUT, 'to wait for the result')
    resync.set_defaults(function=run)


def run(args: argparse.Namespace) -> int:
    """Print what was changed, and what failed."""
    found = json.loads(client.call(
        socket_path.find(args), 'resync',
        [f'--timeout={args.timeout:g}', *(['--force'] * args.force),
         '--', *args.backend],
        args.timeout + _MORE))
    if args.json:
        print(json.dumps(found, indent=2))
    else:
        sys.stdout.write(text(found))
    if found['missing']:
        return exit_status.fail('not carried out in time: '
                                f'{", ".join(found["missing"])}',
                                exit_status.WAITED)
    return exit_status.FAILED if found['failures'] else exit_status.OK


def text(found: dict[str, Any]) -> str:
    """The result in lines."""
    lines = [f'{change["backend"]}: {change["verb"]} {change["kind"]} '
             f'{change["text"]}' for change in found['changes']]
    lines += [f'{failure["backend"]}: failed: {_about(failure)}'
              for failure in found['failures']]
    if found.get('released'):
        lines.append('released by the withdrawal guard: '
                     f'{found["released"]:d} of its addresses')
    lines.append(
        f'{len(found["backends"]):d} backends read, '
        f'{len(found["changes"]):d} changes, '
        f'{len(found["failures"]):d} failures')
    return '\n'.join(lines) + '\n'


def _about(failure: dict[str, Any]) -> str:
    name = f'{failure["kind"]} {failure["ref"]}'.strip()
    return f'{name}: {failure["reason"]}' if name else failure['reason']
