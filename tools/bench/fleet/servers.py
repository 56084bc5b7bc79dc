# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""ovsdb-servers whose processor time and memory are seen."""

from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from tools.bench import processes

# Seconds that a loaded server may take for an answer.
LIMIT = 600


class Patient(ovsdb._Client):
    """The client of the tests, but for its limit."""

    def __init__(self, path):
        super().__init__(path)
        self._socket.settimeout(LIMIT)


class Server(ovsdb.Server):
    """An ovsdb-server that many clients load."""

    def _call(self, method, params):
        if self._client is None:
            self._client = Patient(self._path('sock'))
        return self._client.call(method, params)

    def transact(self, *operations):
        """One transaction; gives the results.

        :raises RuntimeError: when the server refuses an operation
        """
        results = self._call('transact', [self.database, *operations])
        for result in results:
            if result and 'error' in result:
                raise RuntimeError(f'{results}')
        return results

    @property
    def pid(self) -> int:
        """Of the present process."""
        return self._process.pid

    def processor(self) -> float:
        """Seconds of processor time so far."""
        return processes.load([self.pid]).processor / 1000

    def memory(self, most: bool = False) -> float:
        """Resident memory in MB, now or at most so far."""
        return processes.resident(self.pid, most)
