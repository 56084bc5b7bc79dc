# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The commands peers and peer: routers that peer inside OVN."""

import argparse
import collections
import json
import sys
from typing import Any
from typing import TextIO

from ovn_network_agent.control.socket import client
from ovn_network_agent.ctl import exit_status
from ovn_network_agent.ctl import parsing
from ovn_network_agent.ctl import socket_path
from ovn_network_agent.ctl import tables
from ovn_network_agent.ovsdb import lock_state

# Seconds for an answer of the agent.
ANSWER = 60.0
_ACTIONS = ('add', 'remove')
_HEADER = ['ROUTER', 'NAME', 'OTHER ROUTER', 'STATE', 'GIVES', 'TAKES', 'ROWS',
           'WHY']
_COLOURS = {'created': tables.GOOD, 'in place': tables.GOOD,
            'pending': tables.WARNING, 'conflict': tables.BAD,
            'error': tables.BAD, 'failed': tables.BAD, 'refused': tables.BAD}


def add(commands: parsing.Commands) -> None:
    """Add both commands to the command line."""
    shown = commands.add_parser(
        'peers', help='routers that peer inside OVN: each '
        'intent, its state, and why')
    shown.add_argument('--json', action='store_true',
                       help='for programs; the keys are documented')
    shown.set_defaults(function=show)
    peer = commands.add_parser(
        'peer', help='have a router name another one as '
        'its peer, or no longer; both have to name each other')
    peer.add_argument('action', choices=_ACTIONS,
                      help='write the intent, or remove all of it')
    peer.add_argument('router', metavar='ROUTER',
                      help='its UUID or its name, in Neutron or in OVN')
    peer.add_argument('name', metavar='NAME',
                      help='of the peering at this router: letters, digits '
                      'and dashes')
    peer.add_argument('target', metavar='TARGET', nargs='?',
                      help='of "add": the other router, best by its UUID')
    peer.add_argument('--json', action='store_true',
                      help='for programs; the keys are documented')

    def run(args: argparse.Namespace) -> int:
        if (args.action == 'add') is (args.target is None):
            peer.error('"add" needs TARGET, and "remove" has none')
        return change(args)
    peer.set_defaults(function=run)


def show(args: argparse.Namespace) -> int:
    """Print the peerings."""
    found = json.loads(client.call(socket_path.find(args), 'peers', [],
                                   ANSWER))
    if args.json:
        print(json.dumps(found, indent=2))
    else:
        sys.stdout.write(text(found, sys.stdout))
    return exit_status.OK


def change(args: argparse.Namespace) -> int:
    """Add or remove an intent; see :func:`show`."""
    argv = [args.router, args.name]
    if args.target is not None:
        argv.append(args.target)
    # What a person types may begin with a dash.
    done = json.loads(client.call(socket_path.find(args),
                                  f'peer-{args.action}', ['--', *argv],
                                  ANSWER))
    if args.json:
        print(json.dumps(done, indent=2))
    else:
        sys.stdout.write(of_change(done))
    return exit_status.OK


def text(found: dict[str, Any], stream: TextIO) -> str:
    """The peerings as a table."""
    peerings = found['peerings']
    if not peerings:
        return 'no peerings\n'
    lines = tables.render(_HEADER, [[
        each['router_name'], each['name'], each['target'] or '-',
        tables.coloured(each['state'], _COLOURS.get(each['state'], ''),
                        stream),
        _prefixes(each['gives']), _prefixes(each['takes']),
        tables.coloured(each['rows'] or '-', _COLOURS.get(each['rows'], ''),
                        stream),
        each['why'] or each['rows_why']] for each in peerings])
    counts = collections.Counter(each['state'] for each in peerings)
    summary = ', '.join(f'{number:d} {state}' for state, number
                        in sorted(counts.items()))
    return f'{lines}\n{summary}; {lock_state.WRITERS[found["lock"]]}\n'


def of_change(done: dict[str, Any]) -> str:
    """The answer to "peer" for people."""
    head = f'router {done["router_name"]}: peering {done["name"]}'
    if done['state'] == 'removed':
        return f'{head} removed\n'
    why = f': {done["why"]}' if done['why'] else ''
    return f'{head} with {done["target"]} written, {done["state"]}{why}\n'


def _prefixes(texts: list[str]) -> str:
    return ' '.join(texts) or '-'
