# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Power failures: python3 -m lab run -- .venv/bin/python -m tools.bench.power

In the lab's machine, with the timers of BFD that ``--timers`` names, written
by the agents: what a power failure costs, and what makes BFD believe in a
power failure although there is none.  A false alarm is a session of BFD that
goes down, at any end of any tunnel; a move is a gateway port that goes to
another node.  "0/0/0" stands for OVN's defaults.
"""

import argparse
import contextlib
import re
import statistics
import subprocess
import sys
import time

from lab import chassis
from lab import cloud as clouds
from lab import moves
from lab import node as nodes
from lab import plan
from tools.bench import outages
from tools.bench import processes

say = outages.say
_FLAPS = re.compile(r'flap_count=(\d+)')
# Seconds in which everything has to agree again.
_SETTLE = 60
# Seconds after a pause in which a late alarm would come.
_AFTER = 4.0
# Packets of BFD in OVN's tunnels, and not in the agent's relays: geneve has
# the tunnel key 32 bits behind the header of UDP (RFC 8926, section 3.4).
_COUNTER = '''\
table inet bench {
  chain out {
    type filter hook output priority 0;
    udp dport 6081 @th,96,24 != 0xffff44 counter
  }
}
'''


# A process that goes before all others of the machine and sleeps 10 ms again
# and again.  If this process is late, the whole machine has stood still: the
# host has given the processor to somebody else.
_STILL = '''
import os, signal, time
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
count, longest, before = 0, 0.0, time.monotonic()
def end(*_args):
    print(count, longest, flush=True)
    os._exit(0)
signal.signal(signal.SIGTERM, end)
while True:
    time.sleep(0.01)
    now = time.monotonic()
    late, before = now - before - 0.01, now
    count, longest = count + (late > 0.3), max(longest, late)
'''


class Still:
    """How long the whole machine stands still while the block runs."""

    def __enter__(self):
        self._process = subprocess.Popen(
            [sys.executable, '-c', _STILL], stdout=subprocess.PIPE,
            text=True)
        return self

    def __exit__(self, *_exc):
        self._process.terminate()
        self.said = self._process.communicate()[0]

    def __str__(self):
        count, longest = self.said.split()
        return (f'the host stopped the machine {count} times for more than '
                f'300 ms, {1000 * float(longest):.0f} ms at most')


class World(outages.World):
    """The world of the outages, whose owner may be any gateway."""

    def __init__(self, cloud):
        super().__init__(cloud, 'kernel')
        self.nodes = (*cloud.gateways, *cloud.computes)

    def settle(self):
        """Wait until one gateway leads, and announces alone."""
        nodes.wait_until('all is settled', self._settled, _SETTLE)
        return self.owner

    def _settled(self):
        owner = self.owner
        priorities = self.cloud.neutron.priorities(self.router)
        others = [priority for name, priority in priorities.items()
                  if name != owner]
        return (owner and priorities[owner] > max(others) and all(others) and
                self.cloud.bgp_table().get(f'{self.fip.address}/32') == [
                    plan.UPLINKS[owner][1]] and
                all(chassis.tunnels_up(self.cloud[name])
                    for name in self.nodes if self._tunnels(name)))

    def set_timers(self, timers):
        """Have the agents write timers; wait until every tunnel has them."""
        for agent in self.cloud.agents.values():
            agent.config['ovn'].update(zip(
                ('bfd_min_rx', 'bfd_min_tx', 'bfd_mult'), timers,
                strict=True))
            agent.write_config()
            agent.ctl('reload')
        wanted = '' if timers[0] == '0' else f'min_rx={timers[0]}'
        nodes.wait_until(f'the tunnels have {wanted or "defaults"}', lambda: (
            all(wanted in line if wanted else 'min_rx' not in line
                for name in self.nodes
                for line in self._tunnels(name, 'bfd'))), _SETTLE)
        self.settle()

    def _tunnels(self, name, column='bfd_status'):
        """A column of OVN's tunnels of a node, list of text."""
        out = self.cloud[name].out(
            'ovs-vsctl', '--bare', '--no-headings', f'--columns={column}',
            'find', 'Interface', 'bfd:enable=true', 'options:key=flow')
        return [line for line in out.splitlines() if line]

    def tunnels(self, name):
        """Number of tunnels with BFD of a node."""
        return len(self._tunnels(name))

    def flaps(self):
        """How often BFD has changed its state, at all ends of tunnels."""
        return sum(int(number) for name in self.nodes
                   for line in self._tunnels(name)
                   for number in _FLAPS.findall(line))

    def dropped(self, name):
        """(sent, dropped) packets of the queue of a node's network."""
        found = re.search(r'(\d+) pkt \(dropped (\d+)', self.cloud[name].out(
            'tc', '-s', 'qdisc', 'show', 'dev', 'eth0'))
        return int(found[1]), int(found[2])

    @contextlib.contextmanager
    def watched(self, what):
        """Print the alarms, moves and losses of a block."""
        before = self.flaps()
        began = time.monotonic()
        with (moves.Moves(self.cloud) as followed,
              self.both_ways() as running):
            yield
            running.wait_answered(_SETTLE)
            report = running.stop()
            seen = followed.owners(self.router)
        # A session that goes down and comes up has changed twice.
        say(f'{what}: {time.monotonic() - began:.0f} s, '
            f'{self.flaps() - before:d} changes of BFD, {len(seen):d} moves; '
            f'{report}')


def fail(world, count):
    """Power failures of the owner."""
    gaps = []
    for number in range(count):
        owner = world.settle()
        with (moves.Moves(world.cloud) as followed,
              world.both_ways() as running):
            failed = time.monotonic()
            world.cloud.power_off(owner)
            running.wait_answered(_SETTLE)
            report = running.stop()
            heir = world.owner
            moved = followed.gained_at(world.router, heir) - failed
        gaps.append(report.longest_gap_ms)
        say(f'  failure {number + 1:d}: OVN moved after {1000 * moved:.0f} '
            f'ms; {report}')
        world.cloud.power_on(owner)
        agent = world.cloud.agents[owner]
        agent.start()
        agent.wait_ready()
    say(f'{count:d} power failures: median {statistics.median(gaps):.0f} ms, '
        f'{" ".join(f"{gap:.0f}" for gap in sorted(gaps))}')


def drain(world, count):
    """Drains of the owner, whose overlap works through the same BFD."""
    for _number in range(count):
        owner = world.settle()
        agent = world.cloud.agents[owner]
        # The overlap begins sessions of BFD again, so changes say nothing.
        with world.both_ways() as running:
            agent.stop()
            running.wait_answered(_SETTLE)
            say(f'{owner} is drained: {running.stop()}')
        agent.start()
        agent.wait_ready()


def load(world, seconds, busy):
    """Full processor load, with so many busy processes on each node."""
    names = [(name, f'busy{number:d}') for name in world.nodes
             for number in range(busy)]
    for name, service in names:
        world.cloud[name].spawn(service, [
            sys.executable, '-c', 'while True: pass'])
    try:
        with Still() as still, world.watched(
                f'{len(names):d} busy processes'):
            time.sleep(seconds)
        say(f'  meanwhile {still}')
    finally:
        for name, service in names:
            world.cloud[name].stop(service)


def lose(world, percent, seconds):
    """Loss in the network between the nodes, OVSDB included."""
    for name in world.nodes:
        world.cloud[name].run(['tc', 'qdisc', 'add', 'dev', 'eth0', 'root',
                               'netem', 'loss', f'{percent:d}%'])
    try:
        before, began = world.flaps(), time.monotonic()
        with moves.Moves(world.cloud) as followed:
            time.sleep(seconds)
        sent, dropped = map(sum, zip(*map(world.dropped, world.nodes),
                                     strict=True))
        say(f'{percent:d} % loss: {time.monotonic() - began:.0f} s, '
            f'{dropped:d} of {sent:d} packets dropped, '
            f'{world.flaps() - before:d} changes of BFD, '
            f'{len(followed.owners(world.router)):d} moves')
    finally:
        for name in world.nodes:
            world.cloud[name].run(['tc', 'qdisc', 'del', 'dev', 'eth0',
                                   'root'])
    world.settle()


def pause(world, seconds, times):
    """Pauses of the owner's ovs-vswitchd."""
    for _number in range(times):
        owner = world.settle()
        with world.watched(f'ovs-vswitchd paused for {seconds:g} s'):
            world.cloud[owner].pause('vswitchd')
            try:
                time.sleep(seconds)
            finally:
                world.cloud[owner].resume('vswitchd')
            time.sleep(_AFTER)


def cost(world, seconds):
    """Packets and processor time of BFD without any traffic."""
    name = world.settle()
    node = world.cloud[name]
    node.run(['nft', '-f', '-'], input=_COUNTER)
    pid = node.services['vswitchd'].pid
    before, began = processes.load([pid]), time.monotonic()
    time.sleep(seconds)
    took = time.monotonic() - began
    used = processes.load([pid]).since(before).processor / 1000
    packets = int(re.search(r'counter packets (\d+)', node.out(
        'nft', 'list', 'table', 'inet', 'bench'))[1])
    node.run(['nft', 'delete', 'table', 'inet', 'bench'])
    count = world.tunnels(name)
    say(f'idle: {count:d} tunnels, {packets / took / count:.2f} packets/s '
        f'each way in a tunnel, ovs-vswitchd {100 * used / took:.2f} % of a '
        'processor')


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--timers', nargs='+', default=['200/200/3'],
                        help='min_rx/min_tx/mult, each')
    parser.add_argument('--gateways', type=int, default=3)
    parser.add_argument('--failures', type=int, default=10)
    parser.add_argument('--drains', type=int, default=2)
    parser.add_argument('--load', type=float, default=600,
                        help='seconds of full processor load')
    parser.add_argument('--busy', type=int, default=1,
                        help='busy processes on each node')
    parser.add_argument('--loss', type=float, default=60,
                        help='seconds of 30 %% loss')
    parser.add_argument('--pauses', nargs='*', type=float,
                        default=[0.3, 0.6, 1.0])
    parser.add_argument('--pause-times', type=int, default=5)
    parser.add_argument('--idle', type=float, default=30)
    args = parser.parse_args()
    with clouds.Cloud(gateways=args.gateways) as cloud:
        world = World(cloud)
        for timers in args.timers:
            world.set_timers(timers.split('/'))
            say(f'=== {timers}')
            _measure(world, args)


def _measure(world, args):
    if args.idle:
        cost(world, args.idle)
    for seconds in args.pauses:
        pause(world, seconds, args.pause_times)
    drain(world, args.drains)
    if args.failures:
        fail(world, args.failures)
    if args.loss:
        lose(world, 30, args.loss)
    if args.load:
        load(world, args.load, args.busy)


if __name__ == '__main__':
    main()
