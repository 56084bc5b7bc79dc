# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The command reload."""

import argparse
import json
import sys

from ovn_network_agent.control import seconds_option
from ovn_network_agent.control.socket import client
from ovn_network_agent.ctl import exit_status
from ovn_network_agent.ctl import parsing
from ovn_network_agent.ctl import socket_path

_TIMEOUT = 60.0
# Seconds beyond the timeout, within which the agent says that it is over.
_MARGIN = 5.0


def add(commands: parsing.Commands) -> None:
    """Add the command to the command line."""
    reload = commands.add_parser(
        'reload', help='have the agent read its '
        'configuration, and say what has changed', description='Have the '
        'agent read its configuration files and the rules file, as SIGHUP '
        'does, and print what has changed and what waits for a restart. A '
        'mistake in one of the files changes nothing.')
    reload.add_argument('--wait', action='store_true',
                        help='return after a complete pass with the new '
                        'values')
    reload.add_argument('--json', action='store_true',
                        help='for programs; the keys are documented')
    seconds_option.add_timeout(reload, _TIMEOUT,
                               'for the answer, and for --wait')
    reload.set_defaults(function=run)


def run(args: argparse.Namespace) -> int:
    """Reload, and print the answer."""
    argv = ['--json', '--timeout', str(args.timeout)]
    if args.wait:
        argv.append('--wait')
    answer = client.call(socket_path.find(args), 'reload', argv,
                         args.timeout + _MARGIN)
    found = json.loads(answer)
    if args.json:
        print(answer)
    else:
        from ovn_network_agent.control.reports import text
        sys.stdout.write(text.of_reload(found))
    sys.stdout.flush()
    if found['refused']:
        return exit_status.fail('reload: refused', exit_status.FAILED)
    if args.wait and not found['in_force']:
        return exit_status.fail(
            f'reloaded, but no complete pass followed within '
            f'{args.timeout:g} s; "status" has the reasons',
            exit_status.WAITED)
    return exit_status.OK
