# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Work of backends beside the loop, which a slow system must not delay.

The end of such work wakes the loop, and the next pass collects the result.
"""

from collections.abc import Callable
from collections.abc import Container
import concurrent.futures
import dataclasses
import threading
import typing

from ovn_network_agent import resources
from ovn_network_agent.backends import base

# Seconds to wait.  vtysh takes 0.03 s, on a very slow machine 0.35 s.
PATIENCE = 1.0

_T = typing.TypeVar('_T')
# Takes the result or None, and the exception or None.
_Then: typing.TypeAlias = Callable[
    [typing.Any, BaseException | None], object]


@dataclasses.dataclass(eq=False, slots=True)
class _Job:
    """One :meth:`base.Backend.apply` or a reading."""

    backend: base.Backend
    # None if another thread waits for the result.
    then: _Then | None
    # None for a reading.
    delta: resources.Delta | None
    # Whether the loop waits for the job now.
    awaited: bool
    removes: frozenset[resources.Ref]
    future: concurrent.futures.Future[typing.Any] = dataclasses.field(
        default_factory=concurrent.futures.Future)


class Threads:
    """Runs a backend on a thread of its own, one job at a time.

    The threads are daemons, unlike those of the library's executors: the end
    of the agent must not wait for a database that does not answer.

    :param wake: takes the reason, at the end of a job not waited for
    :param patience: seconds to wait for the end of a job
    """

    def __init__(self, wake: Callable[[str], object],
                 patience: float = PATIENCE) -> None:
        self._wake = wake
        self.patience = patience
        # By name of the backend, until collected.  Only this class changes it.
        self.jobs: dict[str, _Job] = {}
        self._lock = threading.Lock()

    def systems(self) -> set[str]:
        """The :attr:`base.Backend.system` of running backends."""
        return {job.backend.system for job in self.jobs.values()}

    def changing(self) -> dict[str, resources.Delta]:
        """The changes under way, by name of the backend."""
        return {name: job.delta for name, job in self.jobs.items()
                if job.delta is not None}

    def removes(self, ref: resources.Ref) -> bool:
        """Whether a change under way removes a resource."""
        return any(ref in job.removes for job in self.jobs.values())

    def begin(self, backend: base.Backend, work: Callable[[], _T],
              then: _Then | None = None,
              delta: resources.Delta | None = None, awaited: bool = False
              ) -> concurrent.futures.Future[_T] | None:
        """Start a job, unless the backend has one.

        :param then: called by :meth:`collect` with the result
        :param awaited: whether the caller calls :meth:`wait` next, so that the
            end of the job does not wake the loop
        :returns: None without a new job
        """
        if backend.name in self.jobs:
            return None
        job = _Job(backend, then, delta, awaited, frozenset(
            r.ref for r in delta.delete) if delta else frozenset())
        threading.Thread(target=self._work, args=(job, work),
                         name=f'beside-{backend.name}',
                         daemon=True).start()
        self.jobs[backend.name] = job
        return job.future

    def _work(self, job: _Job, work: Callable[[], object]) -> None:
        result = error = None
        try:
            result = work()
        except Exception as e:
            error = e
        with self._lock:
            if error is None:
                job.future.set_result(result)
            else:
                job.future.set_exception(error)
            awaited = job.awaited
        if not awaited:
            self._wake(f'{job.backend.name} done')

    def collect(self, names: Container[str] | None = None) -> None:
        """Hand on the results of ended jobs, of some backends or of all."""
        ended = [job for name, job in self.jobs.items()
                 if job.future.done() and (names is None or name in names)]
        for job in ended:
            del self.jobs[job.backend.name]
        for job in ended:
            if job.then is not None:
                error = job.future.exception()
                job.then(None if error else job.future.result(), error)

    def wait(self, timeout: float | None,
             names: Container[str] | None = None, wake: bool = True) -> bool:
        """Wait for jobs to end; True when none of them is running any more.

        :param timeout: seconds, None for no limit
        :param wake: whether the end of a job may wake the loop meanwhile
        """
        jobs = [job for name, job in self.jobs.items()
                if names is None or name in names]
        with self._lock:
            for job in jobs:
                job.awaited = not wake
        concurrent.futures.wait([job.future for job in jobs], timeout)
        with self._lock:
            for job in jobs:
                job.awaited = False
            return all(job.future.done() for job in jobs)


def begin(function: Callable[[], _T]) -> concurrent.futures.Future[_T]:
    """Run a function on a thread of its own."""
    future: concurrent.futures.Future[_T] = concurrent.futures.Future()

    def work() -> None:
        try:
            future.set_result(function())
        except Exception as e:
            future.set_exception(e)
    threading.Thread(target=work, name='question', daemon=True).start()
    return future
