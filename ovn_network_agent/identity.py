# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Differences by the identity of objects, in less than the time of a copy.

An event changes one of thousands of values, and each unchanged value is the
same object as before.  A set would hash and compare all of them.
"""

from collections.abc import Callable
from collections.abc import Hashable
from collections.abc import Iterable
from collections.abc import Sequence
import itertools
import operator
from typing import Generic
from typing import TypeVar

_T = TypeVar('_T')


def difference(before: Sequence[_T],
               now: Sequence[_T]) -> tuple[list[_T], list[_T]]:
    """The objects that one of two sequences has and the other does not.

    The cost is a comparison of identities for each object outside of the
    shortest part that has all changes, and several times as much within it.

    :param before: objects, each once; likewise now
    :returns: the objects of BEFORE alone, the objects of NOW alone
    """
    if before is now:
        return [], []
    at_most = min(len(before), len(now))
    first = _alike(before, now, at_most)
    last = _alike(reversed(before), reversed(now), at_most - first)
    old = _by_identity(before[first:len(before) - last])
    new = _by_identity(now[first:len(now) - last])
    return ([old[each] for each in old.keys() - new.keys()],
            [new[each] for each in new.keys() - old.keys()])


def _alike(one: Iterable[object], other: Iterable[object],
           at_most: int) -> int:
    """How many of the first pairs, AT_MOST, are the same object."""
    pairs = itertools.islice(map(operator.is_not, one, other), at_most)
    return next(itertools.compress(itertools.count(), pairs), at_most)


def _by_identity(values: Sequence[_T]) -> dict[int, _T]:
    """Values by the identity of their objects, a dict."""
    return dict(zip(map(id, values), values, strict=True))


class Parts(Generic[_T]):
    """Remembers the parts of a view.

    :param name: gives the name of a part
    """

    def __init__(self, name: Callable[[_T], Hashable]) -> None:
        self._name = name
        # They stay alive, so no other object gets the identity of one.
        self._known: Sequence[_T] = ()

    def __len__(self) -> int:
        return len(self._known)

    def forget(self) -> None:
        """Take all parts for new the next time."""
        self._known = ()

    def take(self, parts: Sequence[_T]) -> tuple[list[_T], list[_T]]:
        """Take note of the present parts.

        :returns: the parts that are not the same objects as before, the former
            parts whose names have no part any more
        """
        before, self._known = self._known, parts
        gone, come = difference(before, parts)
        names = set(map(self._name, come))
        return come, [part for part in gone
                      if self._name(part) not in names]
