# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backends that are read again and repaired at once, and the result."""

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
import time
from typing import Any

from ovn_network_agent import resources
from ovn_network_agent.control.socket import commands
from ovn_network_agent.engine import health as healths
from ovn_network_agent.engine import ledger
from ovn_network_agent.engine import outcome
from ovn_network_agent.engine import table as tables
from ovn_network_agent.runtime import agent_parts as insides
from ovn_network_agent.runtime import questions

TIMEOUT = 60.0  # seconds for the result
_INTERVAL = 0.5  # longest seconds between looks


class Resync:
    """Has the loop read backends, and waits."""

    def __init__(self, ask: questions.Ask, inside: insides.Inside) -> None:
        self._ask = ask
        self._inside = inside

    def run(self, names: Collection[str], timeout: float, force: bool = False
            ) -> dict[str, Any]:
        """Read backends again, all without ``names``, without their back-off.

        ``force`` also withdraws what the withdrawal guard holds.  The
        reference documents the answer.

        :raises commands.Refused: for an unknown name, or without a loop
        """
        known = [health.name for health in self._inside.reconciler.health]
        unknown = sorted(set(names) - set(known))
        if unknown:
            raise commands.Refused(
                f'there is no backend {", ".join(unknown)}; there are '
                f'{", ".join(sorted(known))}')
        names = [name for name in known if name in names or not names]
        # Fails at once where no pass would follow.
        released = self._ask(self._inside.reconciler.guard.release if force
                             else lambda: 0)
        with self._inside.passes.changes() as changes:
            missing = self._wait(names, timeout)
            table = self._ask(self._inside.reconciler.table)
        health = {each.name: each for each in self._inside.reconciler.health}
        return {
            'backends': names, 'missing': missing, 'released': released,
            'changes': [_change(table, verb, resource) for verb, resource
                        in list(changes)
                        if table.owners.get(resource.kind) in names],
            'failures': [*_unreadable(health, names), *_failures(table,
                                                                  names)]}

    def _wait(self, names: Collection[str], timeout: float) -> list[str]:
        asked = time.monotonic()
        self._inside.trigger.fire('resync', stale=names, revived=names)
        while True:
            left = asked + timeout - time.monotonic()
            missing = [text for health in self._inside.reconciler.health
                       if health.name in names
                       for text in _missing(health, asked)]
            if not missing or left <= 0:
                return missing
            self._inside.passes.wait(min(left, _INTERVAL))


def _missing(health: healths.Health, asked: float) -> Iterator[str]:
    if health.working:
        yield f'{health.name} is at work'
    elif health.looked is None or health.looked < asked:
        yield f'{health.name} has not been read'


def _unreadable(health: Mapping[str, healths.Health], names: Collection[str]
                ) -> list[dict[str, str]]:
    return [{'backend': name, 'kind': '', 'ref': '',
             'reason': health[name].unreadable}
            for name in names if health[name].unreadable]


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
