# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""An index that finds rows by prefixes that overlap.  Pure.

NB may have thousands of networks, and an event asks about a few.
"""

import bisect
import collections
from collections.abc import Hashable
from collections.abc import Iterator
from typing import Any
from typing import cast

from ovn_network_agent.common import ip_text
from ovn_network_agent.common import networks
from ovn_network_agent.ovn import indexes
from ovn_network_agent.ovsdb import columns

#: IP version, first address, length.
Key = tuple[int, int, int]


def key(network: ip_text.Network) -> Key:
    """The key of a network."""
    return network.version, int(network.network_address), network.prefixlen


def of_port(row: Any) -> set[Key]:
    """The keys of a row of Logical_Router_Port."""
    interfaces = map(networks.parse_interface,
                     columns.atoms(row, 'networks'))
    return {key(each.network) for each in interfaces if each}


class Prefixes:
    """A set of keys."""

    def __init__(self) -> None:
        self._sorted: list[Key] = []
        self._lengths: collections.Counter[tuple[int, int]] = (
            collections.Counter())

    def add(self, new: Key) -> None:
        """Add a key that is not there."""
        bisect.insort(self._sorted, new)
        self._lengths[new[0], new[2]] += 1

    def remove(self, old: Key) -> None:
        """Remove a key that is there."""
        del self._sorted[bisect.bisect_left(self._sorted, old)]
        self._lengths[old[0], old[2]] -= 1

    def __contains__(self, wanted: Key) -> bool:
        at = bisect.bisect_left(self._sorted, wanted)
        return at < len(self._sorted) and self._sorted[at] == wanted

    def overlapping(self, wanted: Key) -> Iterator[Key]:
        """The keys that overlap with a key, itself, too."""
        version, first, length = wanted
        size = 1 << ((32 if version == 4 else 128) - length)
        for other in range(length):
            # Those that begin with the same address follow below.
            begin = _begin(version, first, other)
            if begin != first and self._lengths[version, other]:
                wider = version, begin, other
                if wider in self:
                    yield wider
        yield from self._sorted[
            bisect.bisect_left(self._sorted, (version, first, 0)):
            bisect.bisect_left(self._sorted, (version, first + size, 0))]


def _begin(version: int, address: int, length: int) -> int:
    host = (32 if version == 4 else 128) - length
    return address >> host << host


class Overlapping(indexes.Index):
    """Finds the rows whose keys overlap with a key; see :class:`Key`."""

    def __init__(self, keys: Any) -> None:
        super().__init__(keys)
        self._present = Prefixes()
        # What somebody has asked for depends on all keys it overlaps with.
        self._requested = Prefixes()

    def update(self, uuid: Any, row: Any) -> set[Any]:
        """See :class:`indexes.Index`; all that a change is about."""
        return {key for changed in super().update(uuid, row)
                for key in (*self._requested.overlapping(changed), changed)}

    def rebuild(self, rows: Any) -> None:
        """See :class:`indexes.Index`."""
        self._present = Prefixes()
        super().rebuild(rows)

    def find(self, key: Hashable) -> frozenset[Any]:
        """UUIDs of the rows with a key that overlaps."""
        wanted = cast(Key, key)
        if wanted not in self._requested:
            self._requested.add(wanted)
        return frozenset(uuid for each in self._present.overlapping(wanted)
                         for uuid in super(Overlapping, self).find(each))

    def _add(self, key: Hashable, uuid: Any) -> None:
        if key not in self._uuids:
            self._present.add(cast(Key, key))
        super()._add(key, uuid)

    def _drop(self, key: Hashable, uuid: Any) -> None:
        super()._drop(key, uuid)
        if key not in self._uuids:
            self._present.remove(cast(Key, key))
