# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The command health, for the health check of a container."""

import argparse
import json

from ovn_network_agent.control import seconds_option
from ovn_network_agent.control.socket import client
from ovn_network_agent.ctl import exit_status
from ovn_network_agent.ctl import parsing
from ovn_network_agent.ctl import socket_path

# The exit statuses of this command alone.
READY = 0
DEGRADED = 1
NO_AGENT = 2

_TIMEOUT = 5.0
_EPILOG = """\
exit status, of this command alone: 0 ready; 1 degraded, with one reason a
line; 2 no agent answers, or the command line or the configuration cannot be
used, and a message on standard error says which

With --socket the command needs no configuration, and starts several times as
fast.
"""


def add(commands: parsing.Commands) -> None:
    """Add the command to the command line."""
    health = commands.add_parser(
        'health', help='whether the agent is ready, for '
        'the health check of a container', epilog=_EPILOG,
        description='Tell whether the agent is ready, without asking '
        'anything else than the agent.',
        formatter_class=argparse.RawDescriptionHelpFormatter)
    health.add_argument('--json', action='store_true',
                        help='for programs; the keys are documented')
    seconds_option.add_timeout(health, _TIMEOUT, 'for the answer of the agent')
    health.set_defaults(function=run)


def run(args: argparse.Namespace) -> int:
    """Print the health of the agent."""
    path = socket_path.find(args)
    try:
        found = json.loads(client.call(path, 'health', [], args.timeout))
    except client.NoAgent as e:
        if args.json:
            print(json.dumps({'health': 'no agent', 'phase': '',
                              'reasons': [str(e)]}))
        return exit_status.fail(e, NO_AGENT)
    if args.json:
        print(json.dumps(found))
    else:
        print('\n'.join(found['reasons'] or ['ready']))
    return DEGRADED if found['reasons'] else READY
