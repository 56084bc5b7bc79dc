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

    # 'startup' before the first complete pass, 'periodic', 'stop' or 'event'.
    trigger: str
    since: float | None  # monotonic seconds of the wake-up
    outcome: outcomes.Outcome
    tracker: tracking.Tracker  # valid during the call
    full: bool  # everything was read
    # Of the last one; the same object until the next takeover.
    takeover: takeovers.Takeover | None = None


class Record:
    """Takes quick note of the loop's work, on its thread; this one: none."""

    def made(self, passed: Passed) -> None:
        """Note a completed pass."""

    def failed(self) -> None:
        """Note that an error ended a pass."""

    def ended(self, seconds: float) -> None:
        """Note the end of a pass of the loop, completed or not."""

    def reloaded(self, good: bool) -> None:
        """Note a reload; the configuration stays as it was if not ``good``."""

    def drained(self, result: str, seconds: float) -> None:
        """Note the end of a drain, with a value of :class:`drain.Result`."""


class Guarded(Record):
    """Keeps the errors of another record away from the loop."""

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
            # Each once, as it may come with every pass.
            about = method.__name__, type(error), str(error)
            if about not in self._logged:
                self._logged.add(about)
                LOG.exception('Metrics: an event of the loop was not counted')
