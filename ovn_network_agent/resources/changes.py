# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The changes that one backend makes in one stage."""

from collections.abc import Iterable
import dataclasses
import typing

from ovn_network_agent.resources import base

_Kind = typing.TypeVar('_Kind', bound=base.Resource)


@dataclasses.dataclass(frozen=True, slots=True)
class Delta:
    """The changes for one backend in one stage."""

    create: tuple[base.Resource, ...] = ()
    # (old, new) with equal keys.
    update: tuple[tuple[base.Resource, base.Resource], ...] = ()
    # As they were read or written.
    delete: tuple[base.Resource, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.create or self.update or self.delete)

    def __len__(self) -> int:
        return len(self.create) + len(self.update) + len(self.delete)

    @property
    def wanted(self) -> list[base.Resource]:
        """The resources to write: created ones, new values of updates."""
        return [*self.create, *(new for _old, new in self.update)]

    @property
    def steps(self) -> list[tuple[str, base.Resource]]:
        """The changes in words: (verb, resource)."""
        return ([('created', r) for r in self.create] +
                [('updated', new) for _old, new in self.update] +
                [('deleted', r) for r in self.delete])

    def split(self, most: int) -> tuple['Delta', 'Delta']:
        """The first changes, at most so many, and the others."""
        create = self.create[:most]
        update = self.update[:most - len(create)]
        delete = self.delete[:most - len(create) - len(update)]
        return Delta(create, update, delete), Delta(
            self.create[len(create):], self.update[len(update):],
            self.delete[len(delete):])


def of_kind(kind: type[_Kind], found: Iterable[base.Resource]) -> list[_Kind]:
    """The resources of a class and its subclasses, in their order."""
    return [each for each in found if isinstance(each, kind)]


def updates_of(kind: type[_Kind], delta: Delta) -> list[tuple[_Kind, _Kind]]:
    """The updates of a class and its subclasses: (old, new)."""
    return [(old, new) for old, new in delta.update
            if isinstance(old, kind) and isinstance(new, kind)]
