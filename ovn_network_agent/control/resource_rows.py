# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Rows of the engine's table as JSON values and states of addresses.  Pure."""

from collections.abc import Iterable
from collections.abc import Sequence
import datetime
import enum
from typing import Any

from ovn_network_agent import resources
from ovn_network_agent.engine import ledger
from ovn_network_agent.engine import outcome
from ovn_network_agent.engine import table as tables

_DEPTH = 20  # resources that wait for each other in a row
_BROKEN = frozenset({ledger.State.REFUSED, ledger.State.UNREACHABLE,
                     ledger.State.DISPUTED})


def name(ref: resources.Ref) -> str:
    """The name of a resource in one line."""
    return f'{ref.kind} {outcome.brief(ref.key)}'.rstrip()


def has(key: tuple[Any, ...], address: str) -> bool:
    """Whether a key of a resource has an address, also with a length."""
    return any(f'{item}/'.startswith(f'{address}/') for item in key)


def build(row: tables.Row) -> dict[str, Any]:
    """One row, with the keys that the reference documents."""
    return {
        'kind': row.ref.kind, 'ref': outcome.brief(row.ref.key),
        'backend': row.backend or '', 'state': row.state.value,
        'reason': row.reason,
        'holder': name(row.holder) if row.holder else '',
        'due_in': None if row.due_in is None else round(row.due_in, 1),
        'since': time_text(row.began.wall if row.began else None),
        'wanted': outcome.describe(row.wanted) if row.wanted else '',
        'there': outcome.describe(row.there) if row.there else ''}


def stage(row: tables.Row) -> resources.Stage | None:
    """The stage of a row; None where nothing is known."""
    resource = row.wanted or row.there
    return resource.stage if resource else None


def with_required(table: tables.Table, refs: Iterable[resources.Ref],
                  alone: Iterable[resources.Ref] = ()) -> list[tables.Row]:
    """Some keys and their prerequisites, in the order of the work.

    Those in ``alone`` are without their prerequisites.
    """
    found, left = {ref: table.row(ref) for ref in alone}, list(refs)
    while left:
        ref = left.pop()
        if ref in found:
            continue
        found[ref] = row = table.row(ref)
        for resource in (row.wanted, row.there):
            left += resource.requires if resource else ()
    return sorted(found.values(),
                  key=lambda row: (stage(row) or 0, str(row.ref)))


class State(enum.Enum):
    """The state of an address on this node; the reference documents them."""

    ANNOUNCED = 'announced'
    WANTED = 'wanted'
    WAITING = 'waiting'
    FAILED = 'failed'
    HELD = 'held'
    WITHDRAWING = 'withdrawing'
    FORWARDED = 'forwarded'
    OMITTED = 'omitted'


# State, reason, begin.
Judgement = tuple[State, str, tables.StateTime | None]


def judge(table: tables.Table, found: Sequence[tables.Row]
          ) -> Judgement | None:
    """The state of an address that has resources.

    None when no resource says anything about its announcement.
    """
    announcing = [row for row in found
                  if stage(row) is resources.Stage.ANNOUNCE]
    wanted = [row for row in announcing if row.wanted]
    there = bool(wanted) and all(
        row.state is ledger.State.IN_PLACE for row in wanted)
    for row in found:
        if row.state in _BROKEN:
            return State.FAILED, _but(there, _why(row)), row.began
    for row in found:
        if row.state is ledger.State.WAITS:
            return State.WAITING, _but(there, _because(table, row)), row.began
    if there:
        return State.ANNOUNCED, _as_of(table, wanted), wanted[0].began
    for row in wanted:
        if row.state is not ledger.State.IN_PLACE:
            return State.WANTED, _work(row), row.began
    return _unwanted(announcing)


def _unwanted(announcing: Sequence[tables.Row]) -> Judgement | None:
    for row in announcing:
        if row.state in (ledger.State.KEPT, ledger.State.HELD):
            return State.HELD, row.reason, row.began
        if row.state is ledger.State.IN_PLACE:
            return (State.HELD, 'a driver cannot decide, so the announcement '
                    'stays as it is', row.began)
        return State.WITHDRAWING, _work(row), row.began
    return None


def _as_of(table: tables.Table, wanted: Sequence[tables.Row]) -> str:
    return next((f'as of the last reading; {row.backend}: '
                 f'{table.unreadable[row.backend]}' for row in wanted
                 if row.backend and row.backend in table.unreadable), '')


def _but(there: bool, why: str) -> str:
    return f'announced, but {why}' if there else why


def _why(row: tables.Row) -> str:
    verb = '' if row.wanted else 'removal of '
    return f'{verb}{name(row.ref)}: {row.reason}'


def _because(table: tables.Table, row: tables.Row) -> str:
    root = row
    for _step in range(_DEPTH):
        if root.holder is None or root.state is not ledger.State.WAITS:
            break
        root = table.row(root.holder)
    return row.reason + (
        f'; {_why(root)}' if root is not row and root.reason else '')


def _work(row: tables.Row) -> str:
    if row.state is ledger.State.UNDER_WAY:
        return f'{row.backend} works on it'
    return f'{name(row.ref)} is due'


def time_text(seconds: float | None) -> str:
    """Seconds since the epoch as 2026-01-31T12:00:00Z; '' for None."""
    if seconds is None:
        return ''
    return datetime.datetime.fromtimestamp(
        seconds, datetime.UTC).strftime('%Y-%m-%dT%H:%M:%SZ')
