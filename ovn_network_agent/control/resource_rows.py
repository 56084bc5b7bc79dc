# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Rows of the engine's table as JSON values.  Pure."""

from collections.abc import Iterable
from typing import Any

from ovn_network_agent import resources
from ovn_network_agent.control import timestamps
from ovn_network_agent.engine import outcome
from ovn_network_agent.engine import table as tables


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
        'since': timestamps.text(row.began.wall if row.began else None),
        'wanted': outcome.describe(row.wanted) if row.wanted else '',
        'there': outcome.describe(row.there) if row.there else ''}


def stage(row: tables.Row) -> resources.Stage | None:
    """The stage of a row; None where nothing is known."""
    resource = row.wanted or row.there
    return resource.stage if resource else None


def around(table: tables.Table, refs: Iterable[resources.Ref],
           beside: Iterable[resources.Ref] = ()) -> list[tables.Row]:
    """Some keys and their prerequisites, in the order of the work.

    Those beside are without their prerequisites.
    """
    found, left = {ref: table.row(ref) for ref in beside}, list(refs)
    while left:
        ref = left.pop()
        if ref in found:
            continue
        found[ref] = row = table.row(ref)
        for resource in (row.wanted, row.there):
            left += resource.requires if resource else ()
    return sorted(found.values(),
                  key=lambda row: (stage(row) or 0, str(row.ref)))
