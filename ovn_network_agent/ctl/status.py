# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The command status."""

import argparse
import sys

from ovn_network_agent.control.socket import client
from ovn_network_agent.ctl import exit_status
from ovn_network_agent.ctl import parsing
from ovn_network_agent.ctl import socket_path

# Seconds for an answer of the agent.
ANSWER = 60.0


def add(commands: parsing.Commands) -> None:
    """Add the command to the command line."""
    status = commands.add_parser(
        'status', help='what the agent does, and where '
        'the gateways are; "announced" does not say that packets arrive, '
        '"explain" looks at their way')
    status.add_argument('--json', action='store_true',
                        help='for programs; the keys are documented')
    status.set_defaults(function=run)


def run(args: argparse.Namespace) -> int:
    """Print the state of the agent."""
    argv = ['--json'] if args.json else []
    sys.stdout.write(client.call(socket_path.find(args), 'status', argv,
                                 ANSWER))
    if args.json:
        print()
    return exit_status.OK
