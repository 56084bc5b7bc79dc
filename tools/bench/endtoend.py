#!/usr/bin/env python3
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

"""From NB commit to where packets go: python3 -m tools.bench.endtoend, root.

The real program on a node of its own on the bare kernel, in default VRF mode:
ovsdb-servers, user-space Open vSwitch, zebra, staticd and bgpd.  Time runs
from before the transaction is sent, or before the program is started, until
an independent observer sees the change in each place.  "launched" are the
processes and threads that were launched for one change, by whomever.
"""

import argparse
import statistics
import time

from tools.bench import host as hosts
from tools.bench import observe

# Seconds after which a change has no consequences any more.
_QUIET = 0.5


def addresses(first, count):
    """Some addresses of the provider network."""
    return ['198.18.%d.%d' % (n >> 8, n & 255)
            for n in range(first, first + count)]


class Samples:
    """Times of one kind of change."""

    def __init__(self, what):
        self._what = what
        self._times = {place: [] for place in (*observe.PLACES, 'all')}
        self._launched = []

    def add(self, started, found, launched):
        for place, when in found.items():
            self._times[place].append((when - started) * 1000)
        self._times['all'].append((max(found.values()) - started) * 1000)
        self._launched.append(launched)

    def report(self):
        for place, times in self._times.items():
            times.sort()
            print('%-34s %-12s median %8.1f ms  p95 %8.1f  min %8.1f  max '
                  '%8.1f  n %d' % (
                      self._what, place, statistics.median(times),
                      times[min(len(times) - 1, int(len(times) * 0.95))],
                      times[0], times[-1], len(times)))
        print('%-34s launched     median %8d' % (
            self._what, statistics.median(self._launched)), flush=True)


def change(host, observer, some, repeat, what):
    """Addresses that come and go."""
    samples = {'add': Samples('%s: add' % what),
               'remove': Samples('%s: remove' % what)}
    others = observer.in_rib()
    for _n in range(repeat):
        for verb, function in (('add', host.add_fips),
                               ('remove', host.remove_fips)):
            time.sleep(_QUIET)
            before = hosts.launched()
            started = function(some, 'r0')
            found = observer.wait(some, verb == 'add', others)
            time.sleep(_QUIET)
            samples[verb].add(started, found, hosts.launched() - before)
    for one in samples.values():
        one.report()


def start(host, args, method, present):
    """Start the agent and wait until everything is in place.

    :returns: (started, found, launched, agent)
    """
    before = hosts.launched()
    observer = observe.Observer(hosts.BRIDGE)
    try:
        started, agent = host.start_agent(method, args.debug)
        found = observer.wait(present, True, args.routers)
    finally:
        observer.close()
    time.sleep(_QUIET)
    return started, found, hosts.launched() - before, agent


def starts(host, args, method, present):
    """Start with everything there, and an empty node."""
    samples = Samples('%s: start with %d' % (method, len(present)))
    for _n in range(args.starts):
        *measured, agent = start(host, args, method, present)
        samples.add(*measured)
        host.stop_agent(agent)
    samples.report()


def measure(host, args, method):
    present = addresses(256, args.present)
    *_measured, agent = start(host, args, method, present)
    observer = observe.Observer(hosts.BRIDGE)
    try:
        change(host, observer, addresses(0, 1), args.repeat,
               '%s, %d present: one' % (method, args.present))
    finally:
        observer.close()
    many = addresses(256 + args.present, args.at_once)
    if many:
        observer = observe.Observer(hosts.BRIDGE)
        try:
            change(host, observer, many, args.starts,
                   '%s, %d present: %d at once' % (
                       method, args.present, args.at_once))
        finally:
            observer.close()
    host.stop_agent(agent)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--methods', nargs='+', default=['static', 'kernel'])
    parser.add_argument('--present', type=int, default=100)
    parser.add_argument('--at-once', type=int, default=500)
    parser.add_argument('--start-with', type=int, default=1000)
    parser.add_argument('--repeat', type=int, default=20,
                        help='runs of one change')
    parser.add_argument('--starts', type=int, default=5,
                        help='runs of what is large')
    parser.add_argument('--routers', type=int, default=10)
    parser.add_argument('--debug', action='store_true',
                        help='have the agent log, and print its log')
    args = parser.parse_args()
    hosts.enter()
    with hosts.running() as host:
        host.routers(args.routers)
        for number in range(args.routers):
            host.add_fips(addresses(256, args.present)[number::args.routers],
                          'r%d' % number)
        for method in args.methods:
            measure(host, args, method)
        more = args.start_with - args.present
        if more > 0:
            for number in range(args.routers):
                host.add_fips(addresses(256 + args.present, more)[
                    number::args.routers], 'r%d' % number)
            for method in args.methods:
                starts(host, args, method, addresses(256, args.start_with))
        if args.debug:
            print(host.log('agent'))


if __name__ == '__main__':
    main()
