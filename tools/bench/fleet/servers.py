# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""ovsdb-servers whose processor time and memory are seen."""

from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from tools.bench import usage

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

    def schema(self):
        """The schema of the database, a dict."""
        return self._call('get_schema', [self.database])

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
    def process(self):
        """The present :class:`usage.Process`."""
        return usage.Process(self._process.pid)

    def processor(self):
        """Seconds of processor time so far."""
        return self.process.processor()

    def memory(self):
        """Resident memory in MB."""
        return self.process.memory()
