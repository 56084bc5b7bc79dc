# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What relays cost a gateway node: python3 -m tools.bench.relays, as root.

Two real ovs-vswitchds with the user-space data path, in network namespaces.
The first one gets relays from the agent's backend.  The second one has an
address and a tunnel port for each of these relays, so that BFD comes up in
each.  Only the first one is measured.
"""

import argparse
import ipaddress
import time

from ovn_network_agent import ownership
from ovn_network_agent.backends import base as backends
from ovn_network_agent.ovs import relay
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.ovs import base
from tools.bench import timing
from tools.bench import usage

_NETWORK = ipaddress.ip_network('10.77.0.0/16')
_OWN = '10.77.255.1'
_REST = 20
_LIMIT = 60


def address(number):
    """Address of the tunnels of another gateway node, text."""
    return str(_NETWORK[number + 1])


class Node:
    """The measured node, and one that stands for all others."""

    def __init__(self):
        self.here, self.others = base.Gateway(1), base.Gateway(2)
        # eth2 must not answer for the addresses of br-phy with its own MAC.
        self.others.netns('sysctl', '-q', 'net.ipv4.conf.all.arp_ignore=1')
        self.here.connect(self.others)
        self.here.netns('ip', 'address', 'add', f'{_OWN}/16', 'dev', 'br-phy')
        self.local = base.LocalDatabase(self.here.remote)
        self.backend = self.local.backend(_LIMIT)
        self.present = 0

    def close(self):
        """End all programs."""
        self.local.stop()
        self.here.stop()
        self.others.stop()

    def answer(self, count):
        """Give the other node the ends of the relays up to a number."""
        for number in range(self.present, count):
            remote = address(number)
            self.others.netns('ip', 'address', 'add', f'{remote}/16', 'dev',
                              'br-phy')
        words = []
        for number in range(self.present, count):
            name = f'end{number}'
            words += ['--', 'add-port', base.BRIDGE, name, '--', 'set',
                      'interface', name, 'type=geneve', 'bfd:enable=true',
                      f'options:remote_ip={_OWN}',
                      f'options:local_ip={address(number)}',
                      f'options:key={ownership.RELAY_KEY}',
                      'options:csum=true']
        if words:
            self.others.vsctl(*words)

    def add(self, count):
        """Make relays up to a number, in one transaction.

        :returns: (seconds until they are made, seconds until BFD is up)
        """
        started = time.monotonic()
        failures = self.backend.apply(backends.Delta(create=tuple(
            base.relay(address(number))
            for number in range(self.present, count))))
        if failures:
            raise RuntimeError(str(failures))
        made = time.monotonic() - started
        self.present = count
        waiting.eventually(lambda: self.alive() >= count,
                           lambda: f'BFD: {self.alive()} of {count}', _LIMIT)
        return made, time.monotonic() - started

    def alive(self):
        """How many relays answer."""
        with self.local.database.rows() as ovs:
            return sum(found.alive for found in relay.usable(ovs))

    def change(self, verb, number):
        """Make or remove the relay with a number; gives milliseconds."""
        taken, failures = timing.timed(self.backend.apply, backends.Delta(
            **{verb: (base.relay(address(number)),)}))
        if failures:
            raise RuntimeError(str(failures))
        return taken


def measure(node, count, rest, repeat):
    """Print the cost of a number of relays."""
    node.answer(count)
    switch = usage.Process(node.here.pid)
    database = usage.Process(node.here.database_pid)
    before, first = switch.processor(), node.present
    made, up = node.add(count)
    print(f'{count} relays: {count - first} made in {made:.2f} s, BFD up '
          f'after {up:.1f} s, processor of ovs-vswitchd '
          f'{switch.processor() - before:.2f} s', flush=True)
    time.sleep(rest / 4)
    shares = [usage.share(one, rest) for one in (switch, database)]
    print(f'{count} relays: at rest ovs-vswitchd {shares[0]:.2f} % of a '
          f'processor, ovsdb-server {shares[1]:.2f} %, ovs-vswitchd '
          f'{switch.memory():.0f} MB', flush=True)
    added, removed = [], []
    for _round in range(repeat):
        added.append(node.change('create', count))
        removed.append(node.change('delete', count))
    timing.report(f'one relay more, with {count} present', added)
    timing.report(f'one relay less, with {count} left', removed)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--relays', type=int, nargs='+',
                        default=[0, 2, 8, 30, 100, 200, 499])
    parser.add_argument('--rest', type=float, default=_REST,
                        help='seconds of each measurement at rest')
    parser.add_argument('--repeat', type=int, default=5)
    options = parser.parse_args()
    node = Node()
    try:
        for count in sorted(options.relays):
            measure(node, count, options.rest, options.repeat)
    finally:
        node.close()


if __name__ == '__main__':
    main()
