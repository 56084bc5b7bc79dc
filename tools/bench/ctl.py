#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What an operator waits for: python3 -m tools.bench.ctl, as root.

The real agent with many floating IPs, on the node of tools.bench.endtoend,
and ovn-network-agent-ctl beside the agent: the time of each command from its
start to its end, in milliseconds, and its exit status.  The node's neighbour
of BGP does not answer, so health, explain and doctor end with 1, and plan with
2: nothing can be proved to be advertised.
"""

import argparse
import collections
import os
import statistics
import subprocess
import sys
import time

from tools.bench import host as hosts
from tools.bench import samples

# Characters of the agent's log that are shown when it does not announce.
_LOG = 10000


def main():
    args = _parser().parse_args()
    hosts.enter()
    with hosts.running(args.routers) as host:
        present = samples.addresses(samples.FIRST, args.present)
        samples.fill(host, present)
        try:
            samples.start(host, args.method, present)
        except RuntimeError:
            # What it waited for is gone with the node.
            print(host.log('agent')[-_LOG:], file=sys.stderr, flush=True)
            raise
        for command in _commands(present[0]):
            _measure(command, args.repeat)
        host.stop_agent()


def _parser():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--method', default='kernel',
                        choices=['static', 'kernel'])
    parser.add_argument('--present', type=int, default=1000)
    parser.add_argument('--routers', type=int, default=10)
    parser.add_argument('--repeat', type=int, default=10)
    return parser


def _commands(address):
    return (['health'], ['status'], ['fips', address], ['fips'],
            ['explain', address], ['plan'], ['doctor'])


def _measure(command, repeat):
    """Run a command several times, and print its times."""
    script = os.path.join(os.path.dirname(sys.executable),
                          'ovn-network-agent-ctl')
    times, statuses = [], collections.Counter()
    for _n in range(repeat):
        started = time.monotonic()
        ended = subprocess.run(
            [script, '--config-file', hosts.CONFIG, *command],
            stdin=subprocess.DEVNULL, capture_output=True)
        times.append((time.monotonic() - started) * 1000)
        statuses[ended.returncode] += 1
    ends = ', '.join(f'{status:d}: {count:d}'
                     for status, count in sorted(statuses.items()))
    print(f'{" ".join(command):<24} median {statistics.median(times):8.1f} '
          f'ms  min {min(times):8.1f}  max {max(times):8.1f}  '
          f'n {len(times)}  statuses {ends}', flush=True)


if __name__ == '__main__':
    main()
