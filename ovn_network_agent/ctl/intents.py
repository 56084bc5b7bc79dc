# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The commands peers, peer and egress: intents in OVN, and their state."""

import argparse
import collections
from collections.abc import Iterator
import json
import sys
from typing import Any
from typing import TextIO

from ovn_network_agent.control.socket import client
from ovn_network_agent.ctl import program
from ovn_network_agent.ovsdb import lock_state

# Seconds for an answer of the agent.
_ANSWER = 60.0
_ACTIONS = ('add', 'remove')
_HEADER = ['ROUTER', 'NAME', 'OTHER ROUTER', 'STATE', 'GIVES', 'TAKES', 'ROWS',
           'WHY']
_PLACES = ['NAME', 'MODE', 'ADDRESS', 'ROUTER', 'PORT', 'CHASSIS', 'MACHINES',
           'ROWS', 'WHY']
_MACHINES = ['MACHINE', 'PORT', 'NAME', 'LEAVES WITH', 'WHY']


def add(commands: program.Commands) -> None:
    """Add the commands to the command line."""
    shown = commands.add_parser(
        'peers', help='peerings of routers inside OVN: each intent, its '
        'state, and why')
    program.add_json(shown)
    shown.set_defaults(function=_show_peers)
    peer = commands.add_parser(
        'peer', help='add or remove a peering at one router; both routers '
        'have to name each other')
    peer.add_argument('action', choices=_ACTIONS,
                      help='write or remove the intent')
    peer.add_argument('router', metavar='ROUTER',
                      help='its UUID or its name, in Neutron or in OVN')
    peer.add_argument('name', metavar='NAME',
                      help='of the peering at this router: letters, digits '
                      'and dashes')
    peer.add_argument('target', metavar='TARGET', nargs='?',
                      help='of "add": the other router, best by its UUID')
    program.add_json(peer)

    def run(args: argparse.Namespace) -> int:
        if (args.action == 'add') is (args.target is None):
            peer.error('"add" needs TARGET, and "remove" has none')
        return _change(args)
    peer.set_defaults(function=run)
    _add_egress(commands)


def _show_peers(args: argparse.Namespace) -> int:
    """Print the peerings."""
    found = json.loads(client.call(program.socket_path(args), 'peers', [],
                                   _ANSWER))
    program.show(args, found, lambda: of_peers(found, sys.stdout))
    return program.OK


def _change(args: argparse.Namespace) -> int:
    """Add or remove an intent."""
    argv = [args.router, args.name]
    if args.target is not None:
        argv.append(args.target)
    # What a person types may begin with a dash.
    done = json.loads(client.call(program.socket_path(args),
                                  f'peer-{args.action}', ['--', *argv],
                                  _ANSWER))
    program.show(args, done, lambda: of_change(done))
    return program.OK


def of_peers(found: dict[str, Any], stream: TextIO) -> str:
    """The peerings as a table."""
    peerings = found['peerings']
    if not peerings:
        return 'no peerings\n'
    lines = program.render(_HEADER, [[
        each['router_name'], each['name'], each['target'] or '-',
        program.state(each['state'], stream),
        _prefixes(each['gives']), _prefixes(each['takes']),
        program.state(each['rows'], stream),
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


def _add_egress(commands: program.Commands) -> None:
    shown = commands.add_parser(
        'egress', help='egress addresses, with their routers or nodes and '
        'their machines')
    shown.add_argument('--machines', action='store_true',
                       help='also each machine, and why it does not use the '
                       'address')
    program.add_json(shown)
    shown.set_defaults(function=_show_egress)


def _show_egress(args: argparse.Namespace) -> int:
    """Print the egress addresses."""
    found = json.loads(client.call(program.socket_path(args), 'egress', [],
                                   _ANSWER))
    program.show(args, found,
                 lambda: of_egress(found, sys.stdout, args.machines))
    return program.OK


def of_egress(found: dict[str, Any], stream: TextIO, machines: bool = False
              ) -> str:
    """The egress addresses, or their machines, as a table."""
    made = found['egress_ips']
    node = ''.join(f'{row["kind"]} {row["ref"]}: {row["state"]} '
                   f'{row["reason"]}'.rstrip() + '\n'
                   for row in found['node'])
    if not made:
        return f'no egress addresses\n{node}'
    lines = (program.render(_MACHINES, [[
        each['address'], each['port'], one['name'],
        ' '.join(each['leaves_with']) or '-', each['why']]
        for one in made for each in one['machines']]) if machines else
        program.render(_PLACES, [row for one in made
                                 for row in _rows(one, stream)]))
    problems = ''.join(f'{one["name"]}: {problem}\n' for one in made
                       for problem in one['problems'])
    return f'{lines}\n{problems}{node}{lock_state.WRITERS[found["lock"]]}\n'


def _rows(one: dict[str, Any], stream: TextIO) -> Iterator[list[str]]:
    if not one['places']:
        yield [one['name'], one['mode'], '-', '-', '-', '-', '0', '-',
               one['why'] or 'it has no machines']
    for place in one['places']:
        machines = sum(place['address'] in each['leaves_with']
                       for each in one['machines']
                       if each['router'] == place['router'])
        yield [one['name'], one['mode'], place['address'] or '-',
               place['router_name'], place['port'] or '-',
               place['chassis'] or '-', f'{machines:d}',
               program.state(place['rows'], stream),
               place['why'] or place['rows_why']]
