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
"""The agent on a node of its own, as the scenarios see each subject.

A world has ``fill(size)``, ``start()``, ``stop()`` and ``change(addresses,
present)``.  Times are milliseconds from before the transaction is sent, or
before the program is started: dict of place to time, with ALL, the last of
the places that count.
"""

import time

from tools.bench import samples

ALL, COMMIT, LAUNCHED = 'all', 'NB commit', 'launched'
# Seconds for what is large.
PATIENCE = 900
# Seconds after which a change has no consequences any more.
_QUIET = 0.3


class World:
    """A node, its rows in OVN, and the agent.

    :param host: a :class:`hosts.Host`
    :param method: announce method
    :ivar size: how many floating IPs are present
    """

    def __init__(self, host, method):
        self.host = host
        self.method = method
        self.size = 0
        self._observer = None

    def fill(self, size):
        """Bring the number of present addresses to SIZE, without the agent.

        :raises ValueError: when so many are there already
        """
        if size < self.size:
            raise ValueError(f'{self.size:d} addresses are present, which is '
                             f'more than {size:d}')
        samples.fill(self.host, samples.addresses(
            samples.FIRST + self.size, size - self.size))
        self.size = size

    @property
    def present(self):
        """The present addresses, a list."""
        return samples.addresses(samples.FIRST, self.size)

    def start(self):
        """Start the agent and wait until all is in place.

        :returns: dict of place to milliseconds, and LAUNCHED to the number of
            launched processes and threads
        """
        self._watch()
        before = self.host.launched()
        others = self._observer.in_rib()
        wanted = self.host.gateways + self.present
        started = self.host.start_agent(self.method)
        found = self._times(started, self._observer.wait(
            wanted, True, others, PATIENCE))
        time.sleep(_QUIET)
        return {**found, LAUNCHED: self.host.launched() - before}

    def stop(self):
        """End the agent in good order; nothing of it is left."""
        self.host.stop_agent()
        self._forget()

    def change(self, addresses, present):
        """Have addresses come, or go.

        :param addresses: list of text, none of the present ones
        :param present: which of both
        :returns: as of :meth:`start`, and COMMIT
        """
        self._observer.drain()
        others = self._observer.in_rib() - (0 if present else len(addresses))
        before = self.host.launched()
        change = self.host.add_fips if present else self.host.remove_fips
        started = change(addresses)
        commit = time.monotonic()
        found = self._observer.wait(addresses, present, others, PATIENCE)
        found = {**self._times(started, found),
                 COMMIT: (commit - started) * 1000}
        time.sleep(_QUIET)
        return {**found, LAUNCHED: self.host.launched() - before}

    def _times(self, started, found):
        """Milliseconds of monotonic times."""
        times = {place: (when - started) * 1000
                 for place, when in found.items()}
        return {**times, ALL: max(times.values())}

    def _watch(self):
        self._forget()
        self._observer = self.host.observer()

    def _forget(self):
        if self._observer:
            self._observer.close()
            self._observer = None
