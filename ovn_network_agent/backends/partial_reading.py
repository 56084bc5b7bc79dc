# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What a reading has found, by portions that a later reading may repeat."""

from collections.abc import Hashable
from collections.abc import Iterable
from collections.abc import KeysView
from typing import Any
from typing import Generic
from typing import TypeVar

from ovn_network_agent import resources

_Kind = TypeVar('_Kind', bound=resources.Resource)


class Memory(Generic[_Kind]):
    """The resources of the last reading.

    A key, as a digest, says all about its portion. So what is remembered
    cannot differ from the system: it is looked up only by a key of now.
    """

    def __init__(self) -> None:
        self._found: list[_Kind] = []
        self._places: dict[Hashable, slice] = {}

    @property
    def keys(self) -> KeysView[Any]:
        """The keys of all portions."""
        return self._places.keys()

    def take(self, portions: Iterable[tuple[Hashable, list[_Kind] | None]]
             ) -> list[_Kind]:
        """Replace what is remembered.

        :param portions: resources by key, None for those that the memory has
        :returns: of all portions, the memory's own list: the engine puts the
            objects that it has in place of equal ones
        """
        found: list[_Kind] = []
        places: dict[Hashable, slice] = {}
        for key, some in portions:
            start = len(found)
            found += self._found[self._places[key]] if some is None else some
            places[key] = slice(start, len(found))
        self._found, self._places = found, places
        return found
