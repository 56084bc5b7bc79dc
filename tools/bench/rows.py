# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The rows of OVN NB that an agent writes: when they are there, and the cost.
"""

import time

from lab import waiting
from ovn_network_agent.tests.functional.backends import peerings
from tools.bench import host as hosts
from tools.bench import processes

_MEGA = 1 << 20
_BUSY = 50
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

    def rest(self):
        """Wait until the agent has nothing to do."""
        used = _BUSY
        while used >= _BUSY:
            before = processes.load(self.processes())
            time.sleep(1)
            used = processes.load(self.processes()).since(before).processor


def play(host, what, change, wait, times):
    """Make a change, wait for its rows, and print what it took."""
    started = change()
    before = processes.load(host.processes())
    times.append(wait() - started)
    host.rest()
    used = processes.load(host.processes()).since(before)
    print(f'{what}: {times[-1]:.3f} s, processor {used.processor:.0f} ms, '
          f'{host.transactions.since():d} transactions', flush=True)


def say_memory(host):
    """Print the memory of the agent and of its daemons."""
    print('memory', ', '.join(
        f'{processes.name(pid)} {processes.proportional(pid) / _MEGA:.0f} MB'
        for pid in host.processes()), flush=True)
