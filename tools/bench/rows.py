# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The rows of OVN NB that an agent writes: when they are there, and the cost.
"""

import contextlib
import statistics
import time

from lab import waiting
from ovn_network_agent.tests.functional.backends import peerings
from tools.bench import host as hosts
from tools.bench import processes

_PATIENCE = 50_000


class Host(hosts.Host):
    """A node whose agent writes rows of NB."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.transactions = peerings.Transactions(self.nb)

    def wait(self, table, column, texts, there=True):
        """Have the server say when rows are there, or gone; the time then."""
        self.nb.transact(*({
            'op': 'wait', 'table': table, 'where': [[column, '==', text]],
            'columns': [column], 'timeout': _PATIENCE,
            'until': '==', 'rows': [{column: text}] if there else []}
            for text in texts))
        return time.monotonic()

    def ready(self):
        """Wait until the agent has made its first pass; the time then."""
        waiting.wait_until('the first pass', lambda: (
            'First complete pass' in
            self.log('agent').rpartition('] Stopped\n')[2]))
        return time.monotonic()


def play(host, what, change, wait, times):
    """Make a change, wait for its rows, and print what it took."""
    started = change()
    before = processes.load(host.processes())
    times.append(wait() - started)
    host.rest()
    used = processes.load(host.processes()).since(before)
    print(f'{what}: {times[-1]:.3f} s, processor {used.processor:.0f} ms, '
          f'{host.transactions.since():d} transactions', flush=True)


def measure(host, wait, changes: dict, repeat: int):
    """Print what a start costs, some changes, and a start without a change.

    :param wait: function that waits for all rows of the start
    :param changes: function that makes a change and function that waits for
        its rows, by name
    """
    host.transactions.since()
    play(host, 'start, all to write', lambda: host.start_agent('kernel'),
         wait, [])
    found = {what: [] for what in changes}
    for _n in range(repeat):
        for what, (change, until) in changes.items():
            play(host, what, change, until, found[what])
    for what, times in found.items():
        print(f'{what}: median {statistics.median(times):.3f} s', flush=True)
    host.say_memory()
    host.stop_agent()
    play(host, 'start, all there', lambda: host.start_agent('kernel'),
         host.ready, [])
    host.stop_agent()


def main(parser, make, play_all):
    """Measure on a host; prints.

    :param make: function of the options, gives a :class:`Host`
    :param play_all: function of this host and the options
    """
    parser.add_argument('--repeat', type=int, default=5)
    parser.add_argument('--debug', action='store_true',
                        help="print the agent's log at the end")
    args = parser.parse_args()
    hosts.enter()
    with contextlib.closing(make(args)) as host:
        play_all(host, args)
        if args.debug:
            print(host.log('agent'))
