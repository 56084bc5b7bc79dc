# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The part of a delta that is about the table of one family.

Pure.
"""

import collections
import dataclasses

from ovn_network_agent import resources
from ovn_network_agent.nft import elements


@dataclasses.dataclass(frozen=True, slots=True)
class Work:
    """The changes to make.

    :ivar table: NftTable to load, or None
    :ivar unwanted: NftTable to take away, or None
    :ivar adds: list of NftElement
    :ivar deletes: likewise
    """

    table: resources.NftTable | None = None
    unwanted: resources.NftTable | None = None
    adds: tuple = ()
    deletes: tuple = ()


def work_for(delta, family):
    """The :class:`Work` of a delta, or None when there is none.

    :param delta: :class:`base.Delta`
    :param family: 'ip' or 'ip6'
    """
    wanted = [r for r in delta.wanted if r.family == family]
    unwanted = [r for r in delta.delete if r.family == family]
    if not wanted and not unwanted:
        return None
    return Work(_table(wanted), _table(unwanted), _elements(wanted),
                _elements(unwanted))


def _table(found):
    return next((r for r in found if isinstance(r, resources.NftTable)),
                None)


def _elements(found):
    return [r for r in found if isinstance(r, resources.NftElement)]


def possible(family, adds, sets):
    """Elements that a table can have.

    :param sets: names of its sets
    :returns: (dict of Ref to reason, list of the others)
    """
    failures = {}
    for resource in adds:
        try:
            elements.added(family, resource.set, resource.element)
            if resource.set not in sets:
                raise ValueError(f'there is no set {resource.set} for it')
        except (TypeError, ValueError) as error:
            failures[resource.ref] = str(error)
    return failures, [r for r in adds if r.ref not in failures]


def by_set(entries):
    """{set: sorted list of elements} of (set, element)."""
    sets = collections.defaultdict(list)
    for name, element in sorted(entries):
        sets[name].append(element)
    return dict(sets)
