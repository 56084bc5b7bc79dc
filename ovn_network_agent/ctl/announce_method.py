# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The command announce-method: another announce method, without a loss."""

import argparse
from collections.abc import Collection
from collections.abc import Sequence
import json
import logging
import typing

from ovn_network_agent.common import wording
from ovn_network_agent.control.socket import client
from ovn_network_agent.ctl import program

if typing.TYPE_CHECKING:
    from oslo_config import cfg

    from ovn_network_agent.diagnosis.node import sources as node_sources
    from ovn_network_agent.diagnosis.node.bgp import method as methods

_TIMEOUT = 60.0
_ANSWER = 60.0
_MARGIN = 5.0
_NAMED = 10
_OPTION = 'announce_method'
_SECTION = 'fip_route'
# The states of an address that nobody wants announced any more.
_ENDED = frozenset({'withdrawing', 'forwarded', 'omitted'})


def add(commands: program.Commands) -> None:
    """Add the command to the command line."""
    change = commands.add_parser(
        'announce-method', help='change how addresses get into BGP, without '
        'a loss; needs root', description='Change [fip_route] '
        'announce_method of the running agent. The command first checks '
        'whether FRR is prepared for the method, and whether the '
        'configuration files of the agent name it; the command changes '
        'neither FRR nor a file, and prints the lines that are missing. Then '
        'the command reloads the agent, asks FRR until the new method alone '
        'announces every address, and names the addresses that were not '
        'announced meanwhile.')
    change.add_argument('method', choices=('static', 'kernel'),
                        help='the new method')
    change.add_argument('--check', action='store_true',
                        help='only check, and reload nothing')
    program.add_timeout(change, _TIMEOUT,
                        'for the reload, and for the proof')
    change.set_defaults(function=run)


def run(args: argparse.Namespace) -> int:
    """Change the method."""
    # The imports take a quarter of a second, and few commands need them.
    from ovn_network_agent.runtime.process import interpreter
    interpreter.hold()
    interpreter.keep_eventlet_out()
    from oslo_config import cfg

    from ovn_network_agent.conf import validate
    from ovn_network_agent.diagnosis.node import check
    from ovn_network_agent.diagnosis.node import sources
    from ovn_network_agent.privileged.daemon import context
    interpreter.settle()
    logging.getLogger().addHandler(logging.NullHandler())
    found = sources.Sources(cfg.CONF, program.files(args),
                            args.socket or '')
    try:
        found.start()
        return _change(args, found)
    except validate.ConfigError as error:
        return program.fail(f'configuration: {error}', program.USAGE)
    except check.NotChecked as error:
        return program.fail(f'nothing has been changed: {error}',
                            program.FAILED)
    except context.FAILURES as error:
        return program.fail(f'FRR: {wording.error(error)}',
                            program.FAILED)
    finally:
        found.close()


def _change(args: argparse.Namespace, sources: 'node_sources.Sources') -> int:
    from ovn_network_agent.diagnosis.node.bgp import method
    from ovn_network_agent.engine import executor
    path = args.socket or sources.conf.control_socket
    if not path:
        raise program.NoSocket('[DEFAULT] control_socket is empty')
    sources.ovn_and_daemons()
    change = method.Change(sources, args.method, [
        address for address, states in _states(path).items()
        if 'announced' in states])
    ready = method.readiness(sources, args.method, set(change.before))
    if not _prepared(args, sources, ready):
        return program.FAILED
    if change.unannounced and not change.before:
        return program.fail(
            'nothing has been changed: FRR announces none of the addresses, '
            'so nothing can be proved; "doctor" has the reasons',
            program.FAILED)
    if change.unannounced:
        print(f'no neighbour gets '
              f'{wording.count(len(change.unannounced), "address")} of the '
              f'agent now; not followed: {_some(change.unannounced)}')
    if args.check:
        print(f'ready: {wording.count(len(change.before), "address")} would '
              f'be announced by {args.method}; run the command without '
              '--check')
        return program.OK
    answer = executor.begin(lambda: _reload(path, args.timeout))
    change.watch(answer.done)
    refused = answer.result()
    if refused:
        return program.fail(
            '\n'.join(['the agent refuses its configuration, '
                       'nothing has been changed:', *refused]),
            program.FAILED)
    took = change.follow(args.timeout)
    return result(args.method, change, took, wanted(_states(path)))


def _states(path: str) -> dict[str, set[str]]:
    found = json.loads(client.call(path, 'fips', [], _ANSWER))
    states: dict[str, set[str]] = {}
    for each in found['addresses']:
        states.setdefault(each['address'], set()).add(each['state'])
    return states


def wanted(states: dict[str, set[str]]) -> set[str]:
    """The addresses not ended on purpose: also those that wait or fail."""
    return {address for address, found in states.items() if found - _ENDED}


def _prepared(args: argparse.Namespace, sources: 'node_sources.Sources',
              ready: 'methods.Readiness') -> bool:
    if ready.others:
        print('other kernel routes here, which "redistribute kernel" takes '
              'along unless a route map denies them: ' + _some(ready.others))
    for network, neighbours in sorted(ready.effects.items()):
        print(f'  {network} is in BGP, announced to '
              f'{", ".join(neighbours) or "no neighbour"}')
    for text in (*ready.cautions, *ready.lacks):
        print(text)
    if ready.lines:
        print('type into vtysh, and put the lines into the file of FRR as '
              'well ("write memory", or the tool that writes the file):\n' +
              '\n'.join(f'  {line}' for line in ready.lines))
    configured = sources.conf[_SECTION][_OPTION]
    if configured != args.method:
        print(f'the configuration of the agent has {_OPTION} = {configured}; '
              f'change {_place(sources.conf)}, with the tool that writes '
              'it:\n'
              f'  [{_SECTION}]\n  {_OPTION} = {args.method}')
    prepared = not ready.lacks and configured == args.method
    if not prepared:
        print('nothing has been changed; run the command again after this')
    return bool(prepared)


def _place(conf: 'cfg.ConfigOpts') -> str:
    """What sets the option, or the last of the files."""
    place = conf.get_location(_OPTION, _SECTION)
    if place is not None and place.location.is_user_controlled:
        return str(place.detail)
    return str(([*conf.config_file] or ['the configuration file'])[-1])


def _reload(path: str, timeout: float) -> list[str]:
    answer = json.loads(client.call(
        path, 'reload', ['--json', '--wait', '--timeout', str(timeout)],
        timeout + _MARGIN))
    refused: list[str] = answer['refused']
    return refused


def result(method: str, change: 'methods.Change', took: float | None,
           still: Collection[str]) -> int:
    """Print the result; ``took`` is in seconds, None when it was given up."""
    removed = {prefix for prefix in change.before
               if prefix.partition('/')[0] not in still}
    due = [prefix for prefix in change.due if prefix not in removed]
    lost = sorted(set(change.gaps) - removed)
    count = len(change.before) - len(removed)
    if removed:
        print('this node announces '
              f'{wording.count(len(removed), "address")} no longer, for '
              f'another reason: {_some(sorted(removed))}')
    if due:
        return program.fail(
            f'{method} alone does not announce {len(due):d} of '
            f'{wording.count(count, "address")}: {_some(due)}; "status" and '
            '"explain" have the reasons', program.WAITED)
    after = '' if took is None else f', {took:.1f} s after the reload'
    print(f'{method} alone announces {wording.count(count, "address")}{after}')
    if lost:
        return program.fail(
            f'{wording.count(len(lost), "address was", "addresses were")} not '
            f'announced for a moment: {_some(lost)}', program.FAILED)
    print('each address was announced in each of '
          f'{wording.count(change.looks, "reading")}')
    return program.OK


def _some(prefixes: Sequence[str]) -> str:
    return wording.first(prefixes, _NAMED)
