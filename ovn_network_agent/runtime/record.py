# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The interface through which the loop tells of its work, for the metrics."""

import dataclasses
import typing

from oslo_log import log as logging

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, slots=True)
class Passed:
    """A completed pass.

    :ivar trigger: why the pass was made: 'startup' before the first complete
        pass, 'periodic', 'stop', or 'event'
    :ivar since: monotonic seconds of the event that woke the loop, or None
    :ivar outcome: :class:`outcome.Outcome`
    :ivar tracker: :class:`tracking.Tracker`, valid during the call only
    :ivar full: whether everything was read and compared
    :ivar takeover: the last :class:`takeover.Takeover`, or None; the same
        object until the next takeover
    """

    trigger: str
    since: float | None
    outcome: typing.Any
    tracker: typing.Any
    full: bool
    takeover: typing.Any = None


class Record:
    """Takes note of the loop's work; this one does nothing.

    All methods run on the loop thread and have to be quick.
    """

    def made(self, passed):
        """Note a completed pass.

        :param passed: :class:`Passed`
        """

    def failed(self):
        """Note that an error ended a pass."""

    def ended(self, seconds):
        """Note the end of a pass of the loop, completed or not.

        :param seconds: duration
        """

    def reloaded(self, good):
        """Note a reload of the configuration.

        :param good: False when the configuration stays as it was
        """

    def drained(self, result, seconds):
        """Note the end of a drain.

        :param result: text, a value of :class:`drain.Result`
        :param seconds: duration
        """


class Guarded(Record):
    """Keeps the errors of another record away from the loop.

    A pass must not fail because its metrics cannot be counted.

    :param inner: :class:`Record`
    """

    def __init__(self, inner):
        self._inner = inner
        self._said = set()

    def made(self, passed):
        """Hand a completed pass on; see :meth:`Record.made`."""
        self._try(self._inner.made, passed)

    def failed(self):
        """Hand a failed pass on; see :meth:`Record.failed`."""
        self._try(self._inner.failed)

    def ended(self, seconds):
        """Hand a duration on; see :meth:`Record.ended`."""
        self._try(self._inner.ended, seconds)

    def reloaded(self, good):
        """Hand a reload on; see :meth:`Record.reloaded`."""
        self._try(self._inner.reloaded, good)

    def drained(self, result, seconds):
        """Hand the end of a drain on; see :meth:`Record.drained`."""
        self._try(self._inner.drained, result, seconds)

    def _try(self, method, *args):
        try:
            method(*args)
        except Exception as error:
            # Each error once, as it may come with every pass.
            about = method.__name__, type(error), str(error)
            if about not in self._said:
                self._said.add(about)
                LOG.exception('Metrics: what the loop did is not counted')
