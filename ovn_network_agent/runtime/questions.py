# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Questions of other threads to the loop, answered between two passes.

So a function sees a settled state without a lock.  A question causes no pass;
an urgent event goes first, but waits for a function that runs.
"""

import collections
from collections.abc import Callable
import concurrent.futures
import threading
import time
import typing
from typing import Any
from typing import TypeVar

from ovn_network_agent.common import trigger as triggers
from ovn_network_agent.engine import reconciler as reconcilers
from ovn_network_agent.runtime import pass_log
from ovn_network_agent.runtime import reloads as reloading

_Result = TypeVar('_Result')
Ask = Callable[[Callable[[], Any]], Any]
TIMEOUT = 15.0  # Seconds: a pass with FRR may take some on a slow node


class NoAnswer(Exception):
    """The loop does not answer; the text says why."""


class Questions:
    """The questions that wait for the loop.

    ``wake`` wakes it, see :meth:`trigger.Trigger.ask`.  ``work`` says on any
    thread what it does, '' while it waits.
    """

    def __init__(self, wake: Callable[[], object],
                 work: Callable[[], str] = str) -> None:
        self._wake = wake
        self._work = work
        self._lock = threading.Lock()
        self._waiting: collections.deque[tuple[
            Callable[[], Any], concurrent.futures.Future[Any]]
        ] = collections.deque()
        self._closed = ''

    # -- on any thread ----------------------------------------------------

    def ask(self, function: Callable[[], _Result], timeout: float = TIMEOUT
            ) -> _Result:
        """Have the loop thread call a short function, and wait for the result.

        :raises NoAnswer: after ``timeout`` seconds or at the end of the agent;
            the loop does not call the function later
        """
        answer: concurrent.futures.Future[_Result] = (
            concurrent.futures.Future())
        with self._lock:
            if self._closed:
                raise NoAnswer(self._closed)
            self._waiting.append((function, answer))
        self._wake()
        try:
            return answer.result(timeout)
        except concurrent.futures.CancelledError:
            raise NoAnswer(self._closed) from None
        except TimeoutError:
            if not answer.cancel() and answer.done():
                # In time after all; or the function raised TimeoutError.
                return answer.result()
            raise NoAnswer(
                f'the loop has not answered within {timeout:g} s: '
                f'{self._work() or "it is busy"}; ask again, and look at the '
                'log if this lasts') from None

    # -- on the loop thread -----------------------------------------------

    def answer(self) -> None:
        """Answer the oldest question; urgent events go before the next."""
        with self._lock:
            if not self._waiting:
                return
            function, answer = self._waiting.popleft()
            more = bool(self._waiting)
        if answer.set_running_or_notify_cancel():
            try:
                answer.set_result(function())
            except Exception as e:
                answer.set_exception(e)
        if more:
            self._wake()

    def close(self, reason: str) -> None:
        """Answer no more questions."""
        with self._lock:
            self._closed = reason
            asked, self._waiting = self._waiting, collections.deque()
        for _function, answer in asked:
            answer.cancel()


class Internals(typing.NamedTuple):
    """The questions that a command may ask."""

    # The way to call anything of the reconciler but ``health``.
    questions: Questions
    passes: pass_log.PassLog
    reconciler: reconcilers.Reconciler
    trigger: triggers.Trigger
    reloads: reloading.Reloads
    started: float  # seconds since the epoch


def make(reconciler: reconcilers.Reconciler, trigger: triggers.Trigger
         ) -> Internals:
    """:class:`Internals` with a new log of passes."""
    passes = pass_log.PassLog()
    return Internals(
        Questions(trigger.ask, lambda: passes.work), passes, reconciler,
        trigger, reloading.Reloads(
            lambda: trigger.fire('configuration', urgent=True)), time.time())
