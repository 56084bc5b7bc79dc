# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The changes that the running agent would make: each system read again.

The engine takes no note.  The loop reads one backend after the other, so an
event waits for one at the most; what may hang is read beside the loop.
"""

from collections.abc import Iterator
import time
from typing import Any

from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.control import resource_rows
from ovn_network_agent.control.socket import commands
from ovn_network_agent.engine import actual
from ovn_network_agent.engine import ledger
from ovn_network_agent.engine import outcome
from ovn_network_agent.engine import table as tables
from ovn_network_agent.runtime import agent_parts as insides
from ovn_network_agent.runtime import questions

# Seconds to wait for one backend that works, and for its answer.
TIMEOUT = 30.0
_VERBS = ('create', 'update', 'delete')
# Backend, verb, a resource, and what it was and will be.
_Step = tuple[str, str, resources.Resource, resources.Resource | None,
              resources.Resource | None]


class Comparison:
    """Compares the wanted with the actual state of all backends."""

    def __init__(self, ask: questions.Ask, inside: insides.Inside,
                 timeout: float = TIMEOUT) -> None:
        self._ask = ask
        self._inside = inside
        self._timeout = timeout

    def run(self) -> dict[str, Any]:
        """Read all systems; the reference documents the keys."""
        reconciler = self._inside.reconciler
        before = self._ask(reconciler.table)
        readings, unreadable = {}, {}
        for health in reconciler.health:
            try:
                readings[health.name] = self._read(health.name)
            except commands.Refused:
                raise
            except Exception as e:
                # It may be foreign code.
                unreadable[health.name] = str(actual.expected(health.name,
                                                              e))
        after = self._ask(reconciler.table)
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

    def _read(self, name: str) -> list[resources.Resource]:
        """The resources of a backend.

        :raises base.BackendError: when it cannot be read
        """
        deadline = time.monotonic() + self._timeout
        try:
            while True:
                answer = self._ask(
                    lambda: self._inside.reconciler.backends.look(name))
                left = deadline - time.monotonic()
                if answer is not None:
                    found: list[resources.Resource] = answer.result(
                        max(0.0, left))
                    return found
                if left <= 0:
                    raise base.BackendError(
                        f'it has been at work for {self._timeout:g} s')
                self._inside.passes.wait(min(left, 0.5))
        except TimeoutError:
            raise base.BackendError(
                f'no answer within {self._timeout:g} s') from None


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
