# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A server is restarted under many clients."""

import contextlib
import json
import selectors
import tempfile
import threading
import time

from ovn_network_agent.ovsdb import replica
from tools.bench.fleet import cloud as clouds
from tools.bench.fleet import recorder
from tools.bench.fleet import returning
from tools.bench.fleet import servers

_LIMIT = 300
_LOOK = 0.05
# Seconds after the last client is current in which losses are counted.
_AFTERWARDS = 15
_FIXED = (1000, 8000)


class Other:
    """Another client, such as ovn-northd: how long its requests take.

    :param server: :class:`servers.Server`
    """

    def __init__(self, server):
        self._path = server.remote.removeprefix('unix:')
        self._database = server.database
        self._ended = threading.Event()
        self.longest = 0.0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        with contextlib.closing(servers.Patient(self._path)) as client:
            while not self._ended.wait(0.1):
                started = time.monotonic()
                client.call('transact', [self._database, {
                    'op': 'comment', 'comment': 'still there'}])
                self.longest = max(self.longest,
                                   time.monotonic() - started)

    def end(self):
        """The longest request in seconds."""
        self._ended.set()
        self._thread.join()
        return self.longest


class Crowd:
    """Clients on one thread.

    :param made: list of :class:`returning.Client`
    """

    def __init__(self, made):
        self.clients = made
        self._selector = selectors.DefaultSelector()

    def run(self, until):
        """Serve all clients until a condition holds.

        :param until: function()
        """
        deadline = time.monotonic() + _LIMIT
        while not until():
            if time.monotonic() > deadline:
                raise RuntimeError('not all clients are current')
            for client in self.clients:
                client.run(self._selector)
            for key, events in self._selector.select(_LOOK):
                key.data.ready(self._selector, events)
            for client in self.clients:
                client.attempted()

    def all_loaded(self):
        """Whether each client has everything."""
        return all(client.loaded is not None for client in self.clients)

    def close(self):
        """Close all sockets."""
        for client in self.clients:
            client.close()
        self._selector.close()


def run(options):
    """Restart the servers under each number of clients; prints.

    :param options: of the command line
    """
    for count in options.gateways:
        print(f'{count} clients, {options.routers} routers with '
              f'{options.fips} floating IPs each', flush=True)
        with clouds.Cloud(max(count, 2), options.routers, options.fips,
                          tcp=True) as cloud:
            for name in ('nb', 'sb'):
                sent, size = begin(getattr(cloud, name), name)
                for jitter in (False, True):
                    _one(getattr(cloud, name), name, count, sent, size,
                         jitter, options)


def begin(server, name):
    """(bytes that an agent begins with, bytes of the answers).

    :param server: :class:`servers.Server`
    :param name: 'nb' or 'sb'
    """
    with tempfile.TemporaryDirectory() as directory:
        requests, _rows = recorder.replica(name, server, directory)
    # An agent compares the schema after each loss.
    requests.append({'method': 'get_schema', 'params': [server.database],
                     'id': 'schema'})
    sent = ''.join(map(json.dumps, requests)).encode()
    return sent, returning.measured(
        address(server), sent, [json.dumps(one['id']) for one in requests])


def address(server):
    """(host, port) of a server."""
    _scheme, host, port = server.remote_tcp.split(':')
    return host, int(port)


def _one(server, name, count, sent, size, jitter, options):
    crowd = Crowd([returning.Client(
        address(server), sent, size,
        replica.pauses() if jitter else _FIXED, options.probe)
        for _number in range(count)])
    with contextlib.closing(crowd):
        crowd.run(crowd.all_loaded)
        server.kill()
        until = time.monotonic() + options.away
        crowd.run(lambda: time.monotonic() >= until)
        for client in crowd.clients:
            client.attempts = client.given_up = 0
        server.start()
        started, other = time.monotonic(), Other(server)
        crowd.run(crowd.all_loaded)
        after = sorted(client.loaded - started for client in crowd.clients)
        spent, longest = server.processor(), other.end()
        until = time.monotonic() + _AFTERWARDS
        crowd.run(lambda: time.monotonic() >= until)
        print(f'{name}, {"with" if jitter else "without"} jitter, away for '
              f'{options.away:.0f} s: {size / 1000:.0f} kB each; current: '
              f'first {after[0]:.1f} s, half {after[len(after) // 2]:.1f} s, '
              f'last {after[-1]:.1f} s; processor {spent:.1f} s; memory at '
              f'most {server.process.peak():.0f} MB; another client waited '
              f'{longest:.2f} s; '
              f'{sum(c.attempts for c in crowd.clients)} attempts, '
              f'{sum(c.given_up for c in crowd.clients)} connections given '
              'up', flush=True)
