# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The last passes of the loop, for those who ask on other threads."""

from collections.abc import Iterator
import contextlib
import dataclasses
import threading
import time
from typing import Any

from ovn_network_agent import resources
from ovn_network_agent.engine import outcome as outcomes

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


@dataclasses.dataclass(frozen=True, slots=True)
class Done:
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
             trouble: str = '') -> None:
        """Note the result of the pass that runs, as :class:`Done` has it."""
        self._result = {'changes': outcome.changes, 'full': full,
                        'trouble': trouble}
        with self._ended:
            for heard in self._listeners:
                heard.extend(outcome.applied)

    def fail(self, trouble: str) -> None:
        """Note why the pass that runs has failed."""
        self._result['trouble'] = trouble

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
        heard: list[_Change] = []
        with self._ended:
            self._listeners.append(heard)
        try:
            yield heard
        finally:
            with self._ended:
                self._listeners = [each for each in self._listeners
                                   if each is not heard]

    def wait(self, seconds: float) -> None:
        """Wait until another pass has ended."""
        with self._ended:
            before = self._count
            self._ended.wait_for(lambda: self._count != before, seconds)
