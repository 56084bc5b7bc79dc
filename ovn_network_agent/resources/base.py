# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The base of all resources, their changes, and the statements of a driver."""

from collections.abc import Hashable
from collections.abc import Iterable
import dataclasses
import enum
import typing

#: The items differ with the kind.
Key: typing.TypeAlias = tuple[Hashable, ...]

# Addresses that the text of a problem names at most.
_NAMED = 5


class Stage(enum.IntEnum):
    """Order of creation; deletion runs in the reverse order."""

    # What keeps packets in comes first and goes last.
    GUARD = 5
    LINK = 10
    SYSCTL = 20
    ADDRESS = 30
    NEIGHBOUR = 40
    ROUTE = 50
    RULE = 60
    # The translation comes before the announcements attract its packets.
    TRANSLATION = 65
    FLOW = 70
    NORTHBOUND = 80
    FILTER = 90
    ANNOUNCE = 100
    # The lead makes a state last, and comes after the announcements.
    LEAD = 110


class Ref(typing.NamedTuple):
    """A reference to a resource: its kind and key."""

    kind: str
    key: Key


class _Referred:
    """Keeps a resource's reference out of the fields of its value."""

    __slots__ = ('_ref',)
    _ref: Ref


@dataclasses.dataclass(frozen=True, slots=True)
class Resource(_Referred):
    """Base of all resources."""

    # To be in place before this resource is created; not in the value.
    requires: tuple[Ref, ...] = dataclasses.field(
        default=(), compare=False, repr=False, kw_only=True)

    # As in logs and plans.
    kind: typing.ClassVar[str] = 'resource'
    # The key, in its order, or the class has a property key. All other fields
    # are the value.
    key_fields: typing.ClassVar[tuple[str, ...] | None] = None
    stage: typing.ClassVar[Stage] = Stage.LINK
    # The object stays although nothing wants it any more (a sysctl, whose
    # earlier value is unknown).
    retained: typing.ClassVar[bool] = False
    # Kind of those whose removal needs the object: it stays while one that
    # requires it could not be removed, or their backend cannot be read.
    needed_by: typing.ClassVar[str | None] = None

    @property
    def place(self) -> Key | None:
        """What the object does, if another of its kind can do the same.

        The object stays until the other is in place.
        """
        return None

    @property
    def key(self) -> Key:
        """The key of the object in its system, by :attr:`key_fields`."""
        if self.key_fields is None:
            raise NotImplementedError(f'the class {type(self).__name__} has '
                                      'no property key')
        return tuple([getattr(self, name) for name in self.key_fields])

    @property
    def ref(self) -> Ref:
        """The same object each time, shared by all who refer to the resource.
        """
        found: Ref | None = getattr(self, '_ref', None)
        if found is None:
            found = Ref(self.kind, self.key)
            object.__setattr__(self, '_ref', found)
        return found

    @property
    def follows(self) -> bool:
        """Whether no packet from outside needs the object.

        When a gateway moves here, such objects come after the announcements.
        """
        return self.stage > Stage.ANNOUNCE

    @property
    def leaves_early(self) -> bool:
        """Whether the object goes before the announcement of its address.

        Only if packets from outside and from this node still arrive without
        it, as long as the address is announced.
        """
        return False

    @property
    def subject(self) -> str | None:
        """The address of the resource ('198.51.100.10/32'), or None.

        Resources with the same subject depend on each other in the order of
        their stages: the announcement waits for the route, and the route stays
        while the announcement could not be withdrawn.
        """
        return None


@dataclasses.dataclass(frozen=True, slots=True)
class Problem(Resource):
    """Not an object but a statement: something is left out, and why.

    A driver leaves nothing out silently: this is in the log once, and in the
    plan and the state of the agent while it lasts.

    Problems with the same text and router are one: ``{count}`` in the text
    becomes the number of their addresses, ``{some}`` the first ones.
    """

    # What is left out, why, and the remedy.
    text: str
    # UUID of the router, '' without one.
    router: str = ''
    # That are left out; empty when it is not about single addresses.
    addresses: tuple[str, ...] = ()

    kind = 'problem'
    key_fields = ('text',)

    def naming(self, addresses: Iterable[str]) -> 'Problem':
        """The same problem of some addresses, which its text may name."""
        named = tuple(sorted(addresses))
        if not named:
            return self
        return dataclasses.replace(
            self, addresses=named, text=self.text.replace(
                '{count}', str(len(named))).replace(
                    '{some}', ', '.join(named[:_NAMED])))


@dataclasses.dataclass(frozen=True, slots=True)
class Keep(Resource):
    """Not an object but a statement: the object at ``of`` stays as found.

    For what a driver cannot or must not decide: rows that another chassis is
    about to take over, or a segment that cannot be resolved.
    """

    of: Ref
    # The object is somebody else's, or about to be, so it stays at the end of
    # the agent, too; one that was kept in doubt goes.
    foreign: bool = False

    kind = 'keep'
    key_fields = ('of',)


_Kind = typing.TypeVar('_Kind', bound=Resource)


@dataclasses.dataclass(frozen=True, slots=True)
class Delta:
    """The changes for one backend in one stage."""

    create: tuple[Resource, ...] = ()
    # (old, new) with equal keys.
    update: tuple[tuple[Resource, Resource], ...] = ()
    # As they were read or written.
    delete: tuple[Resource, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.create or self.update or self.delete)

    def __len__(self) -> int:
        return len(self.create) + len(self.update) + len(self.delete)

    @property
    def wanted(self) -> list[Resource]:
        """The resources to write: created ones, new values of updates."""
        return [*self.create, *(new for _old, new in self.update)]

    @property
    def steps(self) -> list[tuple[str, Resource]]:
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


def of_kind(kind: type[_Kind], found: Iterable[Resource]) -> list[_Kind]:
    """The resources of a class and its subclasses, in their order."""
    return [each for each in found if isinstance(each, kind)]


def updates_of(kind: type[_Kind], delta: Delta) -> list[tuple[_Kind, _Kind]]:
    """The updates of a class and its subclasses: (old, new)."""
    return [(old, new) for old, new in delta.update
            if isinstance(old, kind) and isinstance(new, kind)]
