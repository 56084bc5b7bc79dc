# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The part of a delta that is about the table of one family. Pure."""

import collections
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
import typing

from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.nft import elements

_Resource: typing.TypeAlias = resources.NftTable | resources.NftElement


@dataclasses.dataclass(frozen=True, slots=True)
class Work:
    """The changes to make."""

    # To load.
    table: resources.NftTable | None = None
    # To take away.
    unwanted: resources.NftTable | None = None
    adds: Sequence[resources.NftElement] = ()
    deletes: Sequence[resources.NftElement] = ()


def work_for(delta: base.Delta, family: str) -> Work | None:
    """The work of a delta for 'ip' or 'ip6'."""
    wanted, unwanted = ([
        r for r in some if isinstance(r, _Resource) and r.family == family]
        for some in (delta.wanted, delta.delete))
    if not wanted and not unwanted:
        return None
    return Work(_table(wanted), _table(unwanted), _elements(wanted),
                _elements(unwanted))


def _table(found: Iterable[_Resource]) -> resources.NftTable | None:
    return next((r for r in found if isinstance(r, resources.NftTable)),
                None)


def _elements(found: Iterable[_Resource]) -> list[resources.NftElement]:
    return [r for r in found if isinstance(r, resources.NftElement)]


def possible(family: str, adds: Iterable[resources.NftElement],
             sets: Collection[str]
             ) -> tuple[base.Failures, list[resources.NftElement]]:
    """The reasons against elements that a table's sets lack; the others."""
    failures = {}
    for resource in adds:
        try:
            elements.added(family, resource.set, resource.element)
            if resource.set not in sets:
                raise ValueError(f'there is no set {resource.set} for it')
        except (TypeError, ValueError) as error:
            failures[resource.ref] = str(error)
    return failures, [r for r in adds if r.ref not in failures]


def by_set(entries: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """The sorted elements of (set, element), by set."""
    sets = collections.defaultdict(list)
    for name, element in sorted(entries):
        sets[name].append(element)
    return dict(sets)
