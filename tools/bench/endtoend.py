#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""From NB commit to where packets go: python3 -m tools.bench.endtoend, root.

The real program on a node of its own on the bare kernel, in default VRF mode:
ovsdb-servers, user-space Open vSwitch, zebra, staticd and bgpd.  Time runs
from before the transaction is sent, or before the program is started, until
an independent observer sees the change in each place.  "launched" are the
processes and threads that were launched for one change, by whomever.
"""

from tools.bench import host as hosts
from tools.bench import samples


def main():
    args = samples.parser(__doc__, 500).parse_args()
    hosts.enter()
    with hosts.running(args.routers, args.debug) as host:
        samples.run(host, args)
        if args.debug:
            print(host.log('agent'))


if __name__ == '__main__':
    main()
