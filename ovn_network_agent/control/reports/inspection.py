# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Questions to the engine: addresses, plan, resync.

The engine takes no note.  The loop reads one backend after the other, so an
event waits for one at the most; what may hang is read beside the loop.
"""

import argparse
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import json
import time
from typing import Any

from oslo_config import cfg

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.common import networks
from ovn_network_agent.control import intents
from ovn_network_agent.control import resource_rows
from ovn_network_agent.control.reports import addresses
from ovn_network_agent.control.socket import commands
from ovn_network_agent.engine import actual
from ovn_network_agent.engine import health as healths
from ovn_network_agent.engine import ledger
from ovn_network_agent.engine import outcome
from ovn_network_agent.engine import table as tables
from ovn_network_agent.forward import vip_state as forwarding
from ovn_network_agent.ovn.chassis import directory
from ovn_network_agent.ovsdb import connection
from ovn_network_agent.runtime import questions

TIMEOUT = 60.0  # seconds for the result of a resync
_READING = 30.0  # seconds to wait for one backend, and for its answer
_INTERVAL = 0.5  # longest seconds between looks
_STATES = [state.value for state in resource_rows.State]
_VERBS = ('create', 'update', 'delete')
# Backend, verb, a resource, and what it was and will be.
_Step = tuple[str, str, resources.Resource, resources.Resource | None,
              resources.Resource | None]


class Inspection:
    """The commands that ask the loop."""

    def __init__(self, conf: cfg.ConfigOpts, internals: questions.Internals,
                 snapshot: Callable[[], model.Snapshot | None],
                 standings: Callable[[], Sequence[forwarding.VipStatus]],
                 names: Callable[[], directory.Directory],
                 databases: Mapping[str, connection.Database]) -> None:
        self._conf = conf
        self._internals = internals
        self._snapshot = snapshot
        self._standings = standings
        self._names = names
        self._intents = intents.Intents(conf, internals, self._ask, snapshot,
                                        databases)

    @property
    def commands(self) -> dict[str, commands.Command]:
        """The commands, see :class:`commands.Table`, a dict."""
        found = ('[ADDRESS]... [--router ROUTER] [--state STATE] [--json]',
                 self._addresses)
        return {**self._intents.commands, 'addresses': found, 'fips': found,
                'plan': ('[--json]', self._plan),
                'resync': ('[BACKEND]... [--force] [--timeout SECONDS] '
                           '[--json]',
                           self._resync)}

    def _ask(self, function: Callable[[], Any]) -> Any:
        try:
            return self._internals.questions.ask(function)
        except questions.NoAnswer as e:
            raise commands.Refused(str(e)) from None

    def _addresses(self, arguments: argparse.ArgumentParser, argv: list[str]
                   ) -> str:
        arguments.add_argument('address', nargs='*', type=_address)
        arguments.add_argument('--router', default='')
        arguments.add_argument('--state', choices=_STATES)
        args = arguments.parse_args(argv)
        names = self._names()
        # All of one moment, between two passes.
        snapshot, table, standings = self._ask(lambda: (
            self._snapshot(), self._internals.reconciler.table(),
            self._standings()))
        if args.router:
            self._check_router(args.router, names, snapshot)
        wanted = set(args.address)
        found = addresses.Addresses(
            snapshot, table, standings, names, self._conf).build(
                lambda address: not wanted or any(
                    networks.covers(address, each) for each in wanted),
                args.router, bool(wanted))
        unknown = {each for each in wanted if not any(
            networks.covers(row['address'], each) for row in found)}
        return json.dumps({
            'hostname': snapshot.node.hostname if snapshot else '',
            'addresses': [each for each in found if args.state in (
                None, each['state'])],
            'unknown': sorted(unknown),
            'resources': [resource_rows.build(row) for row in _of_others(
                table, wanted - {each['address'] for each in found
                                 if each['router']})]})

    def _plan(self, arguments: argparse.ArgumentParser, argv: list[str]
              ) -> str:
        arguments.parse_args(argv)
        return json.dumps(compare(self._ask, self._internals))

    def _resync(self, arguments: argparse.ArgumentParser, argv: list[str]
                ) -> str:
        arguments.add_argument('backend', nargs='*')
        arguments.add_argument('--force', action='store_true')
        arguments.add_argument('--timeout', type=_seconds,
                               default=TIMEOUT)
        args = arguments.parse_args(argv)
        return json.dumps(resync(self._ask, self._internals, args.backend,
                                 args.timeout, args.force))

    def _check_router(self, text: str, names: directory.Directory,
                      snapshot: model.Snapshot | None) -> None:
        """Refuse the name of no router, which is likely a slip."""
        if not any(router.is_called(text)
                   for router in names.routers.values()) and not any(
                       text in (router.uuid, router.name) for router
                       in (snapshot.routers if snapshot else ())):
            raise commands.Refused(
                f'there is no router "{text}"; looked for it as the UUID or '
                'the name of a Logical_Router, and as the UUID or the name '
                'of a router in Neutron')


def _of_others(table: tables.Table, wanted: set[str]) -> list[tables.Row]:
    """The rows with an address in their keys, perhaps of foreign drivers."""
    return table.rows(lambda ref: any(
        resource_rows.has(ref.key, each) for each in wanted)) if wanted else []


def _address(text: str) -> str:
    try:
        return networks.canonical(text)
    except ValueError as e:
        raise argparse.ArgumentTypeError(str(e)) from None


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0
    if not 0 < seconds < float('inf'):
        raise argparse.ArgumentTypeError(
            f'{text!r} is not a number of seconds above 0')
    return seconds


def resync(ask: questions.Ask, internals: questions.Internals,
           names: Collection[str], timeout: float, force: bool = False
           ) -> dict[str, Any]:
    """Have the loop read backends, all without ``names``, and wait.

    Their back-off ends.  ``force`` also withdraws what the withdrawal guard
    holds.  The reference documents the answer.

    :raises commands.Refused: for an unknown name, or without a loop
    """
    known = [health.name for health in internals.reconciler.health]
    unknown = sorted(set(names) - set(known))
    if unknown:
        raise commands.Refused(
            f'there is no backend {", ".join(unknown)}; there are '
            f'{", ".join(sorted(known))}')
    names = [name for name in known if name in names or not names]
    # Fails at once where no pass would follow.
    released = ask(internals.reconciler.guard.release if force else lambda: 0)
    with internals.passes.changes() as changes:
        missing = _wait(internals, names, timeout)
        table = ask(internals.reconciler.table)
    return {
        'backends': names, 'missing': missing, 'released': released,
        'changes': [_change(table, verb, resource) for verb, resource
                    in list(changes)
                    if table.owners.get(resource.kind) in names],
        'failures': [
            *({'backend': each.name, 'kind': '', 'ref': '',
               'reason': each.unreadable}
              for each in internals.reconciler.health
              if each.name in names and each.unreadable),
            *_failures(table, names)]}


def _wait(internals: questions.Internals, names: Collection[str],
          timeout: float) -> list[str]:
    asked = time.monotonic()
    internals.trigger.fire('resync', stale=names, revived=names)
    while True:
        left = asked + timeout - time.monotonic()
        missing = [text for health in internals.reconciler.health
                   if health.name in names
                   for text in _missing(health, asked)]
        if not missing or left <= 0:
            return missing
        internals.passes.wait(min(left, _INTERVAL))


def _missing(health: healths.Health, asked: float) -> Iterator[str]:
    if health.working:
        yield f'{health.name} is at work'
    elif health.looked is None or health.looked < asked:
        yield f'{health.name} has not been read'


def _failures(table: tables.Table, names: Collection[str]
              ) -> list[dict[str, Any]]:
    found = [table.row(ref) for ref in (*table.entries, *table.conflicts)]
    return [{'backend': row.backend, 'kind': row.ref.kind,
             'ref': outcome.brief(row.ref.key), 'reason': row.reason}
            for row in sorted(found, key=lambda row: str(row.ref))
            if row.backend in names and (
                row.state in ledger.FAILING or
                row.state is ledger.State.DISPUTED)]


def _change(table: tables.Table, verb: str, resource: resources.Resource
            ) -> dict[str, Any]:
    return {'backend': table.owners.get(resource.kind), 'verb': verb,
            'kind': resource.kind, 'ref': outcome.brief(resource.key),
            'text': outcome.describe(resource)}


def compare(ask: questions.Ask, internals: questions.Internals,
            timeout: float = _READING) -> dict[str, Any]:
    """Compare the wanted with the actual state, with each system read.

    The reference documents the keys.
    """
    reconciler = internals.reconciler
    before = ask(reconciler.table)
    readings, unreadable = {}, {}
    for health in reconciler.health:
        try:
            readings[health.name] = _read(ask, internals, health.name, timeout)
        except commands.Refused:
            raise
        except Exception as e:
            # It may be foreign code.
            unreadable[health.name] = str(actual.expected(health.name, e))
    after = ask(reconciler.table)
    steps = [step for name, found in readings.items()
             for step in _differences(name, found, before, after)]
    steps.sort(key=_order)
    return {
        'steps': [_json(after, *step) for step in steps],
        'counts': {verb: sum(1 for step in steps if step[1] == verb)
                   for verb in _VERBS},
        'unreadable': unreadable,
        'problems': [
            *([after.held] if after.held else []),
            *(problem.text for problem in after.problems)] + [
            f'driver {driver} on {" ".join(filter(None, about))}: {why}'
            for (driver, *about), why in sorted(after.broken.items())]}


def _read(ask: questions.Ask, internals: questions.Internals, name: str,
          timeout: float) -> list[resources.Resource]:
    """The resources of a backend.

    :raises base.BackendError: when it cannot be read
    """
    deadline = time.monotonic() + timeout
    try:
        while True:
            answer = ask(lambda: internals.reconciler.backends.look(name))
            left = deadline - time.monotonic()
            if answer is not None:
                found: list[resources.Resource] = answer.result(
                    max(0.0, left))
                return found
            if left <= 0:
                raise base.BackendError(
                    f'it has been at work for {timeout:g} s')
            internals.passes.wait(min(left, _INTERVAL))
    except TimeoutError:
        raise base.BackendError(f'no answer within {timeout:g} s') from None


def _differences(name: str, found: list[resources.Resource],
                 before: tables.Table, after: tables.Table) -> Iterator[_Step]:
    """The changes of one backend, without those made meanwhile."""
    there = {resource.ref: resource for resource in found}
    kinds = {ref.kind for ref in there} | {
        kind for kind, owner in after.owners.items() if owner == name}
    wanted = {r.ref for r in after.tracker.wanted(kinds)}
    for ref in wanted | there.keys():
        have = there.get(ref)
        if any(table.tracker.settles(ref, have) for table in (before, after)):
            continue
        if after.row(ref).state is ledger.State.KEPT:
            continue
        want = after.tracker.desired(ref)
        about = want or have
        if about is not None:
            yield name, ('create' if have is None else
                         'delete' if want is None else
                         'update'), about, have, want


def _order(step: _Step) -> tuple[bool, int, str, str]:
    name, verb, resource, _was, _will = step
    stage = resource.stage
    return (verb == 'delete', -stage if verb == 'delete' else stage, name,
            str(resource.ref))


def _json(table: tables.Table, name: str, verb: str,
          resource: resources.Resource, was: resources.Resource | None,
          will: resources.Resource | None) -> dict[str, Any]:
    return {
        'backend': name, 'verb': verb, 'kind': resource.kind,
        'ref': outcome.brief(resource.key),
        'was': outcome.describe(was) if was else '',
        'will': outcome.describe(will) if will else '',
        'reason': _why(table, resources.Ref(resource.kind, resource.key))}


def _why(table: tables.Table, ref: resources.Ref) -> str:
    row = table.row(ref)
    holder = f' ({resource_rows.name(row.holder)})' if row.holder else ''
    return row.reason + holder if row.reason else ''
