# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The reason why a resource is not in place: one entry for each key.

Pure.  :mod:`engine.table` combines it with the state of the tracker.
"""

import collections
from collections.abc import Container
from collections.abc import Mapping
import enum
import typing

from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.common import backoff
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
    #: the resource stays as it is on purpose, though the drivers want it
    #: otherwise
    KEPT = 'kept'
    #: the withdrawal guard does not let the resource go
    HELD = 'held'
    #: drivers want different resources at the key
    DISPUTED = 'disputed'


# Tuples: a set takes the hash of a state, a function of Python's enum.
#: The state while a backend works, for :meth:`Ledger.others`.
WORKING = (State.UNDER_WAY,)
#: States that count as a failure of the pass.
FAILING = (State.WAITS, State.UNREACHABLE, State.REFUSED)


class Entry(typing.NamedTuple):
    """Why a resource is not in place."""

    state: State
    reason: str = ''
    # What the resource waits for.
    holder: resources.Ref | None = None


class _Refusal(typing.NamedTuple):
    entry: Entry
    # None for a removal.
    wanted: resources.Resource | None
    # No longer counts; the reason is in the log.
    lapsed: bool = False


class Ledger:
    """The entries of this pass, and what backends have refused before.

    The engine tries a refused resource again only after the back-off of the
    backend, a change of the resource, or doubt (:meth:`forget`); until then it
    counts as failed.  A resource that stays on purpose has its own back-off,
    and does not count as failed.

    :param retries: by name of the backend, or by Ref of what stays on purpose
    :param owners: by kind the name of its backend
    """

    def __init__(self, tracker: tracking.Tracker, retries: backoff.Retries,
                 owners: Mapping[str, str]) -> None:
        self._tracker = tracker
        self._retries = retries
        self._owners = owners
        # Both to look at: while both are empty, the ledger need not be asked.
        # What this pass has come across, in its order.
        self.entries: dict[resources.Ref, Entry] = {}
        # What backends refused or kept at the last attempt.
        self.lasting: dict[resources.Ref, _Refusal] = {}
        self.begin()

    def begin(self) -> None:
        """Start a new pass."""
        self.entries = {}
        for ref in list(filter(self._tracker.settled, self.lasting)):
            self.reached(ref)
        self._about: collections.defaultdict[
            str | None, dict[resources.Ref, None]
            ] = collections.defaultdict(dict)

    @property
    def known(self) -> dict[resources.Ref, Entry]:
        """The entries of this pass, and those that last.

        What a reading of this pass has found as desired lasts no longer.
        """
        return {**{ref: lasting.entry for ref, lasting in self.lasting.items()
                   if not (lasting.lapsed or self._tracker.settled(ref))},
                **self.entries}

    @property
    def failures(self) -> dict[resources.Ref, str]:
        """The failures of this pass, with their reasons."""
        return {ref: entry.reason for ref, entry in self.entries.items()
                if entry.state in FAILING}

    def put(self, ref: resources.Ref, state: State, reason: str = '',
            holder: resources.Ref | None = None,
            subject: str | None = None) -> None:
        """Note what this pass has come across.

        :param subject: that of the resource, None if the tracker has it
        """
        if state is State.WAITS and self.is_under_way(ref):
            return
        self.entries[ref] = Entry(state, reason, holder)
        if ref in self.lasting and self.lasting[ref].entry.state is not state:
            self._lapse(ref)
        if not subject:
            resource = (self._tracker.desired(ref) or
                        self._tracker.existing(ref))
            subject = resource.subject if resource else None
        self._about[subject][ref] = None

    def put_all(self, delta: resources.Delta, state: State,
                reason: str = '') -> None:
        """Note the same of all resources of a difference."""
        for _verb, resource in delta.steps:
            self.put(resource.ref, state, reason, subject=resource.subject)

    def refused(self, ref: resources.Ref, reason: str) -> bool:
        """Note a reason; whether it was not the one of the last attempt."""
        before = self.lasting.get(ref)
        state = State.REFUSED
        if isinstance(reason, base.Kept):
            state = State.KEPT
            self._retries.note({ref}, frozenset())
        self.lasting[ref] = _Refusal(Entry(state, reason),
                                     self._tracker.desired(ref))
        self.put(ref, state, reason)
        return before is None or before.entry.reason != reason

    def reached(self, ref: resources.Ref) -> None:
        """Note that a resource has been made, changed or removed."""
        self.entries.pop(ref, None)
        self.lasting.pop(ref, None)
        self._retries.forget([ref])

    def still_refused(self, ref: resources.Ref) -> bool:
        """Whether a refusal still counts, so that no attempt is due."""
        previous = self.lasting.get(ref)
        if (previous is None or previous.lapsed or
                previous.entry.state is not State.REFUSED):
            return False
        if (not self._retries.waiting(self._owners.get(ref.kind)) or
                previous.wanted != self._tracker.desired(ref)):
            self._lapse(ref)
            return False
        self.put(ref, State.REFUSED, previous.entry.reason)
        return True

    def still_kept(self, ref: resources.Ref) -> bool:
        """Whether a resource stays as it is, and no attempt is due."""
        return self._retries.waiting(ref)

    def forget(self, names: Container[str | None] | None = None) -> None:
        """Let refused and kept resources be tried again.

        :param names: names of backends, None for all; what was left to another
            agent is then still left to it, so that a stop has an end
        """
        for ref, previous in self.lasting.items():
            if (isinstance(previous.entry.reason, base.LeftToAnother)
                    if names is None else
                    self._owners.get(ref.kind) not in names):
                continue
            if previous.entry.state is State.REFUSED:
                self._lapse(ref)
            else:
                self._retries.hasten([ref])

    def _lapse(self, ref: resources.Ref) -> None:
        self.lasting[ref] = self.lasting[ref]._replace(lapsed=True)

    def is_under_way(self, ref: resources.Ref) -> bool:
        """Whether a backend works on the resource at ``ref``."""
        entry = self.entries.get(ref)
        return entry is not None and entry.state is State.UNDER_WAY

    def others(self, resource: resources.Resource,
               states: Container[State]) -> list[resources.Ref]:
        """Others of the same address in some states, in order of the pass."""
        if resource.subject is None:
            return []
        return [ref for ref in self._about.get(resource.subject, ())
                if ref != resource.ref and ref in self.entries and
                self.entries[ref].state in states]
