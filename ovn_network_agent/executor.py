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

"""Work beside the loop: a thread for each backend of a remote system.

A database that answers slowly must not delay what the node does for
itself; the result is collected by the next pass, which is woken for it.
"""

import concurrent.futures
import threading


class Beside:
    """Runs :meth:`Backend.apply` on a thread of its own.

    The threads are daemons, unlike those of the library's executors: the
    end of the agent must not wait for a database that does not answer.

    :param wake: function(reason), called when something has ended
    """

    def __init__(self, wake):
        self._wake = wake
        self._running = {}

    def running(self):
        """Names of backends with work that was not collected yet."""
        return tuple(self._running)

    def submit(self, backend, delta):
        """Start ``backend.apply(delta)``, unless it still works."""
        if backend.name in self._running:
            return
        future = concurrent.futures.Future()
        self._running[backend.name] = (backend, delta, future)
        threading.Thread(target=self._work, args=(backend, delta, future),
                         name='beside-%s' % backend.name,
                         daemon=True).start()

    def _work(self, backend, delta, future):
        try:
            future.set_result(backend.apply(delta))
        except Exception as e:
            future.set_exception(e)
        self._wake('%s done' % backend.name)

    def done(self):
        """Collect what has ended.

        :returns: list of (backend, delta, failures or None, exception or
            None)
        """
        ended = []
        for name, (backend, delta, future) in list(self._running.items()):
            if not future.done():
                continue
            del self._running[name]
            error = future.exception()
            if error is None:
                ended.append((backend, delta, future.result(), None))
            else:
                ended.append((backend, delta, None, error))
        return ended

    def wait(self, timeout):
        """Wait for all work to end.

        :param timeout: seconds
        :returns: True when it has
        """
        futures = [future for _b, _d, future in self._running.values()]
        _done, rest = concurrent.futures.wait(futures, timeout)
        return not rest
