# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A client of the listener of an agent."""

import contextlib

from ovn_network_agent.metrics import declared
from ovn_network_agent.tests import http_get
from ovn_network_agent.tests import namespaces
from ovn_network_agent.tests.unit.metrics import test_store

PORT = 9132
LIMIT = 10


class Listener:
    """The listener of one agent, as a client sees it.

    :param host: address
    :param namespace: :class:`valuespaces.Namespace`, None for that of the test
    :param port: TCP port
    """

    def __init__(self, host='127.0.0.1', namespace=None, port=PORT):
        self._host = host
        self._namespace = namespace
        self._port = port

    def ask(self, path):
        """The answer to a request.

        :returns: (status, text); (0, '') when nobody listens
        """
        inside = (namespaces.entered(self._namespace.path)
                  if self._namespace else contextlib.nullcontext())
        with inside:
            return http_get.get(self._host, self._port, path, LIMIT)

    def unready(self):
        """The reasons on /readyz, a list; None when nobody listens."""
        status, text = self.ask('/readyz')
        if status == 200:
            return []
        lines = text.splitlines()
        if status != 503 or not lines or not all(
                line.startswith('unready: ') for line in lines):
            return None
        return [line.removeprefix('unready: ') for line in lines]

    def value(self, name, **labels):
        """The value of a series, None when there is none."""
        return self.values().get(
            (declared.PREFIX + name, frozenset(labels.items())))

    def values(self):
        """All values, dict of (series, frozenset of labels) to float."""
        status, text = self.ask('/metrics')
        return test_store.samples(text) if status == 200 else {}
