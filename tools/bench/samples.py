# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What every benchmark from end to end measures, and how it is said.

A world has ``routers`` (their number), ``along`` (how many more routes come
with the agent),
``add_fips(addresses, router=0)`` and ``remove_fips(addresses)``, which give
the monotonic time before the transaction, ``start_agent(method)``, which
gives the time before the start, ``stop_agent()``, ``observer()`` and
``launched()``.
"""

import argparse
import collections
import contextlib
import statistics
import time

# The number of the first present address; those before come and go.
FIRST = 256
# A half of the network is for routers.
_MOST_ROUTERS = 250 * 128
# Seconds after which a change has no consequences any more.
_QUIET = 0.5


def parser(description, at_once):
    """Command line options that they have in common."""
    made = argparse.ArgumentParser(description=description)
    made.add_argument('--methods', nargs='+', default=['static', 'kernel'],
                      choices=['static', 'kernel'])
    made.add_argument('--present', type=int, default=100)
    made.add_argument('--at-once', type=int, default=at_once)
    made.add_argument('--start-with', type=int, default=1000)
    made.add_argument('--repeat', type=int, default=20,
                      help='runs of one change')
    made.add_argument('--starts', type=int, default=5,
                      help='runs of what is large')
    made.add_argument('--routers', type=int, default=10)
    made.add_argument('--debug', action='store_true',
                      help="print the agent's log at the end")
    return made


def run(world, args):
    """Measure everything and print it."""
    present = addresses(FIRST, args.present)
    fill(world, present)
    for method in args.methods:
        _changes(world, args, method, present)
    more = addresses(FIRST + args.present, args.start_with - args.present)
    if more:
        fill(world, more)
        for method in args.methods:
            _starts(world, args, method, present + more)


def addresses(first, count, version=4):
    """Some addresses of the provider network of a family.

    198.18.0.0/16 or 2001:db8:c612::/64.
    """
    return [f'198.18.{n >> 8}.{n & 255}' if version == 4 else
            f'2001:db8:c612::{n:x}' for n in range(first, first + count)]


def gateways(count: int) -> list[str]:
    """Addresses of gateway ports, at the end of that network.

    :raises ValueError: when there would be no place for floating IPs
    """
    if not 0 <= count <= _MOST_ROUTERS:
        raise ValueError(f'{count:d} routers are asked for, but 0 to '
                         f'{_MOST_ROUTERS:d} are possible')
    return [f'198.18.{255 - n // 250}.{n % 250 + 1}' for n in range(count)]


def fill(world, some):
    """Deal addresses out to the routers, if there are any."""
    shares = world.routers or 1
    for number in range(shares):
        world.add_fips(some[number::shares], number)


class Samples:
    """Times of one kind of change."""

    def __init__(self, what):
        self._what = what
        self._times = collections.defaultdict(list)
        self._launched = []

    def add(self, started: float, found: dict, launched: int):
        """One run; ``found``: dict of place to monotonic time."""
        for place, when in found.items():
            self._times[place].append((when - started) * 1000)
        self._times['all'].append((max(found.values()) - started) * 1000)
        self._launched.append(launched)

    def report(self):
        """Print it."""
        for place, times in self._times.items():
            times.sort()
            p95 = times[min(len(times) - 1, int(len(times) * 0.95))]
            print(f'{self._what:<34} {place:<12} '
                  f'median {statistics.median(times):8.1f} ms  '
                  f'p95 {p95:8.1f}  min {times[0]:8.1f}  '
                  f'max {times[-1]:8.1f}  n {len(times)}')
        launched = int(statistics.median(self._launched))
        print(f'{self._what:<34} launched     median {launched:8}',
              flush=True)


def _changes(world, args, method, present):
    """One address, and many at once, while the agent runs."""
    start(world, method, present)
    what = f'{method}, {args.present:d} present: '
    _change(world, addresses(0, 1), args.repeat, what + 'one')
    many = addresses(FIRST + args.present, args.at_once)
    if many:
        _change(world, many, args.starts,
                what + f'{args.at_once:d} at once')
    world.stop_agent()


def _change(world, some, repeat, what):
    """Addresses that come and go."""
    samples = {'add': Samples(f'{what}: add'),
               'remove': Samples(f'{what}: remove')}
    with contextlib.closing(world.observer()) as observer:
        others = observer.in_rib()
        for _n in range(repeat):
            for verb, function in (('add', world.add_fips),
                                   ('remove', world.remove_fips)):
                time.sleep(_QUIET)
                before = world.launched()
                started = function(some)
                found = observer.wait(some, verb == 'add', others)
                time.sleep(_QUIET)
                samples[verb].add(started, found,
                                  world.launched() - before)
    for one in samples.values():
        one.report()


def start(world, method, present, patience: float = 60):
    """Start the agent and wait until everything is in place.

    :returns: (started, found, launched)
    """
    with contextlib.closing(world.observer()) as observer:
        before = world.launched()
        others = observer.in_rib() + world.along
        started = world.start_agent(method)
        found = observer.wait(present, True, others, patience)
    time.sleep(_QUIET)
    return started, found, world.launched() - before


def _starts(world, args, method, present):
    """Start with everything there, and an empty node."""
    samples = Samples(f'{method}: start with {len(present)}')
    for _n in range(args.starts):
        samples.add(*start(world, method, present))
        world.stop_agent()
    samples.report()
