# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The command explain: why is one address not reachable?"""

import argparse
from collections.abc import Iterable
import json
import logging
import sys
import typing
from typing import Any

from ovn_network_agent.ctl import program
from ovn_network_agent.ctl import terminal

if typing.TYPE_CHECKING:
    from oslo_config import cfg

    from ovn_network_agent.diagnosis.readers import packets

# Addresses for examples (RFC 5737, RFC 3849), which no network has.
_CLIENTS = {4: '192.0.2.1', 6: '2001:db8::1'}


def add(commands: program.Commands) -> None:
    """Add the command to the command line."""
    explain = commands.add_parser(
        'explain', help='find out why an address is not reachable, '
        'layer by layer')
    explain.add_argument('address', metavar='ADDRESS',
                         help='floating IP, SNAT or router address, VIP, '
                         'address of a machine on a provider network, or a '
                         'network of a tenant or an address in it')
    explain.add_argument('--client', metavar='ADDRESS', default='',
                         help='address outside that cannot reach ADDRESS, for '
                         f'the way back; without this option {_CLIENTS[4]}, '
                         f'or {_CLIENTS[6]} for IPv6')
    explain.add_argument('--vni', type=int, metavar='VNI',
                         help='only the machine on a network with this VNI; '
                         '0: only what has ADDRESS outside of VNIs')
    explain.add_argument('--trace', action='store_true',
                         help='also what OVN and Open vSwitch would do with '
                         'a packet, one line each; reads the whole Southbound '
                         'database')
    explain.add_argument('--verbose', action='store_true',
                         help='with --trace: also the whole text of each '
                         'trace')
    explain.add_argument('--json', action='store_true',
                         help='print JSON; the keys are documented')
    explain.set_defaults(function=run)


def run(args: argparse.Namespace) -> int:
    """Explain an address."""
    address = _canonical(args.address)
    client = _client(args.client, address)
    # The readers take long to import, and python-ovs would import eventlet.
    from ovn_network_agent.runtime.process import interpreter
    interpreter.keep_eventlet_out()
    interpreter.hold()
    from ovn_network_agent.diagnosis.address import explanation
    from ovn_network_agent.diagnosis.address import gathering
    from ovn_network_agent.runtime import loader
    interpreter.settle()
    # The findings have what the libraries would log.
    logging.getLogger().addHandler(logging.NullHandler())
    conf = gathering.load(program.files(args))
    try:
        known = gathering.gather(conf, address, client,
                                 args.socket or conf.control_socket,
                                 args.vni)
    except loader.LoadError as error:
        return program.fail(f'configuration: {error}', program.USAGE)
    if not known:
        return program.fail(
            f'no machine on a network with VNI {args.vni:d} has {address}',
            program.NOBODY)
    found = [(explanation.explain(each),
              _traces(conf, each) if args.trace else ()) for each in known]
    if args.json:
        first, *others = (each.json() | (_of_traces(traces)
                                         if args.trace else {})
                          for each, traces in found)
        print(json.dumps({**first, 'others': others}))
    else:
        sys.stdout.write('\n'.join(
            each.text(_coloured) + _text(traces, args.verbose)
            for each, traces in found))
    statuses = {{explanation.Outcome.OK: program.OK,
                 explanation.Outcome.WITHHELD: program.OK,
                 explanation.Outcome.BROKEN: program.FAILED,
                 explanation.Outcome.UNKNOWN: program.FAILED,
                 explanation.Outcome.ELSEWHERE: program.ELSEWHERE,
                 explanation.Outcome.NOBODY: program.NOBODY}[each.outcome]
                for each, _traces_of in found}
    return (program.FAILED if program.FAILED in statuses
            else min(statuses))


def _coloured(text: str, verdict: str) -> str:
    return terminal.coloured(text, terminal.VERDICTS[verdict], sys.stdout)


def _of_traces(traces: 'Iterable[packets.Traced]') -> dict[str, Any]:
    return {'trace_verdicts': {each.title: each.verdict for each in traces},
            'traces': {each.title: each.text for each in traces}}


def _text(traces: 'Iterable[packets.Traced]', verbose: bool) -> str:
    """The traces for people: the verdicts, and the texts on demand."""
    verdicts = ''.join(f'Trace, {each.title}: {each.verdict}\n'
                       for each in traces)
    return verdicts + ''.join(
        f'\n--- {each.title}\n{each.text.rstrip()}\n'
        for each in traces if verbose)


def _traces(conf: 'cfg.ConfigOpts', facts: Any
            ) -> 'tuple[packets.Traced, ...]':
    from ovn_network_agent.diagnosis.readers import packets
    return packets.read_traces(conf, facts.setup, facts.subject)


def _client(text: str, address: str) -> str:
    """The client in canonical notation; ValueError for another family."""
    from ovn_network_agent.common import networks
    version = networks.family(address)
    client = _canonical(text or _CLIENTS[version])
    if '/' in client or networks.family(client) != version:
        raise ValueError(f'--client {client} cannot be a client of {address}: '
                         f'name an address of IPv{version:d}')
    return client


def _canonical(text: str) -> str:
    """An address or prefix in canonical notation; ValueError for others."""
    from ovn_network_agent.common import networks
    try:
        return networks.canonical(text)
    except ValueError as error:
        raise ValueError(f'{text!r} is not an IP address or prefix: '
                         f'{error}') from None
