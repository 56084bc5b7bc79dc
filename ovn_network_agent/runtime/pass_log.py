# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""The last passes of the loop, for those who ask on other threads."""

import contextlib
import dataclasses
import threading
import time

# So many passes are remembered.
KEPT = 20


@dataclasses.dataclass(frozen=True, slots=True)
class Running:
    """A pass that runs.

    :ivar reasons: tuple of str: what woke the loop
    :ivar at: begin of the pass, seconds since the epoch
    :ivar began: likewise, monotonic seconds
    """

    reasons: tuple
    at: float = dataclasses.field(default_factory=time.time)
    began: float = dataclasses.field(default_factory=time.monotonic)


@dataclasses.dataclass(frozen=True, slots=True)
class Done:
    """A pass that has ended.

    :ivar at: begin of the pass, seconds since the epoch
    :ivar reasons: tuple of str: what woke the loop
    :ivar changes: number of objects created, updated or deleted
    :ivar seconds: seconds that the pass took
    :ivar full: whether everything was read and compared
    :ivar trouble: text why the pass failed, or was made without OVN; or ''
    """

    at: float
    reasons: tuple
    changes: int = 0
    seconds: float = 0.0
    full: bool = False
    trouble: str = ''


class PassLog:
    """The last passes, and the pass that runs.

    The loop thread writes.  Any thread may read.

    :ivar last: tuple of :class:`Done`, the newest last, replaced as a whole
    :ivar running: :class:`Running`, which the loop sets at the begin of a
        pass, or None
    """

    def __init__(self):
        self.last = ()
        self.running = None
        self._result = {}
        self._ended = threading.Condition()
        self._count = 0
        self._listeners = []

    # -- on the loop thread -----------------------------------------------

    def note(self, outcome, full=False, trouble=''):
        """Note the result of the pass that runs.

        :param outcome: :class:`outcome.Outcome`
        :param full: whether everything was read and compared
        :param trouble: see :class:`Done`
        """
        self._result = {'changes': outcome.changes, 'full': full,
                        'trouble': trouble}
        with self._ended:
            for heard in self._listeners:
                heard.extend(outcome.applied)

    def fail(self, trouble):
        """Note why the pass that runs has failed.

        :param trouble: text
        """
        self._result['trouble'] = trouble

    def end(self):
        """Note the end of the pass that runs, completed or not."""
        ran, self.running = self.running, None
        result, self._result = self._result, {}
        done = Done(ran.at, tuple(ran.reasons),
                    seconds=time.monotonic() - ran.began, **result)
        with self._ended:
            self.last = (*self.last, done)[-KEPT:]
            self._count += 1
            self._ended.notify_all()

    # -- on any thread ----------------------------------------------------

    @property
    def work(self):
        """The pass that runs, in words; '' between two passes."""
        running = self.running
        if running is None:
            return ''
        return (f'a pass has been running for '
                f'{time.monotonic() - running.began:.1f} s '
                f'({", ".join(running.reasons)})')

    @contextlib.contextmanager
    def changes(self):
        """The context in which the changes of all passes are collected.

        :returns: context with a list of (verb, resource), see
            :class:`outcome.Outcome`; it grows with each pass
        """
        heard = []
        with self._ended:
            self._listeners.append(heard)
        try:
            yield heard
        finally:
            with self._ended:
                self._listeners = [each for each in self._listeners
                                   if each is not heard]

    def wait(self, seconds):
        """Wait until another pass has ended.

        :param seconds: seconds, at the most
        """
        with self._ended:
            before = self._count
            self._ended.wait_for(lambda: self._count != before, seconds)
