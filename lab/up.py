# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A cloud that stays: the program of "lab up" in the machine."""

import argparse
import signal
import sys
import threading
import time

from lab import cloud as clouds
from lab import running


def main(argv=None):
    """Build a cloud and stay until a signal comes."""
    parser = argparse.ArgumentParser(prog='lab up')
    parser.add_argument('--gateways', type=int, default=2)
    parser.add_argument('--computes', type=int, default=1)
    parser.add_argument('--agents', action='store_true',
                        help='start the agent on the gateways')
    args = parser.parse_args(argv)
    started = time.monotonic()

    def say(text):
        print(f'{time.monotonic() - started:5.1f} s  {text}', flush=True)

    with clouds.Cloud(gateways=args.gateways, computes=args.computes,
                      say=say) as cloud:
        router = cloud.add_router('router1')
        vm = cloud.add_vm(router)
        fip = cloud.neutron.add_fip(router, vm.port)
        say(f'{fip.address} is the floating IP of {vm.node.name}')
        if args.agents:
            cloud.start_agents()
            cloud.wait_announced(fip.address, cloud.gateways[0])
            say(f'announced by {cloud.gateways[0]}')
        names = [*cloud.nodes, *(one.node.name for one in cloud.vms)]
        say('ready; from another terminal: "tools/lab enter NODE" with one '
            f'of {", ".join(names)}; Ctrl-C or "tools/lab down" ends it')
        stay()
    return 0


def stay():
    """Offer the lab to be entered and wait for SIGTERM or SIGINT.

    The function sets handlers, because programs would inherit a mask.  A shell
    in a node has to be able to end its programs.
    """
    running.offer()
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: ended.set())
    ended.wait()


if __name__ == '__main__':
    sys.exit(main())
