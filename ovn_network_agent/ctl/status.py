# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The commands status, health and addresses: the state of the agent."""

import argparse
import collections
import json
import sys
from typing import Any
from typing import TextIO

from ovn_network_agent.control.socket import client
from ovn_network_agent.ctl import program

# Seconds for an answer of the agent.
ANSWER = 60.0
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
_HEADER = ['ADDRESS', 'KIND', 'ROUTER', 'NETWORK', 'STATE', 'SINCE', 'WHY']
_RESOURCES = ['KIND', 'KEY', 'BACKEND', 'STATE', 'SINCE', 'WHY']
STATES = ('announced', 'wanted', 'waiting', 'failed', 'held', 'withdrawing',
          'forwarded', 'omitted')


def add(commands: program.Commands) -> None:
    """Add the commands to the command line."""
    status = commands.add_parser(
        'status', help='state of the agent, its addresses, BGP sessions and '
        'gateways; "announced" does not mean reachable, see "explain"')
    status.add_argument('--verbose', action='store_true',
                        help='also backends, passes, repairs, and the '
                        'candidates of each gateway')
    program.add_watch(status)
    program.add_json(status)
    status.set_defaults(function=_status)
    _add_health(commands)
    _add_addresses(commands)


def _status(args: argparse.Namespace) -> int:
    """Print the state of the agent."""
    path = program.socket_path(args)

    def show(head: str) -> int:
        answer = client.call(path, 'status', ['--json'], ANSWER)
        if args.json:
            print(json.dumps(json.loads(answer)) if args.watch else answer)
            return program.OK
        from ovn_network_agent.control.reports import screen
        sys.stdout.write(head + screen.of_status(
            json.loads(answer), args.verbose, program.painter(sys.stdout)))
        return program.OK
    return program.watched(args, show)


def _add_health(commands: program.Commands) -> None:
    health = commands.add_parser(
        'health', help='whether the agent is ready, for health checks of '
        'containers', epilog=_EPILOG,
        description='Show whether the agent is ready. Only the agent is '
        'asked.',
        formatter_class=argparse.RawDescriptionHelpFormatter)
    program.add_json(health)
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


def _add_addresses(commands: program.Commands) -> None:
    shown = commands.add_parser(
        'addresses', aliases=['fips'],
        help='each address of this node: its state, since when, and why; '
        '"announced" does not mean reachable, see "explain"')
    shown.add_argument('address', nargs='*', metavar='ADDRESS',
                       help='only these addresses or prefixes, with their '
                       'resources')
    shown.add_argument('--router', metavar='ROUTER',
                       help='only addresses of this router: its UUID or its '
                       'name, in Neutron or in OVN')
    shown.add_argument('--state', choices=STATES, help='only addresses in '
                       'this state')
    program.add_json(shown)
    program.add_watch(shown)
    shown.set_defaults(function=_addresses)


def _addresses(args: argparse.Namespace) -> int:
    """Print the addresses."""
    path = program.socket_path(args)
    argv = [*args.address]
    for option in ('router', 'state'):
        if getattr(args, option):
            argv.append(f'--{option}={getattr(args, option)}')

    def show(head: str) -> int:
        # An agent from before an update of the package knows no other name.
        return _show(client.call(path, 'fips', argv, ANSWER), args, head)
    return program.watched(args, show)


def _show(answer: str, args: argparse.Namespace, head: str) -> int:
    found = json.loads(answer)
    program.show(args, found, lambda: head + text(found, sys.stdout))
    if found['unknown']:
        return program.fail(
            f'{", ".join(found["unknown"])}: this node has nothing to do '
            'with it; "explain" says which node has it',
            program.FAILED)
    return program.OK


def _network(each: dict[str, Any]) -> str:
    """The provider network of an address, with its VLAN."""
    vlan = f':{each["vlan"]:d}' if each['vlan'] else ''
    physical = each['physical_network'] + vlan or '-'
    called = each.get('network')
    return f'{called} ({physical})' if called else physical


def text(found: dict[str, Any], stream: TextIO) -> str:
    """The addresses as tables."""
    addresses = found['addresses']
    if not addresses:
        return 'no addresses\n' if not found['unknown'] else ''
    # Few operators use tags, and few nodes announce networks or machines.
    tagged = any(each.get('tag') for each in addresses)
    ported = any(each.get('network') for each in addresses)
    tenants = any(each.get('vni') for each in addresses)
    lines = program.render([
        _HEADER[0], *['VNI'][:tenants], *_HEADER[1:3], *['PORT'][:ported],
        _HEADER[3], *['TAG'][:tagged], *_HEADER[4:]], [[
        each['address'], *[str(each.get('vni') or '-')][:tenants],
        '+'.join(each['kinds']),
        each['router_name'] or '-',
        *[each['port'] if each.get('network') else '-'][:ported],
        _network(each), *[str(each.get('tag') or '-')][:tagged],
        program.state(each['state'], stream), each['since'] or '-',
        each['why']]
        for each in addresses])
    details = ''.join(
        f'\n{_title(each)}\n' + _resources(each['resources'], stream)
        for each in addresses if each.get('resources'))
    counts = collections.Counter(each['state'] for each in addresses)
    summary = ', '.join(f'{counts[state]:d} {state}' for state in STATES
                        if counts[state])
    return f'{lines}{details}\n{summary}\n'


def _title(each: dict[str, Any]) -> str:
    vni = each.get('vni')
    return f'{each["address"]} in VNI {vni:d}' if vni else each['address']


def _resources(rows: list[dict[str, Any]], stream: TextIO) -> str:
    return program.render(_RESOURCES, [[
        row['kind'], row['ref'], row['backend'],
        program.state(row['state'], stream), row['since'] or '-', _why(row)]
        for row in rows])


def _why(row: dict[str, Any]) -> str:
    again = (f' (again in {row["due_in"]:.0f} s)'
             if row['due_in'] is not None else '')
    return f'{row["reason"]}{again}'
