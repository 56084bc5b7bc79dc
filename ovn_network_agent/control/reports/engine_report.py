# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The part of "status" about the engine: backends, passes and repairs.

It needs nothing of the loop, which may be stuck.
"""

from collections.abc import Iterator
import time
import typing
from typing import Any

from ovn_network_agent.control import timestamps

if typing.TYPE_CHECKING:
    # A command imports this module, and starts without the engine.
    from ovn_network_agent.engine import health as healths
    from ovn_network_agent.runtime import agent_parts
    from ovn_network_agent.runtime import pass_log


def build(parts: 'agent_parts.Inside | None') -> dict[str, Any]:
    """The engine's state as in the reference; None without a loop."""
    if parts is None:
        return {'started': '', 'working': '', 'backends': [], 'passes': [],
                'repairs': []}
    health = parts.reconciler.health
    return {
        'started': timestamps.text(parts.started),
        'working': parts.passes.work,
        'backends': [_backend(each) for each in health],
        'passes': [_pass(done) for done in parts.passes.last],
        'repairs': [
            {'backend': each.name, 'kind': repair.kind,
             'count': repair.count, 'last': timestamps.text(repair.last)}
            for each in health for repair in each.repairs]}


def _backend(health: 'healths.Health') -> dict[str, Any]:
    retry = (None if health.retry is None else
             round(max(0.0, health.retry - time.monotonic()), 1))
    return {'name': health.name, 'state': health.state,
            'reason': health.unreadable or health.reason,
            'failed': health.failed,
            'last_read': timestamps.text(health.read), 'retry_in': retry}


def _pass(done: 'pass_log.Done') -> dict[str, Any]:
    return {'at': timestamps.text(done.at), 'reasons': list(done.reasons),
            'changes': done.changes, 'seconds': round(done.seconds, 4),
            'full': done.full, 'trouble': done.trouble}


_SHOWN = 5  # in the text; JSON has all that are remembered
_REASONS = 3  # reasons of a pass in one line


def text(found: dict[str, Any]) -> Iterator[str]:
    """The state of the engine in lines."""
    if found['working']:
        yield f'at work: {found["working"]}'
    if found['backends']:
        yield from _backends(found['backends'])
    if found['repairs']:
        yield 'repairs of what others removed or changed:'
        width = max(len(each['kind']) for each in found['repairs'])
        for each in found['repairs']:
            yield (f'  {each["kind"]:<{width}}  {each["count"]:d} times, '
                   f'last {each["last"]}')
    if found['passes']:
        yield 'last passes:'
        for done in found['passes'][-_SHOWN:]:
            yield '  ' + _line(done)


def _backends(backends: list[dict[str, Any]]) -> Iterator[str]:
    well = sum(1 for each in backends if each['state'] == 'ok')
    yield f'backends: {well:d} of {len(backends):d} ok'
    width = max(len(each['name']) for each in backends)
    for each in backends:
        if each['state'] == 'ok':
            continue
        parts = [each['state']]
        if each['failed']:
            parts.append(f'{each["failed"]:d} resources')
        if each['reason']:
            parts.append(each['reason'])
        parts.append(f'last read {each["last_read"] or "never"}')
        if each['retry_in'] is not None:
            parts.append(f'again in {each["retry_in"]:.0f} s')
        yield f'  {each["name"]:<{width}}  {"; ".join(parts)}'


def _line(done: dict[str, Any]) -> str:
    reasons = ', '.join(done['reasons'][:_REASONS])
    if len(done['reasons']) > _REASONS:
        reasons += ', ...'
    full = ', everything read' if done['full'] else ''
    problem = f': {done["trouble"]}' if done['trouble'] else ''
    return (f'{done["at"]}  {done["seconds"] * 1000:8.1f} ms  '
            f'{done["changes"]:5d} changes  for {reasons}{full}{problem}')
