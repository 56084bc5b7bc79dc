# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The interface of backends: each owns kinds of resources of one system.

A backend recognises the agent's objects, and keeps no state that could differ
from the system: the reconciler caches the actual state. Its I/O goes through
:mod:`ovn_network_agent.privileged` where it needs privileges.
"""

import abc
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Hashable
from collections.abc import Iterable
from collections.abc import KeysView
from collections.abc import Mapping
from collections.abc import Sequence
from collections.abc import Set
import dataclasses
import functools
import typing
from typing import Any
from typing import Generic
from typing import TypeVar

from ovn_network_agent import ownership
from ovn_network_agent import resources

#: A stable name of this module, for backends, their tests and the engine.
Delta = resources.Delta
Known: typing.TypeAlias = frozenset[resources.Ref]
#: What failed, and why
Failures: typing.TypeAlias = dict[resources.Ref, str]
Reading: typing.TypeAlias = tuple[
    Sequence[resources.Resource] | None, typing.Any]

_Kind = TypeVar('_Kind', bound=resources.Resource)


@dataclasses.dataclass(frozen=True, slots=True)
class Context:
    """What of the running agent backends may use."""

    # ovsdb.connection.Database by 'nb', 'sb' and 'ovs'.
    databases: Mapping[str, typing.Any] = dataclasses.field(
        default_factory=dict)
    # As model.Node.marks: of this chassis' rows of NB; none while unknown.
    marks: Callable[[], Set[ownership.Owner]] = frozenset
    # System-id of this chassis, '' while unknown.
    chassis: Callable[[], str] = str
    # Gone for good.
    dead: Callable[[], Set[ownership.Owner]] = frozenset
    silent: Callable[[], Set[ownership.Owner]] = frozenset
    # (reason, stale=(), revived=()), words of the module notices, from any
    # thread; None without a loop.
    wake: Callable[..., object] | None = None
    # (table, UUID as text) of the last view's gateway groups; None without a
    # view, as type(None)() is.
    groups: Callable[[], Set[tuple[str, str]] | None] = type(None)
    # Monotonic seconds of the last view; by default, every view is new.
    viewed: Callable[[], float] = functools.partial(float, 'inf')


def doubted(backends: 'Iterable[Backend]',
            words: Collection[str]) -> set[str]:
    """Names of the backends whose state some words put in doubt.

    The words are those of :mod:`ovn_network_agent.common.notices`.
    """
    return {b.name for b in backends
            if not {b.name, *b.doubted_by}.isdisjoint(words)}


def doubted_kinds(backends: 'Collection[Backend]', word: str) -> set[str]:
    """Names of the kinds of resources that a word puts in doubt."""
    names = doubted(backends, (word,))
    return {kind.kind for b in backends if b.name in names
            for kind in b.kinds}


def revived(backends: 'Iterable[Backend]',
            words: Collection[str]) -> set[str]:
    """Names of the backends whose system has come back."""
    return {b.name for b in backends
            if not {b.name, *b.revived_by}.isdisjoint(words)}


class BackendError(Exception):
    """The system could not be read or reached; the text says why."""


class Kept(str):
    """In an answer: why an object stays on purpose, which is no failure.

    The deletion would remove objects of others, too. No other resource waits
    for it, and it is tried again after a back-off of its own, because the
    reason may have gone.
    """


class LeftToAnother(Kept):
    """In an answer: one agent alone makes such changes, and another one is it.

    The usual state of all other agents, so the log has it at DEBUG.
    """


class Backend(abc.ABC):
    """Owner of some kinds of resources in one target system.

    Loaded by stevedore from ``ovn_network_agent.backends``, and created with
    ``conf`` (the oslo.config ConfigOpts). All methods run on the loop thread,
    except with :attr:`concurrent` and :attr:`system`.
    """

    #: oslo.config options of the group named like the backend, registered
    #: before its creation; a driver of the same name shares the group
    CONFIG_OPTS = ()
    #: in logs and "ovn-network-agent-ctl status"; '' for the name of the entry
    #: point
    name: str = ''
    kinds: tuple[type[resources.Resource], ...] = ()
    #: backends whose cached state is void after a change by this one (the
    #: kernel removes routes and addresses with a link)
    invalidates: tuple[str, ...] = ()
    #: words of :mod:`ovn_network_agent.common.notices` after which the next
    #: pass reads the state again
    doubted_by: tuple[str, ...] = ()
    #: words for the return of the system: failed changes need no back-off
    revived_by: tuple[str, ...] = ()
    #: read() finds wanted objects alone, so the engine looks for a newly
    #: wanted object before it is made
    finds_wanted_only: bool = False
    #: whether read() looks at ``known``
    uses_known: bool = True
    #: that the backend writes: 'nb', 'sb', 'ovs', or ''; a stop does not wait
    #: for one that the agent has never reached
    database: str = ''
    #: apply() runs beside the loop, because a remote database, or a wait, must
    #: not delay the other backends
    concurrent: bool = False
    #: a system that may hang, or ''; then read() and apply() run beside the
    #: loop, which waits only for a moment, and only one backend of a system
    #: makes changes at a time
    system: str = ''
    #: seconds that the loop waits for apply() with a :attr:`system`, None for
    #: :data:`engine.executor.PATIENCE`; only without a number here, longer
    #: work is a warning
    patience: float | None = None
    #: most changes in one apply() that the loop waits for at all, None for any
    #: number; more take their time in a system that is well
    awaited_at_most: int | None = None
    #: most changes in one apply() with a :attr:`system`, None for any number;
    #: other backends of the system come before the rest, and what is no longer
    #: wanted by then is left out
    max_changes: int | None = None
    #: the :class:`ovsdb.lock.Lock` that makes this agent the writer, for
    #: objects that belong to no node
    lock: typing.Any = None
    #: metrics, by name; replaced as a whole, because other threads read them
    counts: Mapping[str, int] = {}

    def __init__(self, conf: typing.Any) -> None:
        self.conf = conf

    @classmethod
    def runs_without_ovn(cls, conf: typing.Any) -> bool:
        """Whether the port-forward-only mode has a use for this backend."""
        return False

    def check(self) -> list[str]:
        """What prevents a start, each text with option, value and remedy."""
        return []

    def attach(self, context: Context) -> None:
        """Receive the parts of the running agent; called once, early."""

    @abc.abstractmethod
    def read(self, known: Known) -> Sequence[resources.Resource]:
        """Read the actual state: all objects of the agent, and no others.

        :param known: desired, or believed to exist; needed only for objects
            that may lack a mark (sysctls, addresses, neighbours)
        :raises BackendError: when the system cannot be read; the reconciler
            then keeps the last known state and tries again
        """

    def reread(self, known: Callable[[], Known], mark: typing.Any
               ) -> Reading:
        """Read the actual state, unless it is the same as at a reading.

        The engine passes a mark only in a periodic pass, and only if nothing
        has happened to the objects since: no change, no failure, no other
        desired object, no notice.

        :param known: returns the argument of :meth:`read`
        :param mark: what the last call returned beside the resources; None to
            read them in any case
        :returns: the resources and a mark (None for a backend without), or
            None and the mark if a reading would give the same again. In the
            list, the engine puts its own objects in place of equal ones
        :raises BackendError: as :meth:`read`
        """
        return self.read(known()), None

    @abc.abstractmethod
    def apply(self, delta: Delta) -> Failures:
        """Make the changes, additions before deletions.

        Idempotent: the creation of an existing object, and the deletion of a
        missing one, succeed. A bad item does not affect the others.

        :returns: the items that failed; all others count as done
        :raises BackendError: when nothing could be applied
        """

    def in_effect(self, announced: list[resources.Resource]
                  ) -> set[resources.Ref]:
        """The announcements that FRR knows already.

        Asked when the announce method has changed: the old announcements stay
        until FRR knows the new ones, so that BGP withdraws nothing.

        :raises BackendError: when the system cannot be asked
        """
        return {resource.ref for resource in announced}

    def taken_over(self, lost: list[resources.Ref]) -> set[resources.Ref]:
        """The lost objects that the agent of another node has now.

        This is no drift: a gateway may have moved before this agent's view of
        it.

        :param lost: not found, or found changed, by the last reading
        """
        return set()

    def close(self) -> None:
        """Close connections; called once at the end."""


class KernelBackend(Backend):
    """Base of the backends that the port-forward-only mode needs, too."""

    @classmethod
    def runs_without_ovn(cls, conf: typing.Any) -> bool:
        """Port forwarding needs the kernel alone."""
        return True


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
