# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Work of backends beside the loop.

A system that answers slowly, or hangs, must not delay the other backends.
The end of such work wakes the loop, and the next pass collects the result.
"""

import concurrent.futures
import threading

# Seconds that the loop waits for the end of such work.  vtysh takes 0.03 s on
# a common machine and 0.35 s on a very slow machine.
PATIENCE = 1.0


class _Job:
    """One :meth:`base.Backend.apply` or :meth:`base.Backend.read`.

    :ivar delta: the delta of apply(), None for read()
    :ivar awaited: whether the loop waits for the job at this moment
    :ivar asked: whether another thread waits for the result, and not the loop
    """

    def __init__(self, backend, delta, awaited, asked):
        self.backend = backend
        self.delta = delta
        self.future = concurrent.futures.Future()
        self.awaited = awaited
        self.asked = asked


class Beside:
    """Runs a backend on a thread of its own, one job at a time.

    The threads are daemons, unlike those of the library's executors: the
    end of the agent must not wait for a database that does not answer.

    :param wake: function(reason), called at the end of a job that the loop
        does not wait for
    :param patience: seconds that the loop waits for the end of a job
    :ivar patience: the same
    :ivar jobs: dict of backend name to the job that is not collected yet;
        empty while nothing works beside the loop; only this class changes it
    """

    def __init__(self, wake, patience=PATIENCE):
        self._wake = wake
        self.patience = patience
        self.jobs = {}
        self._lock = threading.Lock()

    def systems(self):
        """The :attr:`base.Backend.system` of running backends, a set."""
        return {job.backend.system for job in self.jobs.values()}

    def changing(self):
        """Deltas under way.

        :returns: dict of backend name to :class:`resources.Delta`
        """
        return {name: job.delta for name, job in self.jobs.items()
                if job.delta is not None}

    def submit(self, backend, delta, awaited=False):
        """Start ``backend.apply(delta)``, unless the backend has a job.

        :param awaited: True when the caller calls :meth:`wait` next, so that
            the end of the job does not wake the loop
        """
        self._begin(backend, delta, awaited,
                    lambda: backend.apply(delta))

    def read(self, backend, known, mark=None, awaited=False):
        """Start ``backend.reread()`` with these; see :meth:`submit`."""
        self._begin(backend, None, awaited,
                    lambda: backend.reread(lambda: known, mark))

    def look(self, backend, known):
        """Start ``backend.read(known)`` for another thread.

        The loop does not get the result.  Nothing else works meanwhile on the
        system, and the end wakes the loop for what had to wait.

        :returns: concurrent.futures.Future of the result, or None if the
            backend or its system is at work
        """
        if backend.name in self.jobs or (
                backend.system and backend.system in self.systems()):
            return None
        return self._begin(backend, None, False,
                           lambda: backend.read(known), asked=True).future

    def _begin(self, backend, delta, awaited, work, asked=False):
        if backend.name in self.jobs:
            return None
        job = _Job(backend, delta, awaited, asked)
        threading.Thread(target=self._work, args=(job, work),
                         name=f'beside-{backend.name}',
                         daemon=True).start()
        self.jobs[backend.name] = job
        return job

    def _work(self, job, work):
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

    def done(self, names=None):
        """Collect the jobs that have ended.

        :param names: names of backends, None for all
        :returns: list of (backend, delta or None for a read, result or
            None, exception or None)
        """
        ended = []
        for name, job in list(self.jobs.items()):
            if not job.future.done() or (
                    names is not None and name not in names):
                continue
            del self.jobs[name]
            if job.asked:
                continue
            error = job.future.exception()
            ended.append((job.backend, job.delta,
                          None if error else job.future.result(), error))
        return ended

    def wait(self, timeout, names=None, wake=True):
        """Wait for jobs to end.

        :param timeout: seconds, None for no limit
        :param names: names of backends, None for all
        :param wake: False when the end of a job must not wake the loop
            meanwhile
        :returns: True when none of the jobs is running any more
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


def begin(function):
    """Run a function on a thread of its own.

    :param function: function without arguments
    :returns: concurrent.futures.Future of the function's result or exception
    """
    future = concurrent.futures.Future()

    def work():
        try:
            future.set_result(function())
        except Exception as e:
            future.set_exception(e)
    threading.Thread(target=work, name='question', daemon=True).start()
    return future
