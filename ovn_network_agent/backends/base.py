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

"""What a backend is.

A backend owns some kinds of resources in one target system.  It does the
I/O (through :mod:`ovn_network_agent.privileged` where that needs
privileges), knows how to recognise what is ours, and keeps no state of its
own that could differ from the system: the cached actual state lives in the
reconciler, which asks for a fresh :meth:`Backend.read` at start, after an
error, on a notice and at every reconcile interval.
"""

import abc
import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Delta:
    """What has to change for one backend in one stage.

    :ivar create: tuple of resources
    :ivar update: tuple of (old, new) pairs with equal keys
    :ivar delete: tuple of resources, as they were read or written
    """

    create: tuple = ()
    update: tuple = ()
    delete: tuple = ()

    def __bool__(self):
        return bool(self.create or self.update or self.delete)

    def __len__(self):
        return len(self.create) + len(self.update) + len(self.delete)


@dataclasses.dataclass(frozen=True, slots=True)
class Context:
    """What the running agent offers to backends.

    :ivar databases: dict of 'nb', 'sb', 'ovs' to ovsdb.connection.Database
    :ivar hostname: function that returns the host name of this chassis as
        it stands in SB, '' while unknown
    :ivar chassis: function that returns the name of this chassis (its
        system-id), '' while unknown
    :ivar dead: function that returns the host names of chassis that are
        gone for good, a frozenset
    :ivar silent: function that returns the host names of chassis that OVN
        has, but that count as missing, a frozenset
    :ivar wake: function(reason, stale=(), revived=()) that wakes the loop,
        from any thread; both take words of the module notices; None where
        there is no loop
    """

    databases: dict = dataclasses.field(default_factory=dict)
    hostname: object = str
    chassis: object = str
    dead: object = frozenset
    silent: object = frozenset
    wake: object = None


def doubted(backends, words):
    """Names of the backends whose state these words put in doubt.

    :param backends: iterable of :class:`Backend`
    :param words: iterable of str, see :mod:`ovn_network_agent.notices`
    :returns: set
    """
    return {b.name for b in backends
            if not {b.name, *b.doubted_by}.isdisjoint(words)}


def revived(backends, words):
    """Names of the backends whose system has come back; see `doubted`."""
    return {b.name for b in backends
            if not {b.name, *b.revived_by}.isdisjoint(words)}


class BackendError(Exception):
    """The target system could not be read or reached at all.

    :param reason: text for the operator: what failed and why
    """


class Kept(str):
    """A reason why something is left in place on purpose, in an answer.

    It is no failure: deleting it would take something of others along.
    Nothing waits for it.  It is tried again after a back-off of its own, for
    the reason may have gone.
    """


class Backend(abc.ABC):
    """Owner of some kinds of resources in one target system.

    Backends are loaded by stevedore from ``ovn_network_agent.backends`` and
    created with ``conf`` (the oslo.config ConfigOpts).  All methods run on
    the loop thread, but for what :attr:`concurrent` and :attr:`system` say.
    """

    #: oslo.config options, registered in the group named like the backend
    #: before it is created; a driver of the same name shares the group
    CONFIG_OPTS = ()
    #: entry point name, used in logs and by "ovn-network-agent-ctl status";
    #: '' for the name of the entry point
    name = ''
    #: resource classes this backend is responsible for
    kinds = ()
    #: names of backends whose cached state is void after this one changed
    #: something (the kernel drops routes and addresses with a link)
    invalidates = ()
    #: words of :mod:`ovn_network_agent.notices` that put the cached state in
    #: doubt: it is read again at the next pass
    doubted_by = ()
    #: words for the return of the system: what failed while it was away is
    #: tried again at once, whatever its back-off says
    revived_by = ()
    #: True when apply() may run beside the loop: a remote database must not
    #: delay what the node does for itself
    concurrent = False
    #: name of what may hang, '' for nothing: read() and apply() then run
    #: beside the loop, which waits for a moment only, and of the backends
    #: with the same name only one makes changes at a time
    system = ''

    def __init__(self, conf):
        self.conf = conf

    @classmethod
    def runs_without_ovn(cls, conf):
        """Whether an agent that only forwards ports has a use for it.

        :param conf: the oslo.config ConfigOpts
        """
        return False

    def check(self):
        """Check the prerequisites before anything is touched.

        :returns: list of str, one clear message for each missing thing that
            makes a start impossible (option, value, remedy)
        """
        return []

    def attach(self, context):
        """Take what only the running agent knows; called once, early.

        :param context: :class:`Context`
        """

    @abc.abstractmethod
    def read(self, known):
        """Read the actual state: all that is ours, nothing that is not.

        :param known: frozenset of :class:`resources.Ref` that are desired
            or were believed to exist; needed only where ownership cannot be
            read off the object (sysctls, addresses, neighbours)
        :returns: list of resources; requires nothing to be sorted
        :raises BackendError: when the system cannot be read; the reconciler
            keeps the last known state and retries, it never treats this as
            "nothing there"
        """

    @abc.abstractmethod
    def apply(self, delta):
        """Make the changes, adds before deletes, and say what failed.

        Idempotent: creating what is there already or deleting what is gone
        is success.  One bad item costs only itself.

        :param delta: :class:`Delta`
        :returns: dict of :class:`resources.Ref` to str (the reason) with
            the items that could not be applied; everything else is taken as
            reached; a :class:`Kept` says that the item stays on purpose
        :raises BackendError: when nothing could be applied
        """

    def in_effect(self, announced):
        """Which announcements are known to what has to make them known.

        Asked when they take the place of announcements of another kind (the
        announce method was changed): those go only then, so that the fabric
        sees no withdrawal in between.

        :param announced: list of resources that were applied
        :returns: set of their :class:`resources.Ref`
        :raises BackendError: when that cannot be found out
        """
        return {resource.ref for resource in announced}

    def close(self):
        """Give back connections; called once at the end."""
