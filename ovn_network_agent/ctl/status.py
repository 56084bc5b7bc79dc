# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The commands status and health."""

import argparse
import json
import sys

from ovn_network_agent.control.socket import client
from ovn_network_agent.ctl import program

# Seconds for an answer of the agent.
_ANSWER = 60.0
_TIMEOUT = 5.0
# The exit statuses of health alone.
READY = 0
DEGRADED = 1
NO_AGENT = 2
_EPILOG = """\
exit status, of this command alone: 0 ready; 1 degraded, with one reason a
line; 2 no agent answers, or the command line or the configuration cannot be
used, and a message on standard error says which

With --socket the command needs no configuration, and starts several times as
fast.
"""


def add(commands: program.Commands) -> None:
    """Add both commands to the command line."""
    status = commands.add_parser(
        'status', help='what the agent does, and where '
        'the gateways are; "announced" does not say that packets arrive, '
        '"explain" looks at their way')
    status.add_argument('--json', action='store_true',
                        help='for programs; the keys are documented')
    status.set_defaults(function=_status)
    _add_health(commands)


def _status(args: argparse.Namespace) -> int:
    """Print the state of the agent."""
    argv = ['--json'] if args.json else []
    sys.stdout.write(client.call(program.socket_path(args), 'status', argv,
                                 _ANSWER))
    if args.json:
        print()
    return program.OK


def _add_health(commands: program.Commands) -> None:
    health = commands.add_parser(
        'health', help='whether the agent is ready, for '
        'the health check of a container', epilog=_EPILOG,
        description='Tell whether the agent is ready, without asking '
        'anything else than the agent.',
        formatter_class=argparse.RawDescriptionHelpFormatter)
    health.add_argument('--json', action='store_true',
                        help='for programs; the keys are documented')
    program.add_timeout(health, _TIMEOUT, 'for the answer of the agent')
    health.set_defaults(function=_health)


def _health(args: argparse.Namespace) -> int:
    """Print the health of the agent."""
    path = program.socket_path(args)
    try:
        found = json.loads(client.call(path, 'health', [], args.timeout))
    except client.NoAgent as e:
        if args.json:
            print(json.dumps({'health': 'no agent', 'phase': '',
                              'reasons': [str(e)]}))
        return program.fail(e, NO_AGENT)
    if args.json:
        print(json.dumps(found))
    else:
        print('\n'.join(found['reasons'] or ['ready']))
    return DEGRADED if found['reasons'] else READY
