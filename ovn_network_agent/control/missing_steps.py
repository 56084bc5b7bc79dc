# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The missing steps of a drain or an undrain.  Pure.

``done`` is the answer to the command (:mod:`drains`), ``state`` that to a
later "status" (:mod:`report`).
"""

from typing import Any

from ovn_network_agent import model

_NAMED = 10  # gateways in one line


def missing(done: dict[str, Any], state: dict[str, Any]) -> list[str]:
    """The steps that a command still waits for."""
    if state['phase'] == model.Phase.RESTORING.value:
        return ['the agent has not seen OVN yet']
    away = [f'database {name}: {database["trouble"]}'
            for name, database in sorted(state['databases'].items())
            if not database['connected']]
    if not _seen(done, set(state['drains'])):
        return away or ['the agent has not seen the request yet']
    return away + [f'{group["label"]}: {", ".join(group["pending"])}'
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
        parts += steps[:_NAMED]
        if len(steps) > _NAMED:
            parts.append(f'and {len(steps) - _NAMED} more')
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
        return model.ALL in drains or wanted <= drains
    return not drains if model.ALL in wanted else wanted.isdisjoint(drains)


def _concerned(done: dict[str, Any], group: dict[str, Any]) -> bool:
    wanted = set(done['wanted'])
    drain = done['command'] == 'drain'
    # After an undrain, another router may still be drained.
    return bool(group['wish']) is drain and (
        model.ALL in wanted or not wanted.isdisjoint(group['routers']))
