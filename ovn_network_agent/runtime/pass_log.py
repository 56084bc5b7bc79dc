# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The passes of the loop, for the metrics and for other threads."""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import dataclasses
import functools
import threading
import time
import typing
from typing import Any

from oslo_log import log as logging

from ovn_network_agent import resources
from ovn_network_agent.engine import outcome as outcomes
from ovn_network_agent.engine import tracking
from ovn_network_agent.gateways import takeover as takeovers

LOG = logging.getLogger(__name__)


class Passed(typing.NamedTuple):
    """A completed pass."""

    # 'startup' before the first complete pass, 'periodic', 'stop' or 'event'.
    trigger: str
    woken_at: float | None  # monotonic seconds of the wake-up
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
        self._logged: set[tuple[str, type, str]] = set()
        for name in ('made', 'failed', 'ended', 'reloaded', 'drained'):
            setattr(self, name, functools.partial(self._try,
                                                  getattr(inner, name)))

    def _try(self, method: Callable[..., object], *args: object) -> None:
        try:
            method(*args)
        except Exception as error:
            # Each once, as it may come with every pass.
            about = method.__name__, type(error), str(error)
            if about not in self._logged:
                self._logged.add(about)
                LOG.exception('Metrics: an event of the loop was not counted')


_Change = tuple[str, resources.Resource]  # see Outcome.applied
KEPT = 20  # passes remembered


@dataclasses.dataclass(frozen=True, slots=True)
class Running:
    """A pass that runs."""

    reasons: tuple[str, ...]  # what woke the loop
    # Seconds since the epoch.
    at: float = dataclasses.field(default_factory=time.time)
    # Monotonic seconds.
    began: float = dataclasses.field(default_factory=time.monotonic)


class Done(typing.NamedTuple):
    """A pass that has ended."""

    at: float  # begin, seconds since the epoch
    reasons: tuple[str, ...]  # what woke the loop
    changes: int = 0  # objects created, updated or deleted
    seconds: float = 0.0
    full: bool = False  # everything was read and compared
    trouble: str = ''  # why it failed or was without OVN


class PassLog:
    """The last passes and the running one; the loop writes, any may read."""

    def __init__(self) -> None:
        # The newest last; replaced as a whole.
        self.last: tuple[Done, ...] = ()
        self.running: Running | None = None
        self._result: dict[str, Any] = {}
        self._ended = threading.Condition()
        self._count = 0
        self._listeners: list[list[_Change]] = []

    # -- on the loop thread -----------------------------------------------

    def note(self, outcome: outcomes.Outcome, full: bool = False,
             problem: str = '') -> None:
        """Note the result of the pass that runs, as :class:`Done` has it."""
        self._result = {'changes': outcome.changes, 'full': full,
                        'trouble': problem}
        with self._ended:
            for changes in self._listeners:
                changes.extend(outcome.applied)

    def fail(self, problem: str) -> None:
        """Note why the pass that runs has failed."""
        self._result['trouble'] = problem

    def end(self) -> None:
        """Note the end of the pass that runs, completed or not."""
        ran, self.running = self.running or Running(()), None
        result, self._result = self._result, {}
        done = Done(ran.at, tuple(ran.reasons),
                    seconds=time.monotonic() - ran.began, **result)
        with self._ended:
            self.last = (*self.last, done)[-KEPT:]
            self._count += 1
            self._ended.notify_all()

    # -- on any thread ----------------------------------------------------

    @property
    def work(self) -> str:
        """The pass that runs, in words; '' between two passes."""
        running = self.running
        if running is None:
            return ''
        return (f'a pass has been running for '
                f'{time.monotonic() - running.began:.1f} s '
                f'({", ".join(running.reasons)})')

    @contextlib.contextmanager
    def changes(self) -> Iterator[list[_Change]]:
        """The context in which changes of all passes come into its list."""
        changes: list[_Change] = []
        with self._ended:
            self._listeners.append(changes)
        try:
            yield changes
        finally:
            with self._ended:
                self._listeners = [each for each in self._listeners
                                   if each is not changes]

    def wait(self, seconds: float) -> None:
        """Wait until another pass has ended."""
        with self._ended:
            before = self._count
            self._ended.wait_for(lambda: self._count != before, seconds)
