# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What following costs: many light clients, and the bytes of each event."""

import contextlib
import statistics
import tempfile
import time

from tools.bench.fleet import clients as light
from tools.bench.fleet import cloud as clouds
from tools.bench.fleet import recorder


def measure(cloud, name, requests, count, happenings, repeat):
    """Load a server with clients, and then with events."""
    server = getattr(cloud, name)
    before, memory = server.processor(), server.memory()
    started = time.monotonic()
    with contextlib.closing(light.Clients(server.remote.removeprefix('unix:'),
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
            requests, rows = recorder.replica(name, getattr(cloud, name),
                                              directory)
        print(f'{name}: {sum(rows.values())} rows: ' + ', '.join(
            f'{table} {n}' for table, n in rows.items() if n), flush=True)
        measure(cloud, name, requests, count, happenings, repeat)
