# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The commands status and health."""

import argparse
import json
import sys

from ovn_network_agent.control.socket import client
from ovn_network_agent.ctl import program
from ovn_network_agent.ctl import terminal

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
        'status', help='state of the agent, its addresses, BGP sessions and '
        'gateways; "announced" does not mean reachable, see "explain"')
    status.add_argument('--verbose', action='store_true',
                        help='also backends, passes, repairs, and the '
                        'candidates of each gateway')
    terminal.add_watch(status)
    status.add_argument('--json', action='store_true',
                        help='print JSON; the keys are documented')
    status.set_defaults(function=_status)
    _add_health(commands)


def _status(args: argparse.Namespace) -> int:
    """Print the state of the agent."""
    path = program.socket_path(args)

    def show(head: str) -> int:
        answer = client.call(path, 'status', ['--json'], _ANSWER)
        if args.json:
            print(json.dumps(json.loads(answer)) if args.watch else answer)
            return program.OK
        from ovn_network_agent.control.reports import screen
        sys.stdout.write(head + screen.of_status(
            json.loads(answer), args.verbose, terminal.painter(sys.stdout)))
        return program.OK
    return terminal.watched(args, show)


def _add_health(commands: program.Commands) -> None:
    health = commands.add_parser(
        'health', help='whether the agent is ready, for health checks of '
        'containers', epilog=_EPILOG,
        description='Show whether the agent is ready. Only the agent is '
        'asked.',
        formatter_class=argparse.RawDescriptionHelpFormatter)
    health.add_argument('--json', action='store_true',
                        help='print JSON; the keys are documented')
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
