#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What one event costs beside few and beside many: tools.bench.growth, root.

One address comes and goes beside 100 and beside 10,000 addresses.  The bench
counts calls of Python functions, received rows, messages and launched
processes, in all processes of the agent, and fails when a count grows by more
than the limit.

Received messages are counted and not judged.  A stream has no messages, and a
reader that comes a little later gets in one call what was sent in two.
"""

import argparse
import collections
import contextlib
import json
import os
import signal
import sys
import tempfile
import time

from tools.bench import addressing
from tools.bench import counted
from tools.bench import host as hosts
from tools.bench import ports
from tools.bench import processes
from tools.bench import programs
from tools.bench import tenants

# The most growth of a count, and a difference that is no growth: a watch may
# ask once more.
LIMIT = 1.3
_SMALL = 10
# Seconds from an event until its consequences are over, the same for all
# events: watches ask again and again.  Seconds between looks at an agent that
# starts.
_WINDOW = 4.0
_LOOK = 2.0
# Milliseconds of the processor in a look, below which the agent is idle.
_IDLE = 300
# Looks in a row until the agent counts as idle.
_CALM = 4
_PATIENCE = 600


class Counted:
    """A host whose agent counts: a part of its class."""

    def __init__(self, routers, directory):
        super().__init__(routers)
        self._directory = directory

    def _program(self):
        return [sys.executable, '-m', 'tools.bench.counted', self._directory]

    def _configuration(self, method):
        # No full comparison comes between, and no look of a watch.
        return super()._configuration(method).replace(
            '[DEFAULT]\n', '[DEFAULT]\nreconcile_interval = 86400\n').replace(
                '[frr]\n', '[frr]\nfrr_watch = false\n')

    def wait_until_idle(self):
        """Wait until the agent has nothing to do."""
        deadline = time.monotonic() + _PATIENCE
        calm = 0
        while calm < _CALM:
            before = self._used()
            time.sleep(_LOOK)
            calm = calm + 1 if self._used() - before < _IDLE else 0
            if time.monotonic() > deadline:
                raise RuntimeError('the agent does not come to rest:\n' +
                                   self.log('agent')[-2000:])

    def _used(self):
        return processes.load(self.processes()).processor

    @contextlib.contextmanager
    def counting(self):
        """Count while the block runs.

        :returns: context with a list of two dicts: counts, and the calls of
            each function
        """
        found = [collections.Counter(), collections.Counter()]
        pids = self.processes()
        self._signal(pids, counted.START)
        ends = time.monotonic() + _WINDOW
        yield found
        time.sleep(max(0.0, ends - time.monotonic()))
        self._signal(pids, counted.STOP)
        for pid in pids:
            path = os.path.join(self._directory, str(pid))
            programs.wait_for(path)
            with open(path) as opened:
                for total, one in zip(found, json.load(opened), strict=True):
                    total.update(one)
            os.unlink(path)

    @staticmethod
    def _signal(pids, number):
        for pid in pids:
            os.kill(pid, number)
        # The main thread of the agent takes signals in each 0.2 s.
        time.sleep(0.3)


class CountedFips(Counted, hosts.Host):
    """Floating IPs of an agent that counts."""


class CountedPorts(Counted, ports.Host):
    """Machines on a provider network."""


class CountedNetworks(Counted, tenants.Host):
    """Networks of tenants."""


_HOSTS = {'fips': CountedFips, 'ports': CountedPorts,
          'networks': CountedNetworks}


def measure(host, repeat: int) -> dict:
    """The counts of an address that comes, and of one that goes.

    :param repeat: number of events of each kind; the smallest of each count is
        kept
    """
    address = addressing.addresses(0, 1)
    found = {}
    with contextlib.closing(host.observer()) as observer:
        others = observer.in_rib()
        for _n in range(repeat):
            for verb, change in (('add', host.add_fips),
                                 ('remove', host.remove_fips)):
                with host.counting() as counts:
                    change(address)
                    observer.wait(address, verb == 'add', others, _PATIENCE)
                found.setdefault(verb, []).append(counts)
    return {verb: [_smallest(each) for each in zip(*counts, strict=True)]
            for verb, counts in found.items()}


def _start(host, method, present):
    with contextlib.closing(host.observer()) as observer:
        # Each router has an address of its own.
        others = observer.in_rib() + host.routers
        host.start_agent(method)
        observer.wait(present, True, others, _PATIENCE)


def _smallest(runs):
    """The smallest of each count of some runs, a dict."""
    return collections.Counter({name: min(run[name] for run in runs)
                                for name in set().union(*runs)})


def _judged(name):
    """Whether a count does not depend on the moments of its events."""
    return (not name.startswith(counted.RECEIVED) and
            name != counted.SENT + counted.OTHER)


def compare(what, few: list, many, functions: int):
    """Print the counts; returns whether no judged one has grown too much.

    :param few: list of two dicts, see :meth:`Counted.counting`; likewise many
    :param functions: number of functions to name whose calls have grown most
    """
    good = True
    for name in sorted(few[0].keys() | many[0].keys()):
        before, after = few[0][name], many[0][name]
        grown = (_judged(name) and after > before * LIMIT and
                 after > before + _SMALL)
        good = good and not grown
        print(f'{what:<16} {name:<30} {before:8d} {after:8d} '
              f'{after / before if before else 0:6.2f}'
              f'{"  GROWS" if grown else ""}')
    calls = collections.Counter(many[1])
    calls.subtract(few[1])
    for name, number in calls.most_common(functions):
        print(f'    {number:+8d} {name}')
    return good


def main(argv: list | None = None) -> int:
    """Count, print and judge.

    :returns: exit status, 1 when a count has grown too much
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--addresses', default='fips', choices=list(_HOSTS),
                        help='floating IPs, machines on a provider network '
                        'without routers, or networks of tenants')
    parser.add_argument('--methods', nargs='+', default=['static', 'kernel'],
                        choices=['static', 'kernel'])
    parser.add_argument('--few', type=int, default=100)
    parser.add_argument('--many', type=int, default=10000)
    parser.add_argument('--routers', type=int, default=10)
    parser.add_argument('--repeat', type=int, default=3)
    parser.add_argument('--functions', type=int, default=0,
                        help='so many functions are named that grow most')
    args = parser.parse_args(argv)
    hosts.enter()
    routers = 0 if args.addresses == 'ports' else args.routers
    found = {}
    with tempfile.TemporaryDirectory() as directory, contextlib.closing(
            _HOSTS[args.addresses](routers, directory)) as host:
        present = 0
        for count in (args.few, args.many):
            addressing.fill(host, addressing.addresses(
                addressing.FIRST + present, count - present))
            present = count
            for method in args.methods:
                _start(host, method,
                       addressing.addresses(addressing.FIRST, count))
                host.wait_until_idle()
                found[method, count] = measure(host, args.repeat)
                host.stop_agent()
    print(f'{"":<47} {args.few:8d} {args.many:8d} growth')
    good = [compare(f'{method}, {verb}', found[method, args.few][verb],
                    found[method, args.many][verb], args.functions)
            for method in args.methods for verb in ('add', 'remove')]
    return 0 if all(good) else 1


if __name__ == '__main__':
    signal.signal(signal.SIGTERM, lambda *_args: sys.exit(1))
    sys.exit(main())
