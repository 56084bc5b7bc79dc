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

"""Where each resource stands that is not simply in place: one entry per key.

Pure.  The tracker knows what is wanted and what is there; the ledger knows
why the two differ.  Together they are the table that :func:`row` reads.
"""

import collections
import dataclasses
import enum

from ovn_network_agent import resources


class State(enum.Enum):
    """Where a resource stands."""

    #: it is there as it is wanted, or is neither wanted nor there
    IN_PLACE = 'in place'
    #: the next pass makes, changes or removes it
    DUE = 'due'
    #: its backend works beside the loop, on it or on what it rests on
    UNDER_WAY = 'under way'
    #: it is not made before another one, or does not go before that has gone
    WAITS = 'waits'
    #: its backend could not be read or reached
    UNREACHABLE = 'unreachable'
    #: its backend said why it could not be made or removed
    REFUSED = 'refused'
    #: it stays in place on purpose, though nobody wants it
    KEPT = 'kept'
    #: drivers want different things at its key
    DISPUTED = 'disputed'


#: States that count as a failure of the pass.
FAILING = frozenset({State.WAITS, State.UNREACHABLE, State.REFUSED})
# What is still true at the next pass, until something about it changes.
_LASTING = frozenset({State.REFUSED, State.KEPT})


@dataclasses.dataclass(frozen=True, slots=True)
class Entry:
    """Why a resource is not in place.

    :ivar state: :class:`State`
    :ivar reason: text for the operator
    :ivar holder: :class:`resources.Ref` of what it waits for, or None
    :ivar wanted: the resource that was refused, None for a removal
    :ivar lapsed: whether a refusal does not count beyond this pass
    """

    state: State
    reason: str = ''
    holder: resources.Ref | None = None
    wanted: resources.Resource | None = None
    lapsed: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """A line of the table: all that is known of one key.

    :ivar ref: :class:`resources.Ref`
    :ivar wanted: the desired :class:`resources.Resource`, or None
    :ivar there: the actual one as it was seen last, or None
    :ivar state: :class:`State`
    :ivar reason: text, '' when there is nothing to say
    :ivar holder: :class:`resources.Ref` of what it waits for, or None
    :ivar due_in: seconds until it is tried again, or None
    """

    ref: resources.Ref
    wanted: resources.Resource | None
    there: resources.Resource | None
    state: State
    reason: str = ''
    holder: resources.Ref | None = None
    due_in: float | None = None


class Ledger:
    """The entries, and which of them this pass has come across.

    What a backend refused is not tried again at every event, but when the
    back-off of the backend is over, when something about the resource has
    changed, or when something puts the backend in doubt (:meth:`forget`).
    Until then it goes on counting as failed.  What stays on purpose has a
    back-off of its own, and counts as nothing.

    :param tracker: :class:`engine.tracking.Tracker`
    :param retries: :class:`backoff.Retries`, by name of backend, and by Ref
        of what stays on purpose
    :param owner: function(kind) that returns the name of its backend
    """

    def __init__(self, tracker, retries, owner):
        self._tracker = tracker
        self._retries = retries
        self._owner = owner
        self._entries = {}
        self.begin()

    def begin(self):
        """Start a new pass: only what lasts is still known."""
        self._entries = {ref: entry for ref, entry in self._entries.items()
                         if entry.state in _LASTING and not entry.lapsed}
        self._met = {}
        self._about = collections.defaultdict(dict)

    @property
    def failures(self):
        """dict of Ref to str: what this pass could not do, and why."""
        return {ref: self._entries[ref].reason for ref in self._met
                if self._entries[ref].state in FAILING}

    def troubled(self):
        """Names of the backends that something failed in, a set."""
        return {self._owner(ref.kind) for ref in self.failures}

    # -- what a pass comes across -----------------------------------------

    def under_way(self, resource):
        """A backend works on it, or on what is about the same address."""
        self._put(resource.ref, Entry(State.UNDER_WAY), resource.subject)

    def waits(self, ref, reason, holder=None):
        """It has to wait for another one, unless a backend is at it."""
        if not self.is_under_way(ref):
            self._put(ref, Entry(State.WAITS, reason, holder))

    def unreachable(self, ref, reason):
        """Its backend could not be read or reached."""
        self._put(ref, Entry(State.UNREACHABLE, reason))

    def refused(self, ref, reason):
        """Its backend said why not."""
        self._put(ref, Entry(State.REFUSED, reason,
                             wanted=self._tracker.desired(ref)))

    def kept(self, ref, reason):
        """It stays in place on purpose; the reason may go one day.

        :returns: True when that was not known before
        """
        before = self._entries.get(ref)
        self._entries[ref] = Entry(State.KEPT, reason)
        self._retries.note({ref}, frozenset())
        return before is None or before.reason != reason

    def reached(self, ref):
        """It has been made, changed or removed."""
        self._entries.pop(ref, None)
        self._met.pop(ref, None)
        self._retries.forget([ref])

    def still_refused(self, ref):
        """Whether it failed a moment ago and is the same as then."""
        entry = self._entries.get(ref)
        if (entry is None or entry.state is not State.REFUSED or
                entry.lapsed):
            return False
        if (not self._retries.waiting(self._owner(ref.kind)) or
                entry.wanted != self._tracker.desired(ref)):
            self._lapse(ref, entry)
            return False
        self._put(ref, entry)
        return True

    def still_kept(self, ref):
        """Whether it stays on purpose, and is not due to be tried again."""
        return self._retries.waiting(ref)

    def forget(self, names=None):
        """Have what these backends refused or keep tried again.

        :param names: of backends, None for all
        """
        for ref, entry in list(self._entries.items()):
            if names is not None and self._owner(ref.kind) not in names:
                continue
            if entry.state is State.REFUSED:
                self._lapse(ref, entry)
            elif entry.state is State.KEPT:
                self._retries.hasten([ref])

    def _lapse(self, ref, entry):
        """Have it tried again; what failed in this pass has failed."""
        if ref in self._met:
            self._entries[ref] = dataclasses.replace(entry, lapsed=True)
        else:
            del self._entries[ref]

    # -- what is about the same address -----------------------------------

    def is_under_way(self, ref):
        """Whether this pass has found a backend at work on it."""
        entry = self._entries.get(ref)
        return entry is not None and entry.state is State.UNDER_WAY

    def any_under_way(self, chosen):
        """Whether that is so of any Ref for which ``chosen`` is true."""
        return any(entry.state is State.UNDER_WAY and chosen(ref)
                   for ref, entry in self._entries.items())

    def beside(self, resource, states):
        """Others about the same address in one of some states.

        :param resource: :class:`resources.Resource`
        :param states: container of :class:`State`
        :returns: list of :class:`resources.Ref`, in the order they came
        """
        if resource.subject is None:
            return []
        return [ref for ref in self._about.get(resource.subject, ())
                if ref != resource.ref and ref in self._entries and
                self._entries[ref].state in states]

    # -- the table --------------------------------------------------------

    def row(self, ref, conflict='', working=False):
        """All that is known of one key.

        :param conflict: why drivers do not agree about it, or ''
        :param working: whether its backend works beside the loop
        :returns: :class:`Row`
        """
        wanted, there = self._tracker.desired(ref), self._tracker.existing(ref)
        entry = self._entries.get(ref)
        if conflict:
            entry = Entry(State.DISPUTED, conflict)
        elif entry is None:
            entry = Entry(State.IN_PLACE if self._tracker.settled(ref)
                          else State.UNDER_WAY if working else State.DUE)
        return Row(ref, wanted, there, entry.state, entry.reason,
                   entry.holder, self._due_in(ref, entry))

    def _due_in(self, ref, entry):
        if entry.state is State.KEPT:
            return self._retries.due_in(ref)
        if entry.state in FAILING:
            return self._retries.due_in(self._owner(ref.kind))
        return None

    def _put(self, ref, entry, subject=None):
        self._entries[ref] = entry
        self._met[ref] = None
        self._about[subject or self._subject(ref)][ref] = None

    def _subject(self, ref):
        resource = self._tracker.desired(ref) or self._tracker.existing(ref)
        return resource.subject if resource else None
