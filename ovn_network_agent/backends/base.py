# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The interface of backends.

A backend owns some kinds of resources in one system.  It does the I/O, through
:mod:`ovn_network_agent.privileged` where the I/O needs privileges, and
recognises the agent's objects.  A backend keeps no state that could differ
from the system: the reconciler has the cached actual state.  The reconciler
calls :meth:`Backend.read` at the start, after an error, on a notice, and at
every reconcile interval.
"""

import abc
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from collections.abc import Set
import dataclasses
import functools
import typing

from ovn_network_agent import ownership
from ovn_network_agent import resources

#: A value that backends, their tests and the engine share; the name is one of
#: the stable names of this module.
Delta = resources.Delta
Known: typing.TypeAlias = frozenset[resources.Ref]
#: What failed, and why
Failures: typing.TypeAlias = dict[resources.Ref, str]
#: See Backend.reread
Reading: typing.TypeAlias = tuple[
    Sequence[resources.Resource] | None, typing.Any]


@dataclasses.dataclass(frozen=True, slots=True)
class Context:
    """The parts of the running agent that backends may use."""

    # The ovsdb.connection.Database of 'nb', 'sb' and 'ovs'.
    databases: Mapping[str, typing.Any] = dataclasses.field(
        default_factory=dict)
    # As model.Node.marks: the marks of rows of NB that are of this chassis,
    # none while unknown.
    marks: Callable[[], Set[ownership.Owner]] = frozenset
    # The name of this chassis (its system-id), '' while unknown.
    chassis: Callable[[], str] = str
    # The chassis that are gone for good.
    dead: Callable[[], Set[ownership.Owner]] = frozenset
    silent: Callable[[], Set[ownership.Owner]] = frozenset
    # With (reason, stale=(), revived=()), from any thread; stale and revived
    # are words of the module notices; None without a loop.
    wake: Callable[..., object] | None = None
    # (table, UUID as text) of the gateway groups that the last view has; None
    # without a view, as type(None)() is.
    groups: Callable[[], Set[tuple[str, str]] | None] = type(None)
    # Monotonic seconds at which the last view was built; with the default,
    # every view is new.
    viewed: Callable[[], float] = functools.partial(float, 'inf')


def doubted(backends: 'Iterable[Backend]',
            words: Collection[str]) -> set[str]:
    """Names of the backends whose state some words put in doubt.

    :param words: see :mod:`ovn_network_agent.common.notices`
    """
    return {b.name for b in backends
            if not {b.name, *b.doubted_by}.isdisjoint(words)}


def doubted_kinds(backends: 'Collection[Backend]', word: str) -> set[str]:
    """Names of the kinds of resources that a word puts in doubt.

    :param word: see :mod:`ovn_network_agent.common.notices`
    """
    names = doubted(backends, (word,))
    return {kind.kind for b in backends if b.name in names
            for kind in b.kinds}


def revived(backends: 'Iterable[Backend]',
            words: Collection[str]) -> set[str]:
    """Names of the backends whose system has come back.

    :param words: see :mod:`ovn_network_agent.common.notices`
    """
    return {b.name for b in backends
            if not {b.name, *b.revived_by}.isdisjoint(words)}


class BackendError(Exception):
    """The system could not be read or reached; the text says why."""


class Kept(str):
    """In an answer, the reason why an object stays on purpose.

    This is no failure: the deletion would remove objects of others, too.  No
    other resource waits for the deletion.  It is tried again after a back-off
    of its own, because the reason may have gone.
    """


class LeftToAnother(Kept):
    """In an answer: one agent alone makes such changes, and another one is it.

    This is the usual state of all other agents, so the log has it at DEBUG.
    """


class Backend(abc.ABC):
    """Owner of some kinds of resources in one target system.

    Backends are loaded by stevedore from ``ovn_network_agent.backends`` and
    created with ``conf`` (the oslo.config ConfigOpts).  All methods run on
    the loop thread, except with :attr:`concurrent` and :attr:`system`.
    """

    #: oslo.config options, registered in the group named like the backend
    #: before it is created; a driver of the same name shares the group
    CONFIG_OPTS = ()
    #: entry point name, used in logs and by "ovn-network-agent-ctl status";
    #: '' for the name of the entry point
    name: str = ''
    #: resource classes this backend is responsible for
    kinds: tuple[type[resources.Resource], ...] = ()
    #: names of backends whose cached state is void after a change by this
    #: backend (the kernel removes routes and addresses with a link)
    invalidates: tuple[str, ...] = ()
    #: words of :mod:`ovn_network_agent.common.notices` that put the cached
    #: state in doubt, so that the next pass reads it again
    doubted_by: tuple[str, ...] = ()
    #: words for the return of the system, after which failed changes are
    #: tried again without a back-off
    revived_by: tuple[str, ...] = ()
    #: True when read() finds wanted objects alone; then the engine looks for a
    #: newly wanted object before the object is made
    finds_wanted_only: bool = False
    #: False when read() does not look at ``known``
    uses_known: bool = True
    #: database that the backend writes: 'nb', 'sb', 'ovs', or '' for none; a
    #: stop does not wait for one that the agent has never reached
    database: str = ''
    #: True when apply() runs beside the loop, because a remote database, or a
    #: wait, must not delay the other backends
    concurrent: bool = False
    #: name of a system that may hang, or ''; with a name, read() and apply()
    #: run beside the loop, which waits only for a moment, and only one of the
    #: backends of a system makes changes at a time
    system: str = ''
    #: seconds that the loop waits for apply() of a backend with a
    #: :attr:`system`, None for :data:`engine.executor.PATIENCE`; longer work
    #: is a warning only without a number here
    patience: float | None = None
    #: most changes in one call of apply() that the loop waits for at all, None
    #: for any number; more of them take their time in a system that is well
    awaited_at_most: int | None = None
    #: the :class:`ovsdb.lock.Lock` that makes this agent the one that writes,
    #: for backends of objects that belong to no node
    lock: typing.Any = None
    #: counters that are metrics, by name; replaced as a whole, because other
    #: threads read them
    counts: Mapping[str, int] = {}

    def __init__(self, conf: typing.Any) -> None:
        self.conf = conf

    @classmethod
    def runs_without_ovn(cls, conf: typing.Any) -> bool:
        """Whether the port-forward-only mode has a use for this backend."""
        return False

    def check(self) -> list[str]:
        """Check the prerequisites before any change.

        :returns: one message for each missing prerequisite without which the
            agent cannot start (option, value, remedy)
        """
        return []

    def attach(self, context: Context) -> None:
        """Receive the parts of the running agent; called once, early."""

    @abc.abstractmethod
    def read(self, known: Known) -> Sequence[resources.Resource]:
        """Read the actual state: all objects of the agent, and no others.

        :param known: desired, or believed to exist; needed only for objects
            that may lack a mark (sysctls, addresses, neighbours)
        :returns: in any order
        :raises BackendError: when the system cannot be read; the reconciler
            then keeps the last known state and tries again
        """

    def reread(self, known: Callable[[], Known], mark: typing.Any
               ) -> Reading:
        """Read the actual state, unless it is the same as at a reading.

        The engine passes a mark only in a periodic pass, and only if nothing
        has happened to the objects of this backend since the reading: no
        change, no failure, no other desired object, no notice.

        :param known: returns the argument of :meth:`read`
        :param mark: what the last call has returned beside the resources; None
            when the resources are to be read in any case
        :returns: the resources as of :meth:`read` and a mark, or None and the
            mark when a reading would give the same resources as the one of the
            mark; without a mark of its own, a backend returns None for it. In
            the list, the engine puts the objects that it has in place of equal
            ones
        :raises BackendError: as :meth:`read`
        """
        return self.read(known()), None

    @abc.abstractmethod
    def apply(self, delta: Delta) -> Failures:
        """Make the changes, additions before deletions.

        The method is idempotent: the creation of an existing object, and the
        deletion of a missing object, succeed.  A bad item does not affect
        the others.

        :returns: the reasons of the items that failed; all other items count
            as done; a :class:`Kept` says that the item stays on purpose
        :raises BackendError: when nothing could be applied
        """

    def in_effect(self, announced: list[resources.Resource]
                  ) -> set[resources.Ref]:
        """The announcements that FRR knows already.

        The engine asks when announcements replace others of another kind,
        after a change of the announce method.  The old announcements stay
        until FRR knows the new ones, so that BGP withdraws nothing.

        :param announced: that were applied
        :returns: a subset
        :raises BackendError: when the system cannot be asked
        """
        return {resource.ref for resource in announced}

    def taken_over(self, lost: list[resources.Ref]) -> set[resources.Ref]:
        """The lost objects that the agent of another node has now.

        This is no drift: a gateway may have moved, and the view of this agent
        does not know of it yet.

        :param lost: that the last reading has no longer found, or found
            changed
        :returns: those that another agent has
        """
        return set()

    def close(self) -> None:
        """Close connections; called once at the end."""
