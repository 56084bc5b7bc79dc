# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The conditions of removals: what has to stay while something needs it.

Without a resource that an announcement still needs, the node would attract
traffic and drop it.  When the announce method changes, the old announcement
stays until FRR knows the new one, so that BGP withdraws nothing.  A resource
with a ``place`` stays until the one wanted there is there: the lines of a
former prefix list go after those of the new one are written.
"""

from collections.abc import Callable
from collections.abc import Iterator
import concurrent.futures

from oslo_log import log as logging

from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.engine import actual
from ovn_network_agent.engine import executor
from ovn_network_agent.engine import ledger
from ovn_network_agent.engine import outcome
from ovn_network_agent.engine import tracking

LOG = logging.getLogger(__name__)


class Removals:
    """Decides which resources may go.

    :param wake: takes the reason, for an answer after the loop's wait
    :param patience: seconds to wait for an answer of FRR
    """

    def __init__(self, backends: actual.Backends, tracker: tracking.Tracker,
                 entries: ledger.Ledger, wake: Callable[[str], object],
                 patience: float) -> None:
        self._backends = backends
        self._tracker = tracker
        self._ledger = entries
        self._wake = wake
        self._patience = patience
        # Without an answer yet, by name of backend.
        self._pending: dict[
            str, concurrent.futures.Future[set[resources.Ref]]] = {}
        # What a former run left and nobody wants, while something that could
        # want it is unknown; and the backends whose first reading tells.
        self._inherited: set[resources.Ref] = set()
        self._awaited = set(backends.names)

    def inherited(self, doubt: bool) -> set[resources.Ref]:
        """What of a former run stays in doubt: a bug hides who wants it."""
        if not doubt:
            self._inherited, self._awaited = set(), set()
        read = {name for name in self._awaited
                if not self._backends.unread(name)}
        self._awaited -= read
        self._inherited.update(
            resource.ref for _stage, backend, kinds in self._backends.order
            if backend.name in read
            for resource in self._tracker.delta(kinds).delete)
        return self._inherited

    def steps(self, down_to: resources.Stage,
              only: Callable[[resources.Resource], bool]
              ) -> Iterator[tuple[base.Backend, resources.Delta]]:
        """What may go, from the last stage down, as the work goes on.

        What leaves early comes first: with 10,000 routes in the kernel, Open
        vSwitch reads all for a quarter of a second after each change of a
        route, and a flow would wait.
        """
        for early in (True, False):
            for stage, backend, kinds in self._backends.order_down:
                if stage < down_to:
                    break
                unwanted = [r for r in self._tracker.delta(kinds).delete
                            if bool(r.leaves_early) is early and only(r)]
                if stage is resources.Stage.GUARD and self._unwanted_devices():
                    unwanted = [r for r in unwanted
                                if r.kind != resources.VniRule.kind]
                if unwanted:
                    yield backend, resources.Delta(
                        delete=tuple(self.permitted(unwanted)))

    def _unwanted_devices(self) -> bool:
        """Whether a device has still to go, as while FRR needs it.

        The rules that keep its packets in stay for so long.  What the device
        requires does not say so: one of a former run requires nothing.
        """
        return any(self._tracker.delta(kinds).delete
                   for stage, _backend, kinds in self._backends.order
                   if stage is resources.Stage.LINK)

    def permitted(self, deletes: list[resources.Resource]
                  ) -> list[resources.Resource]:
        """The resources that may go now; the ledger gets why others stay.

        :param deletes: of one backend and stage
        """
        # What is wanted at a place and not there yet.
        places: dict[object, resources.Ref] = {
            r.place: r.ref for r in self._tracker.wanted(
                {r.kind for r in deletes if r.place is not None})
            if r.place is not None and not self._tracker.in_sync(r.ref)}
        announcements = self._waited_for({
            r.subject: r.kind for r in deletes
            if r.stage is resources.Stage.ANNOUNCE})
        needed = self._needed() if any(
            r.subject is None for r in deletes) else {}
        return [r for r in deletes if self._may_go(
            r, needed.get(r.ref), places.get(r.place),
            announcements.get(r.subject))]

    def _needed(self) -> dict[resources.Ref, resources.Ref]:
        """What is required by those at work, or needed by those that stay."""
        found: dict[resources.Ref, resources.Ref] = {}
        written = self._backends.being_written()
        for ref, entry in self._ledger.entries.items():
            user = self._tracker.existing(ref) or written.get(ref)
            if user is None or entry.state not in (
                    *ledger.WORKING, *ledger.FAILING):
                continue
            for needed in user.requires:
                there = self._tracker.existing(needed)
                if entry.state in ledger.WORKING or (
                        there is not None and there.needed_by == user.kind):
                    found[needed] = ref
        return found

    def _waited_for(self, going: dict[str | None, str]
                    ) -> dict[str | None, resources.Ref]:
        """The other announcements of addresses that are not in effect yet.

        The search costs nothing while only one announce method is in use.

        :param going: by address the kind of the announcement that is to go
        """
        found: dict[str | None, resources.Ref] = {}
        for backend, kinds in self._backends.announcers if going else ():
            others = [kind for kind in kinds if kind not in going.values()]
            coming = [r for r in self._tracker.wanted(others)
                      if r.subject in going]
            if coming:
                effective = self._in_effect(backend, coming)
                found.update((r.subject, r.ref) for r in coming
                             if r.ref not in effective)
        return found

    def _in_effect(self, backend: base.Backend,
                   coming: list[resources.Resource]) -> set[resources.Ref]:
        there = [r for r in coming if self._tracker.in_sync(r.ref)]
        if not there:
            return set()
        # A slow FRR is not asked again at each pass: the answer to the former
        # question still counts.
        earlier = self._pending.pop(backend.name, None)
        answer = earlier or executor.begin(lambda: backend.in_effect(there))
        concurrent.futures.wait([answer], self._patience)
        if answer.done():
            try:
                return answer.result()
            except Exception as e:
                LOG.warning('%s', actual.expected(backend.name, e))
                return set()
        LOG.warning('%s: no answer yet to what is announced', backend.name)
        self._pending[backend.name] = answer
        if earlier is None:
            answer.add_done_callback(
                lambda _answer: self._wake(f'{backend.name} answered'))
        return set()

    def _may_go(self, resource: resources.Resource,
                user: resources.Ref | None, place: resources.Ref | None,
                announcement: resources.Ref | None) -> bool:
        """Whether a resource may be removed; notes in the ledger why not.

        No announcement stays because of a resource that leaves early.

        :param user: what requires it, and is at work or could not be removed
        :param place: what is to take its place, and is not there yet
        :param announcement: what is to announce its address, and does not yet
        """
        if (self._ledger.still_kept(resource.ref) or
                user is not None and self._ledger.is_under_way(user) or
                self._is_being_read(resource) or
                self._ledger.others(resource, ledger.WORKING)):
            return False
        held, holder = '', place or announcement or user
        failed = [ref for ref in self._ledger.others(resource, ledger.FAILING)
                  if not self._leaves_early(ref)]
        if user:
            held = (f'stays while {user.kind} {outcome.brief(user.key)}, '
                    'which needs it, could not be removed')
        elif (owner := self._needing(resource)) and (
                not self._backends.sound(owner)):
            held = f'stays while {owner} cannot be read'
        elif place:
            held = (f'stays until {place.kind} {outcome.brief(place.key)} is '
                    'there, which takes its place')
        elif announcement:
            held = (f'stays until FRR knows {announcement.kind} '
                    f'{outcome.brief(announcement.key)}, which takes its '
                    'place')
        elif failed or self.announcement_unknown(resource):
            held = (f'stays while what announces {resource.subject} could not '
                    'be withdrawn')
            holder = failed[0] if failed else None
        if held:
            self._ledger.put(resource.ref, ledger.State.WAITS, held, holder)
        return not held and not self._ledger.still_refused(resource.ref)

    def _needing(self, resource: resources.Resource) -> str | None:
        """The backend of those that need it for their removal."""
        return self._backends.owners.get(resource.needed_by or '')

    def _is_being_read(self, resource: resources.Resource) -> bool:
        """Whether a reading under way tells if it is needed."""
        owner = self._needing(resource)
        if owner is not None and self._backends.is_reading(owner):
            return True
        return self._needs_announcers(resource) and any(
            self._backends.first_look(backend.name)
            for backend, _kinds in self._backends.announcers)

    def _leaves_early(self, ref: resources.Ref) -> bool:
        resource = self._tracker.existing(ref) or self._tracker.desired(ref)
        return resource is not None and resource.leaves_early

    def announcement_unknown(self, resource: resources.Resource) -> bool:
        """Whether an announcement that needs a resource may be unseen.

        A former run, or a change that took too long, may have left one while
        the backend of announcements cannot be read.
        """
        return self._needs_announcers(resource) and not all(
            self._backends.sound(backend.name)
            for backend, _kinds in self._backends.announcers)

    @staticmethod
    def _needs_announcers(resource: resources.Resource) -> bool:
        """Whether an announcement may need it."""
        return (resource.subject is not None and
                resource.stage is not resources.Stage.ANNOUNCE)
