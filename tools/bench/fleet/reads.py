# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What following costs: many light clients, and the bytes of each event."""

import contextlib
import json
import os
import selectors
import socket
import statistics
import tempfile
import threading
import time

from ovn_network_agent.ovn import events
from ovn_network_agent.ovsdb import connection
from ovn_network_agent.ovsdb import replica as replicas
from ovn_network_agent.tests import waiting
from tools.bench.fleet import cloud
from tools.bench.fleet import cloud as clouds

# Bytes that are kept of what came last.
_END = 4096


class Clients:
    """Light clients of one server.

    :ivar size: bytes that each of them gets at the beginning
    """

    def __init__(self, path, requests, count: int):
        self._path = path
        self._begin = ''.join(json.dumps(one) for one in requests).encode()
        self._ids = [json.dumps(one['id']) for one in requests]
        self._selector = selectors.DefaultSelector()
        self._received, self._ends = {}, {}
        with contextlib.ExitStack() as opened:
            opened.callback(self.close)
            self.size = self._first()
            for _number in range(count - 1):
                self._add()
            self._read(lambda: min(self._received.values()) >= self.size)
            opened.pop_all()

    def received(self):
        """Bytes so far, of all clients."""
        return sum(self._received.values())

    def until(self, mark):
        """Read until every client has got a text, the last of all."""
        self._read(lambda: all(mark in end for end in self._ends.values()))

    def close(self):
        """Close the connections of all clients, and the selector."""
        for key in list(self._selector.get_map().values()):
            key.fileobj.close()
        self._selector.close()

    def _add(self):
        made = socket.socket(socket.AF_UNIX)
        # From now on close() closes the socket.
        self._selector.register(made, selectors.EVENT_READ)
        made.connect(self._path)
        made.sendall(self._begin)
        self._received[made], self._ends[made] = 0, b''
        return made

    def _first(self):
        """Add a client whose answers are read; gives their size."""
        made, decoder, text = self._add(), json.JSONDecoder(), ''
        answered = set()
        while answered != set(self._ids):
            data = made.recv(1 << 20)
            self._received[made] += len(data)
            messages, text = complete(decoder, text + data.decode())
            for message in messages:
                if 'result' in message:
                    answered.add(json.dumps(message['id']))
        return self._received[made]

    def _read(self, complete):
        started = time.monotonic()
        while not complete():
            if time.monotonic() - started > cloud.LIMIT:
                raise RuntimeError('the server does not send everything')
            for key, _events in self._selector.select(0.1):
                made, data = key.fileobj, key.fileobj.recv(1 << 20)
                self._received[made] += len(data)
                self._ends[made] = (self._ends[made] + data)[-_END:]
                if b'"echo"' in data[-200:]:
                    made.sendall(b'{"id":"echo","result":[],"error":null}')


def complete(decoder, text):
    """(list of the whole messages at the begin of a text, the rest)."""
    messages = []
    while text:
        try:
            message, end = decoder.raw_decode(text)
        except ValueError:
            break
        messages.append(message)
        text = text[end:]
    return messages, text


class Recorder:
    """Stands between a replica and a server, and keeps what it asks for."""

    def __init__(self, path, directory):
        self._path = path
        self.requests = []
        self._listener = socket.socket(socket.AF_UNIX)
        place = os.path.join(directory, 'recorder')
        self._listener.bind(place)
        self._listener.listen()
        self.remote = 'unix:' + place
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            client, _address = self._listener.accept()
            server = socket.socket(socket.AF_UNIX)
            server.connect(self._path)
            for source, target, keep in ((client, server, True),
                                         (server, client, False)):
                threading.Thread(target=self._copy, daemon=True,
                                 args=(source, target, keep)).start()

    def _copy(self, source, target, keep):
        decoder, text = json.JSONDecoder(), ''
        while True:
            try:
                data = source.recv(1 << 20)
                target.sendall(data)
            except OSError:
                # The replica has ended, and the other thread has closed it.
                break
            if not data:
                break
            messages, text = complete(
                decoder, text + (data.decode() if keep else ''))
            for message in messages:
                if message.get('method', 'echo') != 'echo':
                    self.requests.append(message)
        target.close()


def replica(name, server, directory):
    """Follow a server as an agent does."""
    recorder = Recorder(server.remote.removeprefix('unix:'), directory)
    handler = replicas.Handler()
    made = connection.Database(name, recorder.remote, handler, 10, 60000)
    for watch in events.VIEW:
        if watch.database == name:
            made.require(watch.table, watch.columns)
    for database, table, clauses in events.CONDITIONS:
        if database == name:
            made.only(table, clauses)
    made.start()
    try:
        waiting.eventually(lambda: made.connected, 'the replica', 120)
        with made.rows() as rows:
            counted = {table: len(rows[table]) for table in rows}
    finally:
        made.stop()
        handler.stop()
    # The schema is fetched before, on connections that end.
    monitors = [one for one in recorder.requests
                if one['method'].startswith(('monitor', 'set_db'))]
    return monitors, counted


def measure(cloud, name, requests, count, happenings, repeat):
    """Load a server with clients, and then with events."""
    server = getattr(cloud, name)
    before, memory = server.processor(), server.memory()
    started = time.monotonic()
    with contextlib.closing(Clients(server.remote.removeprefix('unix:'),
                                    requests, count)) as clients:
        print(f'{name}: {count} clients: {clients.size / 1000:.0f} kB each, '
              f'processor {server.processor() - before:.2f} s, '
              f'{time.monotonic() - started:.1f} s, memory '
              f'{memory:.0f} to {server.memory():.0f} MB', flush=True)
        mark, cost = _reach_all(cloud, name, clients, repeat), 0
        for what in (None, *happenings):
            before, read = server.processor(), clients.received()
            for number in range(repeat if what else 0):
                what(number)
            mark += 1
            clients.until(cloud.mark(name, mark))
            total = (clients.received() - read) / count
            if what is None:
                # The mark itself.
                cost = total
                continue
            print(f'{name}: {count} clients: {what.__name__}: '
                  f'{(total - cost) / repeat:.0f} bytes each, processor '
                  f'{(server.processor() - before) / repeat * 1000:.1f} ms',
                  flush=True)
        print(f'{name}: memory {server.memory():.0f} MB', flush=True)


def _reach_all(cloud, name, clients, repeat) -> int:
    """Print how long one change takes until all clients have it."""
    taken = []
    for number in range(1, repeat + 1):
        started = time.monotonic()
        clients.until(cloud.mark(name, number))
        taken.append((time.monotonic() - started) * 1000)
    print(f'{name}: one change is with all clients after '
          f'{statistics.median(taken):.1f} ms, at most {max(taken):.1f} ms',
          flush=True)
    return repeat


def run(options):
    """Measure each number of gateways; prints."""
    for count in options.gateways:
        print(f'{count} gateways, {options.routers} routers with '
              f'{options.fips} floating IPs each', flush=True)
        with clouds.Cloud(count, options.routers, options.fips) as cloud:
            _one(cloud, count, options.events)


def _one(cloud, count, repeat):
    print(f'relays: {cloud.relays()} on each node at most, '
          f'{count - 1} if all are candidates with all', flush=True)
    for name, happenings in (
            ('nb', (cloud.add_fip, cloud.take_over)),
            ('sb', (cloud.move, cloud.bind_machine, cloud.add_network))):
        with tempfile.TemporaryDirectory() as directory:
            requests, rows = replica(name, getattr(cloud, name),
                                     directory)
        print(f'{name}: {sum(rows.values())} rows: ' + ', '.join(
            f'{table} {n}' for table, n in rows.items() if n), flush=True)
        measure(cloud, name, requests, count, happenings, repeat)
