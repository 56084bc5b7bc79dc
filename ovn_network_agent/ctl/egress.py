# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The command "egress": egress addresses, and who leaves with them."""

import argparse
from collections.abc import Iterator
import json
import sys
from typing import Any
from typing import TextIO

from ovn_network_agent.control.socket import client
from ovn_network_agent.ctl import exit_status
from ovn_network_agent.ctl import parsing
from ovn_network_agent.ctl import peers
from ovn_network_agent.ctl import socket_path
from ovn_network_agent.ctl import tables
from ovn_network_agent.ovsdb import lock_state

_PLACES = ['NAME', 'MODE', 'ADDRESS', 'ROUTER', 'PORT', 'CHASSIS', 'MACHINES',
           'ROWS', 'WHY']
_MACHINES = ['MACHINE', 'PORT', 'NAME', 'LEAVES WITH', 'WHY']
_COLOURS = {'in place': tables.GOOD, 'failed': tables.BAD,
            'refused': tables.BAD, 'unreachable': tables.BAD}


def add(commands: parsing.Commands) -> None:
    """Add the command to the command line."""
    shown = commands.add_parser(
        'egress', help='egress addresses: at which router '
        'or node each one is, and which machines leave with it')
    shown.add_argument('--machines', action='store_true',
                       help='each machine, and why it does not leave with '
                       'the address')
    shown.add_argument('--json', action='store_true',
                       help='for programs; the keys are documented')
    shown.set_defaults(function=show)


def show(args: argparse.Namespace) -> int:
    """Print the egress addresses."""
    found = json.loads(client.call(socket_path.find(args), 'egress', [],
                                   peers.ANSWER))
    if args.json:
        print(json.dumps(found, indent=2))
    else:
        sys.stdout.write(text(found, sys.stdout, args.machines))
    return exit_status.OK


def text(found: dict[str, Any], stream: TextIO, machines: bool = False) -> str:
    """The egress addresses, or their machines, as a table."""
    made = found['egress_ips']
    node = ''.join(f'{row["kind"]} {row["ref"]}: {row["state"]} '
                   f'{row["reason"]}'.rstrip() + '\n'
                   for row in found['node'])
    if not made:
        return f'no egress addresses\n{node}'
    lines = (tables.render(_MACHINES, [[
        each['address'], each['port'], one['name'],
        ' '.join(each['leaves_with']) or '-', each['why']]
        for one in made for each in one['machines']]) if machines else
        tables.render(_PLACES, [row for one in made
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
               place['chassis'] or '-', f'{machines:d}', tables.coloured(
                   place['rows'] or '-', _COLOURS.get(place['rows'], ''),
                   stream), place['why'] or place['rows_why']]
