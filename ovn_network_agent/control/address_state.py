# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The state of one address, from the rows of its resources.  Pure."""

from collections.abc import Sequence
import enum

from ovn_network_agent import resources
from ovn_network_agent.control import resource_rows
from ovn_network_agent.engine import ledger
from ovn_network_agent.engine import state_times
from ovn_network_agent.engine import table as tables

_DEPTH = 20  # resources that wait for each other in a row
_BROKEN = frozenset({ledger.State.REFUSED, ledger.State.UNREACHABLE,
                     ledger.State.DISPUTED})


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
Judgement = tuple[State, str, state_times.StateTime | None]


def judge(table: tables.Table, found: Sequence[tables.Row]
          ) -> Judgement | None:
    """The state of an address that has resources.

    None when no resource says anything about its announcement.
    """
    announcing = [row for row in found
                  if resource_rows.stage(row) is resources.Stage.ANNOUNCE]
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
    return f'{verb}{resource_rows.name(row.ref)}: {row.reason}'


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
    return f'{resource_rows.name(row.ref)} is due'
