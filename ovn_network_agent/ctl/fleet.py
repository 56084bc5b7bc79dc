# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The command fleet: all gateways of the cloud, from any node."""

import argparse
import sys
import time
import typing
from typing import TextIO

from ovn_network_agent.ctl import program

if typing.TYPE_CHECKING:
    from ovn_network_agent.diagnosis.readers import fleet as fleets

_TIMEOUT = 30.0
_GATEWAYS = ['GATEWAY', 'STATE', 'SERVES', 'NEXT OWNER OF', 'DRAINED']
_PORTS = ['ROUTER', 'ADDRESS', 'OWNER', 'STATE', 'NEXT OWNER', 'CANDIDATES']


def add(commands: program.Commands) -> None:
    """Add the command to the command line."""
    fleet = commands.add_parser(
        'fleet', help='all gateways of the cloud, their routers and the next '
        'owners; asks OVN, needs no agent')
    fleet.add_argument('--html', metavar='FILE',
                       help='write a web page, which loads nothing from '
                       'elsewhere')
    program.add_json(fleet)
    program.add_watch(fleet)
    program.add_timeout(fleet, _TIMEOUT, 'for the answer of each database')
    fleet.set_defaults(function=run)


def run(args: argparse.Namespace) -> int:
    """Print or draw the fleet; 1 when a database could not be asked."""
    # The readers take long to import, and python-ovs would import eventlet.
    from ovn_network_agent.runtime.process import interpreter
    interpreter.hold()
    interpreter.keep_eventlet_out()
    from ovn_network_agent.conf import mode
    from ovn_network_agent.diagnosis.address import gathering
    from ovn_network_agent.diagnosis.readers import fleet as fleets
    interpreter.settle()
    conf = gathering.load(program.files(args))
    if mode.forwards_only(conf):
        return program.fail('[ovn] ovn_nb_remote and ovn_sb_remote are empty: '
                            'this node has no OVN to ask', program.USAGE)
    return program.watched(args, lambda head: _show(
        fleets.read(conf, args.timeout), args, head))


def _show(found: 'fleets.Fleet', args: argparse.Namespace, head: str) -> int:
    if args.html:
        try:
            _write(found, args.html)
        except OSError as e:
            return program.fail(f'--html {args.html}: {e.strerror}',
                                program.FAILED)
    else:
        program.show(args, found.json(),
                     lambda: head + text(found, sys.stdout))
    for problem in found.problems:
        program.fail(problem, program.FAILED)
    return program.FAILED if found.problems else program.OK


def _write(found: 'fleets.Fleet', path: str) -> None:
    from ovn_network_agent.ctl import fleet_page
    page = fleet_page.render(found, time.strftime('%Y-%m-%d %H:%M:%S UTC',
                                                  time.gmtime()))
    with open(path, 'wb') as opened:
        opened.write(page)


def text(found: 'fleets.Fleet', stream: TextIO) -> str:
    """The fleet as tables."""
    gateways = program.render(_GATEWAYS, [[
        each.hostname, program.state(each.state, stream), f'{each.serves:d}',
        f'{each.takes_over:d}', drains(each)] for each in found.gateways])
    tagged = any(each.tag is not None for each in found.ports)
    ports = program.render([*_PORTS, *['TAG'][:tagged]], [[
        each.router, ' '.join(each.addresses) or '-', each.owner or '-',
        program.state(each.state, stream), each.next_owner or '-',
        order(each), *[str(each.tag or '-')][:tagged]]
        for each in found.ports])
    return f'{gateways}\n{ports}'


def drains(gateway: 'fleets.Gateway') -> str:
    """How many priorities of a gateway are 0, by reason."""
    return ', '.join(f'{why} ({count:d})'
                     for why, count in gateway.drained) or '-'


def order(port: 'fleets.Port') -> str:
    """The candidates for a gateway port, with their priorities."""
    return ' '.join(
        f'{each.hostname}{"*" if each.hostname == port.owner else ":"}'
        f'{each.priority:d}' for each in port.candidates) or '-'
