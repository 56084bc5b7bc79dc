# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A mapping of thousands of keys, of which an event changes a few.  Pure.

A new version shares all buckets with the former one but those that differ, so
its costs, and those to find what differs, follow from the change.
"""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import itertools
from typing import Any
from typing import TypeVar

_V = TypeVar('_V')
# Of 10,000 keys, 40 are in a bucket.
_MOST = 256


class Buckets(Mapping[str, _V]):
    """A mapping that nobody changes."""

    __slots__ = ('_buckets',)

    def __init__(self, buckets: Mapping[int, Mapping[str, _V]]) -> None:
        # By number; none is empty.
        self._buckets = buckets

    def __getitem__(self, key: str) -> _V:
        return self._buckets.get(_number(key), {})[key]

    def __iter__(self) -> Iterator[str]:
        return itertools.chain.from_iterable(self._buckets.values())

    def __len__(self) -> int:
        return sum(map(len, self._buckets.values()))

    def __eq__(self, other: object) -> bool:
        # Most buckets are the same object.
        return (self._buckets == other._buckets if isinstance(other, Buckets)
                else super().__eq__(other))

    def __repr__(self) -> str:
        return repr(dict(self))

    def changed(self, removed: Iterable[str],
                added: Mapping[str, _V]) -> 'Buckets[_V]':
        """The next version, this one if it is equal.

        An equal value is the same object as before.

        :param removed: keys, which may be in ``added``, too
        """
        made: dict[int, dict[str, _V]] = {}
        for key in {*removed, *added}:
            number = _number(key)
            if number not in made:
                made[number] = dict(self._buckets.get(number, {}))
            if key not in added:
                made[number].pop(key, None)
            elif key not in made[number] or made[number][key] != added[key]:
                made[number][key] = added[key]
        new = {number: each for number, each in made.items()
               if each != self._buckets.get(number, {})}
        if not new:
            return self
        kept = {**self._buckets, **new}
        for number, each in new.items():
            if not each:
                del kept[number]
        return Buckets(kept)


EMPTY = Buckets[Any]({})


def differing(before: Mapping[str, _V], now: Mapping[str, _V]
              ) -> Iterator[tuple[Mapping[str, _V], Mapping[str, _V]]]:
    """The parts of two mappings that may differ, side by side."""
    if isinstance(before, Buckets) and isinstance(now, Buckets):
        old, new = before._buckets, now._buckets
        for number in old.keys() | new.keys():
            if old.get(number) is not new.get(number):
                yield old.get(number, {}), new.get(number, {})
    else:
        yield before, now


def _number(key: str) -> int:
    return hash(key) % _MOST
