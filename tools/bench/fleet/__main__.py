# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What many agents ask of NB and SB: python3 -m tools.bench.fleet.

Real ovsdb-servers hold a cloud.  doc/source/contributor/speed.rst
describes the parts.
"""

import argparse

from tools.bench.fleet import reads
from tools.bench.fleet import restart
from tools.bench.fleet import unrelated
from tools.bench.fleet import writes

_PARTS = {'reads': reads.run, 'writes': writes.run, 'restart': restart.run,
          'unrelated': unrelated.run}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument('--parts', nargs='+', choices=sorted(_PARTS),
                        default=['reads'])
    parser.add_argument('--gateways', type=int, nargs='+',
                        default=[3, 30, 300], help='reads')
    parser.add_argument('--routers', type=int, default=300)
    parser.add_argument('--fips', type=int, default=10)
    parser.add_argument('--events', type=int, default=20, help='reads')
    parser.add_argument('--agents', type=int, default=100,
                        help='real agents: writes, restart, unrelated')
    parser.add_argument('--processes', type=int, default=4,
                        help='of the real agents')
    parser.add_argument('--orphans', type=int, default=20,
                        help='writes: stale routes of the dead chassis')
    parser.add_argument('--jitter', type=float, default=None,
                        help='writes: seconds on top of the grace of stale '
                        'routes, instead of a random number')
    parser.add_argument('--bfd', action='store_true',
                        help='writes: all agents request timers of BFD')
    parser.add_argument('--rest', type=float, default=20,
                        help='real agents: seconds of a measurement at rest, '
                        'and of the changes of each kind')
    parser.add_argument('--away', type=float, default=5,
                        help='restart: seconds that a server is away')
    parser.add_argument('--clustered', action='store_true',
                        help='restart and unrelated: NB and SB are clusters '
                        'of one member')
    parser.add_argument('--rate', type=float, default=1000,
                        help='unrelated: changes of SB a second')
    options = parser.parse_args()
    for part in options.parts:
        _PARTS[part](options)


if __name__ == '__main__':
    main()
