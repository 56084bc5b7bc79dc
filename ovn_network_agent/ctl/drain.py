# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The commands drain and undrain."""

import argparse
import json
import sys
import time
from typing import Any

from ovn_network_agent.common import wording
from ovn_network_agent.control.socket import client
from ovn_network_agent.ctl import program

# Seconds for an answer of the agent.
ANSWER = 60.0
_INTERVAL = 0.5
_WAIT = 300.0
# The most addresses in one line.
_NAMED = 5
_STEPS = 10  # steps in one line
# Words of the answers, as in the model, which takes long to import.
_ALL, _RESTORING = 'all', 'restoring'
# States of an address whose withdrawal is not over; those of "addresses".
_UNDONE = frozenset({'failed', 'waiting', 'withdrawing'})


def add(commands: program.Commands) -> None:
    """Add both commands to the command line."""
    drain = commands.add_parser(
        'drain', help='move the gateway ports to other nodes, and keep '
        'them there')
    drain.add_argument('--force', action='store_true',
                       help='also where no other candidate is ready; such '
                       'gateway ports move when one is')
    undrain = commands.add_parser(
        'undrain',
        help='end a drain; no gateway port moves back by itself')
    for each in (drain, undrain):
        each.add_argument(
            '--router', action='append', default=[], metavar='ROUTER',
            help='only this router: its UUID or its name, in Neutron or in '
                 'OVN; may be given several times; default: all')
        each.add_argument('--wait', action='store_true',
                          help='wait until this is carried out')
        program.add_timeout(each, _WAIT, 'for --wait')
        each.set_defaults(function=run)


def run(args: argparse.Namespace) -> int:
    """Carry out one of the commands."""
    from ovn_network_agent.control.reports import text
    path = program.socket_path(args)
    argv = ['--json']
    for router in args.router:
        argv += ['--router', router]
    if getattr(args, 'force', False):
        argv.append('--force')
    began = time.monotonic()
    done = json.loads(client.call(path, args.command, argv, ANSWER))
    sys.stdout.write(text.of_change(done))
    sys.stdout.flush()
    return (_wait(path, done, began, args.timeout) if args.wait
            else program.OK)


def _wait(path: str, done: dict[str, Any], began: float, timeout: float
          ) -> int:
    """Wait for the end of a command, ``timeout`` seconds from ``began``."""
    progress = Progress(done)
    shown = None
    while True:
        left = began + timeout - time.monotonic()
        missing = _missing(path, progress, left)
        remaining: list[str] = []
        if not missing and done['command'] == 'drain':
            missing, remaining = _remaining(path)
        left = began + timeout - time.monotonic()
        if not missing or (remaining and left <= 0):
            print(f'{done["command"]}: carried out' + (
                f', {progress.count()}' if progress.count() else ''))
            return _remained(remaining)
        line = progress.text(missing, time.monotonic() - began)
        if missing != shown:
            print(f'waiting {line}', flush=True)
            shown = missing
        if left <= 0:
            return program.fail(
                f'written, but not carried out, waited {line}',
                program.WAITED)
        time.sleep(min(_INTERVAL, left))


def _remaining(path: str) -> tuple[list[str], list[str]]:
    """What the drain waits for, and the addresses yet to be withdrawn.

    FRR takes its time, and a failed withdrawal is tried again. An address that
    fails and is to stay here is no matter of the drain.
    """
    try:
        suspects = [each['address'] for each in _listed(path)
                    if each['state'] in _UNDONE]
        found = [each['address'] for each in _listed(path, *suspects)
                 if each['state'] in _UNDONE and any(
                     row['there'] and not row['wanted']
                     for row in each['resources'])] if suspects else []
    except client.NoAgent as e:
        return [str(e)], []
    return [f'{wording.count(len(found), "address")} to be withdrawn: '
            f'{wording.first(found, _NAMED)}'] * bool(found), found


def _remained(addresses: list[str]) -> int:
    if not addresses:
        return program.OK
    return program.fail(
        f'{wording.count(len(addresses), "address")} could not be withdrawn, '
        'so this node may still announce '
        f'{"them" if addresses[1:] else "it"}: '
        f'{wording.first(addresses, _NAMED)}; '
        '"ovn-network-agent-ctl addresses --state failed" and '
        '"ovn-network-agent-ctl doctor" say why', program.REMAINED)


def _listed(path: str, *addresses: str) -> list[dict[str, Any]]:
    """All addresses of the agent, or some with their resources."""
    listed: list[dict[str, Any]] = json.loads(client.call(
        path, 'fips', ['--json', *addresses], ANSWER))['addresses']
    return listed


def _missing(path: str, progress: 'Progress', left: float
             ) -> list[str]:
    limit = min(ANSWER, max(1.0, left))
    try:
        return progress.look(json.loads(
            client.call(path, 'status', ['--json'], limit)))
    except client.NoAgent as e:
        # The agent may restart; the wish in the database stays.
        return [str(e)]


def missing(done: dict[str, Any], state: dict[str, Any]) -> list[str]:
    """The steps that a command still waits for.

    :param done: the answer to the command
    :param state: that to a later "status"
    """
    if state['phase'] == _RESTORING:
        return ['the agent has not seen OVN yet']
    unconnected = [f'database {name}: {database["trouble"]}'
                   for name, database in sorted(state['databases'].items())
                   if not database['connected']]
    if not _seen(done, set(state['drains'])):
        return unconnected or ['the agent has not seen the request yet']
    return unconnected + [f'{group["label"]}: {", ".join(group["pending"])}'
                          for group in _pending(done, state)]


class Progress:
    """How far a command has come, from one "status" to the next.

    One that was never here must not count as handed over, so a gateway counts
    from the first look that finds it still to be moved.
    """

    def __init__(self, done: dict[str, Any]) -> None:
        self._done = done
        self._seen: set[str] = set()
        self._left: set[str] = set()

    def look(self, state: dict[str, Any]) -> list[str]:
        """The steps that the command still waits for, see :func:`missing`."""
        found = missing(self._done, state)
        if _seen(self._done, set(state['drains'])):
            self._left = {group['uuid'] or group['name']
                          for group in _pending(self._done, state)}
            self._seen |= self._left
        return found

    def text(self, steps: list[str], seconds: float) -> str:
        """One line for people."""
        count = self.count()
        parts = [count] if count else []
        parts += steps[:_STEPS]
        if len(steps) > _STEPS:
            parts.append(f'and {len(steps) - _STEPS} more')
        return f'for {seconds:.0f} s: {"; ".join(parts)}'

    def count(self) -> str:
        """How many gateways are done, such as "2 of 3 handed over", or ''."""
        if not self._seen:
            return ''
        word = ('handed over' if self._done['command'] == 'drain' else
                'restored')
        return (f'{len(self._seen - self._left)} of {len(self._seen)} '
                f'{word}')


def _pending(done: dict[str, Any], state: dict[str, Any]
             ) -> list[dict[str, Any]]:
    return [group for group in state['groups']
            if group['pending'] and _concerned(done, group)]


def _seen(done: dict[str, Any], drains: set[str]) -> bool:
    wanted = set(done['wanted'])
    if done['command'] == 'drain':
        return _ALL in drains or wanted <= drains
    return not drains if _ALL in wanted else wanted.isdisjoint(drains)


def _concerned(done: dict[str, Any], group: dict[str, Any]) -> bool:
    wanted = set(done['wanted'])
    drain = done['command'] == 'drain'
    # After an undrain, another router may still be drained.
    return bool(group['wish']) is drain and (
        _ALL in wanted or not wanted.isdisjoint(group['routers']))
