# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The interface through which the loop tells of its work, for the metrics."""

from collections.abc import Callable
import dataclasses

from oslo_log import log as logging

from ovn_network_agent.engine import outcome as outcomes
from ovn_network_agent.engine import tracking
from ovn_network_agent.gateways import takeover as takeovers

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, slots=True)
class Passed:
    """A completed pass."""

    # Why the pass was made: 'startup' before the first complete pass,
    # 'periodic', 'stop', or 'event'.
    trigger: str
    # Monotonic seconds of the event that woke the loop, or None.
    since: float | None
    outcome: outcomes.Outcome
    # Valid during the call only.
    tracker: tracking.Tracker
    # Whether everything was read and compared.
    full: bool
    # The last one; the same object until the next takeover.
    takeover: takeovers.Takeover | None = None


class Record:
    """Takes note of the loop's work; this one does nothing.

    All methods run on the loop thread and have to be quick.
    """

    def made(self, passed: Passed) -> None:
        """Note a completed pass."""

    def failed(self) -> None:
        """Note that an error ended a pass."""

    def ended(self, seconds: float) -> None:
        """Note the end of a pass of the loop, completed or not."""

    def reloaded(self, good: bool) -> None:
        """Note a reload of the configuration.

        :param good: False when the configuration stays as it was
        """

    def drained(self, result: str, seconds: float) -> None:
        """Note the end of a drain, with a value of :class:`drain.Result`."""


class Guarded(Record):
    """Keeps the errors of another record away from the loop.

    A pass must not fail because its metrics cannot be counted.
    """

    def __init__(self, inner: Record) -> None:
        self._inner = inner
        self._logged: set[tuple[str, type, str]] = set()

    def made(self, passed: Passed) -> None:
        """Hand a completed pass on; see :meth:`Record.made`."""
        self._try(self._inner.made, passed)

    def failed(self) -> None:
        """Hand a failed pass on; see :meth:`Record.failed`."""
        self._try(self._inner.failed)

    def ended(self, seconds: float) -> None:
        """Hand a duration on; see :meth:`Record.ended`."""
        self._try(self._inner.ended, seconds)

    def reloaded(self, good: bool) -> None:
        """Hand a reload on; see :meth:`Record.reloaded`."""
        self._try(self._inner.reloaded, good)

    def drained(self, result: str, seconds: float) -> None:
        """Hand the end of a drain on; see :meth:`Record.drained`."""
        self._try(self._inner.drained, result, seconds)

    def _try(self, method: Callable[..., object], *args: object) -> None:
        try:
            method(*args)
        except Exception as error:
            # Each error once, as it may come with every pass.
            about = method.__name__, type(error), str(error)
            if about not in self._logged:
                self._logged.add(about)
                LOG.exception('Metrics: an event of the loop was not counted')
