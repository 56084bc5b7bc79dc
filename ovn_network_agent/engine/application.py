# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The results of changes, and changes that are made beside the loop."""

import functools
import time

from oslo_log import log as logging

from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.common import normal_wait
from ovn_network_agent.engine import actual
from ovn_network_agent.engine import change_log
from ovn_network_agent.engine import executor
from ovn_network_agent.engine import ledger
from ovn_network_agent.engine import outcome
from ovn_network_agent.engine import tracking

LOG = logging.getLogger(__name__)


class Application:
    """Notes which changes were made, are under way or have failed."""

    def __init__(self, backends: actual.Backends, tracker: tracking.Tracker,
                 entries: ledger.Ledger, beside: executor.Beside) -> None:
        self._backends = backends
        self._tracker = tracker
        self._ledger = entries
        self._beside = beside
        # (name of a backend, seconds), of this pass.
        self.seconds: list[tuple[str, float]] = []
        # Both (verb, resource), see resources.Delta.steps: of this pass, and
        # those without a line of the log.
        self.applied: list[tuple[str, resources.Resource]] = []
        self._unlogged: list[tuple[str, resources.Resource]] = []

    def begin(self, backend: base.Backend, delta: resources.Delta,
              awaited: bool) -> None:
        """Begin changes on a thread, and wait for the end for a usual time.

        :param awaited: False to go on at once, as after very many changes; the
            end of the work then wakes the loop
        """
        name, most = backend.name, backend.awaited_at_most
        awaited = awaited and not backend.concurrent and (
            most is None or len(delta) <= most)
        began = time.monotonic()
        self._beside.begin(
            backend, lambda: backend.apply(delta),
            functools.partial(self.note, backend, delta), delta, awaited)
        if not awaited:
            if not backend.concurrent:
                self._ledger.put_all(delta, ledger.State.UNDER_WAY)
            return
        patience = (self._beside.patience if backend.patience is None else
                    backend.patience)
        if self._beside.wait(patience, [name], wake=False):
            self._beside.collect([name])
        else:
            LOG.log(logging.WARNING if backend.patience is None else
                    logging.INFO, '%s: no answer within %s s; what does not '
                    'need it goes on', name, patience)
            self._ledger.put_all(delta, ledger.State.UNDER_WAY)
        self.seconds.append((name, time.monotonic() - began))

    def note(self, backend: base.Backend, delta: resources.Delta,
             answer: object, error: BaseException | None) -> None:
        """Note the result of :meth:`backends.base.Backend.apply`."""
        failures = {} if answer == {} else self._failures(
            backend, delta, answer, error)
        if failures is None:
            return
        for verb, resource in delta.steps:
            if resource.ref in failures:
                continue
            self.applied.append((verb, resource))
            self._unlogged.append((verb, resource))
            if self._ledger.entries or self._ledger.lasting:
                self._ledger.reached(resource.ref)
            if verb == 'deleted':
                self._tracker.gone(resource.ref)
            else:
                self._tracker.found(resource)
        if backend.invalidates and (
                invalid := self._backends.doubt(backend.invalidates)):
            # The kernel removes dependent objects along with a link.
            self._ledger.forget(invalid)
            self._backends.refresh(by_us=True)

    def log_changes(self) -> None:
        """Log the changes that are not logged yet.

        No change waits for its line, because the lines take time.
        """
        unlogged, self._unlogged = self._unlogged, []
        change_log.tell(unlogged)

    def _failures(self, backend: base.Backend, delta: resources.Delta,
                  answer: object, error: BaseException | None
                  ) -> dict[resources.Ref, str] | None:
        """The changes that a backend has not made, noted in the ledger.

        A backend may be foreign code.  An answer of a wrong type must neither
        end the pass nor count as success.

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
