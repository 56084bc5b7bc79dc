# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The growth of agents in many failovers.  ``python3 -m lab.failovers``

Inside the machine: ``tools/lab run .venv/bin/python -m lab.failovers``.
"""

import argparse
from collections import abc
import os
import statistics
import sys

from lab import cloud as clouds
from lab import node as nodes

# The first and the last third of the samples are compared.
_SHARE = 3
# Allowed growth of the memory of one agent with its daemons, KiB.  The
# allocator needs so much in a hundred failovers.
_SLACK = 6 * 1024
# Beyond this priority, the driver gateway_drain gives a group new priorities.
PRIORITY_LIMIT = 100
# The lowest priority of an owner with the lead.
_LEAD = 2


class Watch:
    """Follows the needs of the agents of a cloud.

    :param agents: dict of node name to lab.agent.Agent
    :ivar samples: dict of (node, kind of need) to list of int
    """

    def __init__(self, agents: dict):
        self._agents = agents
        self.samples = {}

    def look(self):
        """Take a sample of each need of each agent."""
        for name, agent in self._agents.items():
            for what, value in _needs(agent).items():
                self.samples.setdefault((name, what), []).append(value)

    def growth(self) -> list[str]:
        """The needs that have grown from the first to the last samples."""
        found = []
        for (name, what), values in sorted(self.samples.items()):
            part = max(1, len(values) // _SHARE)
            first, last = values[:part], values[-part:]
            if what == 'KiB':
                grown = (statistics.median(last) -
                         statistics.median(first)) > _SLACK
            else:
                grown = min(last) > max(first)
            if grown:
                found.append(f'{name}: {what}: {values}')
        return found

    def __str__(self):
        return '; '.join(f'{name}: {what} {values[0]:d} to {values[-1]:d}'
                         for (name, what), values
            in sorted(self.samples.items()))


def _needs(agent):
    """Open files, threads and KiB of memory of an agent and its daemons."""
    files = threads = memory = 0
    for pid in (agent.process.pid, *agent.children()):
        files += len(os.listdir(f'/proc/{pid:d}/fd'))
        with open(f'/proc/{pid:d}/status', encoding='ascii') as opened:
            values = dict(line.split(':', 1) for line in opened)
        threads += int(values['Threads'])
        memory += int(values['VmRSS'].split()[0])
    return {'files': files, 'threads': threads, 'KiB': memory}


def run(cloud, router, settled: abc.Callable, rounds: int):
    """Move a router's gateway port from node to node, again and again.

    Each move is like a drain: the owner gets the priority 0, and the priority
    1 when the next owner has the lead.

    :param cloud: the Cloud, with agents that have the driver gateway_drain
    :param settled: function that waits until nothing is under way
    :returns: (:class:`Watch`, the highest priority at the end)
    """
    watch, highest = Watch(cloud.agents), 0
    cloud.neutron.set_priorities(router, {
        name: 1 for name, priority in
        cloud.neutron.priorities(router).items()
        if name != cloud.neutron.owner(router)})
    for number in range(rounds):
        owner = cloud.neutron.owner(router)
        cloud.neutron.set_priorities(router, {owner: 0})
        nodes.wait_until(
            f'failover {number}: somebody else leads',
            lambda before=owner: _leads(cloud, router) not in ('', before))
        cloud.neutron.set_priorities(router, {owner: 1})
        settled()
        watch.look()
        highest = max(highest,
                      *cloud.neutron.priorities(router).values())
    return watch, highest


def _leads(cloud, router):
    """Name of the owner when it has the lead, or ''."""
    owner = cloud.neutron.owner(router)
    return owner if cloud.neutron.priorities(router).get(
        owner, 0) >= _LEAD else ''


def main():
    """Print the growth in a new cloud; returns the exit status."""
    parser = argparse.ArgumentParser(prog='lab.failovers',
                                     description=__doc__)
    parser.add_argument('--rounds', type=int, default=100)
    rounds = parser.parse_args().rounds
    with clouds.Cloud(gateways=2, say=print) as cloud:
        router = cloud.add_router('router1')
        cloud.start_agents({
            'DEFAULT': {'debug': 'false'},
            'fip_route': {'announce_method': 'kernel'}})
        watch, highest = run(cloud, router, lambda: _settled(cloud, router),
                             rounds)
    print(watch)
    print(f'the highest priority that was left: {highest:d}')
    grown = watch.growth()
    for line in grown:
        print(f'grown: {line}')
    return 1 if grown or highest > PRIORITY_LIMIT else 0


def _settled(cloud, router):
    """Wait until only the owner announces, and priorities are small."""
    owner = cloud.neutron.owner(router)
    cloud.wait_announced(router.address, owner)
    nodes.wait_until('the others withdraw', lambda: len(
        cloud.bgp_table()[f'{router.address}/32']) == 1)
    nodes.wait_until('priorities are small', lambda: max(
        cloud.neutron.priorities(router).values()) <= PRIORITY_LIMIT)


if __name__ == '__main__':
    sys.exit(main())
