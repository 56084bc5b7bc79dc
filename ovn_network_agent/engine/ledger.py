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

"""The reason why a resource is not in place: one entry for each key.

Pure.  The tracker has the desired and the actual state, and the ledger has
the reasons for their difference.  :mod:`engine.table` combines both.
"""

import collections
from collections.abc import Container
from collections.abc import Mapping
import dataclasses
import enum

from ovn_network_agent import backoff
from ovn_network_agent import resources
from ovn_network_agent.engine import moments
from ovn_network_agent.engine import tracking


class State(enum.Enum):
    """The state of a resource's work."""

    #: the resource is as desired, or is neither desired nor there
    IN_PLACE = 'in place'
    #: the next pass makes, changes or removes the resource
    DUE = 'due'
    #: a backend works beside the loop on the resource or a prerequisite
    UNDER_WAY = 'under way'
    #: the resource is held back until another resource is made or removed
    WAITS = 'waits'
    #: the backend could not be read or reached
    UNREACHABLE = 'unreachable'
    #: the backend could not make or remove the resource, for a reason
    REFUSED = 'refused'
    #: the resource stays in place on purpose, though no driver wants it
    KEPT = 'kept'
    #: the withdrawal guard does not let the resource go
    HELD = 'held'
    #: drivers want different resources at the key
    DISPUTED = 'disputed'


# Tuples: a set takes the hash of a state, a function of Python's enum.
#: The state while a backend works, for :meth:`Ledger.beside`.
WORKING = (State.UNDER_WAY,)
#: States that count as a failure of the pass.
FAILING = (State.WAITS, State.UNREACHABLE, State.REFUSED)
# States that last beyond a pass, until something about the resource changes.
_LASTING = (State.REFUSED, State.KEPT)


@dataclasses.dataclass(frozen=True, slots=True)
class Entry:
    """Why a resource is not in place."""

    state: State
    # For the operator.
    reason: str = ''
    # What the resource waits for.
    holder: resources.Ref | None = None
    # The resource that was refused, None for a removal.
    wanted: resources.Resource | None = None
    # True for a refusal that does not count beyond this pass.
    lapsed: bool = False


_IN_PLACE, _DUE, _UNDER_WAY = map(Entry, (
    State.IN_PLACE, State.DUE, State.UNDER_WAY))


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """Everything that the engine knows of one key."""

    ref: resources.Ref
    wanted: resources.Resource | None
    # At the last reading.
    there: resources.Resource | None
    state: State
    reason: str = ''
    # What the resource waits for.
    holder: resources.Ref | None = None
    # Seconds until the next attempt.
    due_in: float | None = None
    # Name of the backend of the kind.
    backend: str | None = None
    # None before the end of the first pass.
    since: moments.Moment | None = None


class Ledger:
    """The entries, and the entries that this pass has come across.

    The engine does not try a refused resource again at each event.  It does
    so when the back-off of the backend is over, when the desired resource has
    changed, or when the backend is in doubt (:meth:`forget`).  Until then the
    resource counts as failed.  A resource that stays on purpose has a
    back-off of its own, and does not count as failed.

    :param retries: by the name of the backend, or by the Ref of a resource
        that stays on purpose
    :param owners: by kind the name of its backend
    """

    def __init__(self, tracker: tracking.Tracker, retries: backoff.Retries,
                 owners: Mapping[str, str]) -> None:
        self._tracker = tracker
        self._retries = retries
        self._owners = owners
        # To look at.  Empty when no resource has a reason, so that the ledger
        # need not be asked.
        self.entries: dict[resources.Ref, Entry] = {}
        self.begin()

    def begin(self) -> None:
        """Start a new pass: only entries of a lasting state remain."""
        self.entries = {ref: entry for ref, entry in self.entries.items()
                         if entry.state in _LASTING and not entry.lapsed}
        # Of this pass, in its order; the second by subject.
        self._met: dict[resources.Ref, None] = {}
        self._about: collections.defaultdict[
            str | None, dict[resources.Ref, None]
            ] = collections.defaultdict(dict)

    @property
    def failures(self) -> dict[resources.Ref, str]:
        """The failures of this pass, with their reasons."""
        return {ref: self.entries[ref].reason for ref in self._met
                if self.entries[ref].state in FAILING}

    def troubled(self) -> set[str | None]:
        """Names of the backends with a failure."""
        return {self._owners.get(ref.kind) for ref in self.failures}

    # -- what a pass comes across -----------------------------------------

    def under_way(self, resource: resources.Resource) -> None:
        """Note that a backend works on a resource or on its address."""
        self._put(resource.ref, _UNDER_WAY, resource.subject)

    def waits(self, ref: resources.Ref, reason: str,
              holder: resources.Ref | None) -> None:
        """Note that a resource waits, unless a backend works on it."""
        if not self.is_under_way(ref):
            self._put(ref, Entry(State.WAITS, reason, holder))

    def unreachable(self, ref: resources.Ref, reason: str) -> None:
        """Note that the backend could not be read or reached."""
        self._put(ref, Entry(State.UNREACHABLE, reason))

    def refused(self, ref: resources.Ref, reason: str) -> None:
        """Note the reason why a backend did not make a change."""
        self._put(ref, Entry(State.REFUSED, reason,
                             wanted=self._tracker.desired(ref)))

    def held(self, ref: resources.Ref, reason: str) -> None:
        """Note that the withdrawal guard does not let a resource go."""
        self.entries[ref] = Entry(State.HELD, reason)

    def kept(self, ref: resources.Ref, reason: str) -> bool:
        """Note that a resource stays in place on purpose.

        :returns: True when this reason was not known before
        """
        before = self.entries.get(ref)
        self.entries[ref] = Entry(State.KEPT, reason)
        self._retries.note({ref}, frozenset())
        return before is None or before.reason != reason

    def reached(self, ref: resources.Ref) -> None:
        """Note that a resource has been made, changed or removed."""
        self.entries.pop(ref, None)
        self._met.pop(ref, None)
        self._retries.forget([ref])

    def still_refused(self, ref: resources.Ref) -> bool:
        """Whether a refusal still counts, so that no attempt is due."""
        entry = self.entries.get(ref)
        if (entry is None or entry.state is not State.REFUSED or
                entry.lapsed):
            return False
        if (not self._retries.waiting(self._owners.get(ref.kind)) or
                entry.wanted != self._tracker.desired(ref)):
            self._lapse(ref, entry)
            return False
        self._put(ref, entry)
        return True

    def still_kept(self, ref: resources.Ref) -> bool:
        """Whether a resource stays on purpose and no attempt is due."""
        return self._retries.waiting(ref)

    def forget(self, names: Container[str | None] | None = None) -> None:
        """Let refused and kept resources be tried again.

        :param names: names of backends, None for all
        """
        for ref, entry in list(self.entries.items()):
            if names is not None and self._owners.get(ref.kind) not in names:
                continue
            if entry.state is State.REFUSED:
                self._lapse(ref, entry)
            elif entry.state is State.KEPT:
                self._retries.hasten([ref])

    def _lapse(self, ref: resources.Ref, entry: Entry) -> None:
        """Let a refusal be tried again; a failure of this pass remains."""
        if ref in self._met:
            self.entries[ref] = dataclasses.replace(entry, lapsed=True)
        else:
            del self.entries[ref]

    # -- what is about the same address -----------------------------------

    def is_under_way(self, ref: resources.Ref) -> bool:
        """Whether a backend works on the resource at ``ref``."""
        entry = self.entries.get(ref)
        return entry is not None and entry.state is State.UNDER_WAY

    def beside(self, resource: resources.Resource,
               states: Container[State]) -> list[resources.Ref]:
        """Other resources of the same address that are in some states.

        :returns: in the order of this pass
        """
        if resource.subject is None:
            return []
        return [ref for ref in self._about.get(resource.subject, ())
                if ref != resource.ref and ref in self.entries and
                self.entries[ref].state in states]

    # -- the table --------------------------------------------------------

    def entry(self, ref: resources.Ref, conflict: str,
              working: bool) -> Entry:
        """The state of a key, and its reason.

        :param conflict: why drivers do not agree about the key, or ''
        :param working: whether the key's backend works beside the loop
        """
        if conflict:
            return Entry(State.DISPUTED, conflict)
        if ref in self.entries:
            return self.entries[ref]
        return (_IN_PLACE if self._tracker.settled(ref) else
                _UNDER_WAY if working else _DUE)

    def due_in(self, ref: resources.Ref, state: State) -> float | None:
        """Seconds until a resource of a state is tried again."""
        if state is State.KEPT:
            return self._retries.due_in(ref)
        if state in FAILING:
            return self._retries.due_in(self._owners.get(ref.kind))
        return None

    def copy(self, tracker: tracking.Tracker) -> 'Ledger':
        """The same entries, for another thread; nothing is added to them."""
        made = Ledger(tracker, self._retries.copy(), self._owners)
        made.entries = self.entries.copy()
        return made

    def _put(self, ref: resources.Ref, entry: Entry,
             subject: str | None = None) -> None:
        self.entries[ref] = entry
        self._met[ref] = None
        if not subject:
            resource = (self._tracker.desired(ref) or
                        self._tracker.existing(ref))
            subject = resource.subject if resource else None
        self._about[subject][ref] = None
