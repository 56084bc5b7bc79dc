# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The results of changes, and changes that are made beside the loop.

A line takes 0.05 ms of the processor, which FRR needs when a thousand
addresses come.  So many changes of one kind share lines, with each key, so
that a search for an address finds the line.
"""

from collections.abc import Callable
from collections.abc import Container
from collections.abc import Iterable
from collections.abc import Sequence
import functools
import itertools
import time

from oslo_log import log as logging

from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.common import normal_wait
from ovn_network_agent.engine import actual
from ovn_network_agent.engine import executor
from ovn_network_agent.engine import ledger
from ovn_network_agent.engine import outcome

LOG = logging.getLogger(__name__)

#: Most changes of one kind, one after another, with a line for each.
EACH = 100
#: Most keys in a shared line.
SHARED = 50


def tell(changes: Iterable[tuple[str, resources.Resource]]) -> None:
    """Write the lines of changes.

    :param changes: ('created', 'updated' or 'deleted', a resource), in order
    """
    for (verb, kind), group in itertools.groupby(
            changes, lambda change: (change[0], change[1].kind)):
        changed = [resource for _verb, resource in group]
        if len(changed) <= EACH:
            for resource in changed:
                LOG.info('%s %s %s', verb, kind, outcome.describe(resource))
            continue
        for at in range(0, len(changed), SHARED):
            some = changed[at:at + SHARED]
            LOG.info('%s %s, %d to %d of %d: %s', verb, kind, at + 1,
                     at + len(some), len(changed), ' '.join(
                         outcome.brief(resource.key) for resource in some))


class Application:
    """Notes which changes were made, are under way, wait or have failed.

    :param note: takes a backend, the changes that were made beside the loop,
        their answer, and the exception
    """

    def __init__(self, backends: actual.Backends, entries: ledger.Ledger,
                 threads: executor.Threads,
                 note: Callable[[base.Backend, resources.Delta, object,
                                 BaseException | None], object]) -> None:
        self._backends = backends
        self._ledger = entries
        self._threads = threads
        self._note = note
        # (name of a backend, seconds), of this pass.
        self.seconds: list[tuple[str, float]] = []
        # (verb, resource) of this pass, and those not logged yet.
        self.applied: list[tuple[str, resources.Resource]] = []
        self.unlogged: list[tuple[str, resources.Resource]] = []

    def begin(self, backend: base.Backend, delta: resources.Delta,
              awaited: bool) -> None:
        """Begin changes on a thread; wait a usual time, or its end wakes."""
        name, most = backend.name, backend.awaited_at_most
        awaited = awaited and not backend.concurrent and (
            most is None or len(delta) <= most)
        began = time.monotonic()
        self._threads.begin(
            backend, lambda: backend.apply(delta),
            functools.partial(self._note, backend, delta), delta, awaited)
        if not awaited:
            if not backend.concurrent:
                self._ledger.put_all(delta, ledger.State.UNDER_WAY)
            return
        patience = (self._threads.patience if backend.patience is None else
                    backend.patience)
        if self._threads.wait(patience, [name], wake=False):
            self._threads.collect([name])
        else:
            LOG.log(logging.WARNING if backend.patience is None else
                    logging.INFO, '%s: no answer within %s s; what does not '
                    'need it goes on', name, patience)
            self._ledger.put_all(delta, ledger.State.UNDER_WAY)
        self.seconds.append((name, time.monotonic() - began))

    def log_changes(self) -> None:
        """Log what is not logged yet: no change waits for its line."""
        unlogged, self.unlogged = self.unlogged, []
        tell(unlogged)

    def finish(self, system: str | None) -> None:
        """Wait for changes of a system for a usual time."""
        names = [name for name, job in self._threads.jobs.items()
                 if job.backend.system == system]
        self._threads.wait(self._threads.patience, names, wake=False)
        self._threads.collect(names)

    def holds(self, resource: resources.Resource,
              missing: Sequence[resources.Ref]) -> bool:
        """Whether a resource cannot be made; notes in the ledger why."""
        # If all that is missing is worked on beside the loop, nothing has
        # failed, and the end of this work wakes the loop.
        if self._before(resource, ledger.WORKING) or missing and all(
                self._backends.owners.get(ref.kind) in self._threads.jobs or
                self._ledger.is_under_way(ref) for ref in missing):
            return True
        holders = missing or self._before(resource, ledger.FAILING)
        if holders:
            self._ledger.put(resource.ref, ledger.State.WAITS,
                             f'waits for {holders[0].kind} '
                             f'{outcome.brief(holders[0].key)}', holders[0])
        return bool(holders) or self._ledger.still_refused(
            resource.ref) or self._ledger.still_kept(resource.ref)

    def _before(self, resource: resources.Resource,
                states: Container[ledger.State]) -> list[resources.Ref]:
        return [ref for ref in self._ledger.others(resource, states)
                if self._backends.stages[ref.kind] <= resource.stage]

    def failures(self, backend: base.Backend, delta: resources.Delta,
                 answer: object, error: BaseException | None
                 ) -> dict[resources.Ref, str] | None:
        """The changes that a backend has not made, noted in the ledger.

        A wrong answer of foreign code neither ends the pass nor is a success.

        :returns: None if the backend may have made none
        """
        try:
            if error is not None:
                raise error
            if not isinstance(answer, dict) or not all(
                    isinstance(ref, resources.Ref) for ref in answer):
                raise TypeError(f'apply() answered {answer!r}, which is no '
                                'dict of Ref to reason')
        except Exception as e:
            expected = actual.expected(backend.name, e)
            self._backends.failed(backend.name, expected)
            self._ledger.put_all(delta, ledger.State.UNREACHABLE,
                                 str(expected))
            return None
        # Nobody knows what the system has made of them.
        self._backends.conditions[backend.name].mark = None
        if not all(isinstance(reason, base.Kept)
                   for reason in answer.values()):
            self._backends.doubt([backend.name])
        messages: dict[tuple[int, str, str], list[str]] = {}
        for ref, reason in answer.items():
            # Each attempt is refused for the same reason, perhaps for days.
            known = not self._ledger.refused(ref, reason)
            level = (logging.DEBUG if known or isinstance(
                         reason, base.LeftToAnother)
                     else logging.INFO if isinstance(
                         reason, normal_wait.Reason)
                     else logging.WARNING)
            stays = ' stays' if isinstance(reason, base.Kept) else ''
            messages.setdefault((level, ref.kind, f'{stays}: {reason}'), []
                                ).append(outcome.brief(ref.key))
        for (level, kind, why), (first, *more) in messages.items():
            LOG.log(level, '%s %s%s%s', kind, first,
                    f' and {len(more):d} more' if more else '', why)
        return answer
