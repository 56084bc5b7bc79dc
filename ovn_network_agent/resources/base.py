# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The base of all resources, and the statements of a driver."""

from collections.abc import Hashable
from collections.abc import Iterable
import dataclasses
import enum
import typing

#: The items differ with the kind.
Key: typing.TypeAlias = tuple[Hashable, ...]

# The most addresses that the text of a problem names.
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


@dataclasses.dataclass(frozen=True, slots=True)
class Ref:
    """A reference to a resource: its kind and key."""

    kind: str
    key: Key


class _Referred:
    """Keeps the reference to a resource, which is no field of its value."""

    __slots__ = ('_ref',)
    _ref: Ref


@dataclasses.dataclass(frozen=True, slots=True)
class Resource(_Referred):
    """Base of all resources."""

    # What has to be in place before this resource is created; not part of the
    # value.
    requires: tuple[Ref, ...] = dataclasses.field(
        default=(), compare=False, repr=False, kw_only=True)

    # As in logs and plans.
    kind: typing.ClassVar[str] = 'resource'
    # The fields that are the key, in its order; a class may define the
    # property key in their place.  All other fields are the value.
    key_fields: typing.ClassVar[tuple[str, ...] | None] = None
    stage: typing.ClassVar[Stage] = Stage.LINK
    # True when the object stays in the system although nothing wants the
    # object any more (a sysctl, whose earlier value is unknown).
    retained: typing.ClassVar[bool] = False

    @property
    def place(self) -> Key | None:
        """What the object does, if another object of the kind can do the same.

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
        """The reference to this resource, the same object each time.

        So the many places that refer to a resource share one reference and
        one key.
        """
        try:
            return self._ref
        except AttributeError:
            # The key comes first: a class without a key has to raise its own
            # error.
            key = self.key
        object.__setattr__(self, '_ref', Ref(self.kind, key))
        return self._ref

    @property
    def follows(self) -> bool:
        """Whether no packet from outside needs the object.

        When a gateway has moved here, such objects come after the
        announcements.
        """
        return self.stage > Stage.ANNOUNCE

    @property
    def leaves_early(self) -> bool:
        """Whether the object goes before the announcement of its address.

        True only for an object without which packets from outside and from
        this node still arrive, as long as the address is announced.
        """
        return False

    @property
    def subject(self) -> str | None:
        """The address of the resource ('198.51.100.10/32'), or None.

        Resources with the same subject depend on each other in the order of
        their stages: an announcement is held back when the route of its
        address failed, and the route stays while the announcement of its
        address could not be withdrawn.
        """
        return None


@dataclasses.dataclass(frozen=True, slots=True)
class Problem(Resource):
    """Not an object but a statement: something is left out, and why.

    A driver leaves nothing out silently.  The problem appears in the log once,
    in the plan, and in the state of the agent as long as the problem lasts.

    Problems with the same text and router are one, with all their addresses:
    ``{count}`` in the text becomes their number, ``{some}`` the first ones.
    """

    # For the operator: what is left out, why, and the remedy.
    text: str
    # UUID of the router, '' without one.
    router: str = ''
    # The addresses that are left out; empty when the problem is not about
    # single addresses.
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

    A driver yields this where the driver cannot or must not decide: about rows
    that another chassis is about to take over, or about a segment that cannot
    be resolved.
    """

    # The resource that is neither created, changed nor deleted.
    of: Ref
    # Whether the object belongs to somebody else, or is about to. Such an
    # object stays at the end of the agent, too; an object that was kept in
    # doubt goes.
    foreign: bool = False

    kind = 'keep'
    key_fields = ('of',)
