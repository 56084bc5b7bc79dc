# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The growth of agents in many failovers."""

from collections import abc
import dataclasses
import statistics
import time

from lab import node as nodes
from lab.chaos import growth

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
    """Follows the needs of the agents of a cloud."""

    def __init__(self, agents: dict):
        self._agents = agents
        self.samples = {}

    def look(self):
        """Take a sample of each need of each agent."""
        for name, agent in self._agents.items():
            found = dataclasses.asdict(growth.measure(
                time.monotonic(), [agent.process.pid, *agent.children()]))
            del found['at']
            for what, value in found.items():
                self.samples.setdefault((name, what), []).append(value)

    def growth(self) -> list[str]:
        """The needs that have grown from the first to the last samples."""
        found = []
        for (name, what), values in sorted(self.samples.items()):
            part = max(1, len(values) // _SHARE)
            first, last = values[:part], values[-part:]
            if what == 'kilobytes':
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


def run(cloud, router, settled: abc.Callable, rounds: int):
    """Move a router's gateway port from node to node, again and again.

    Each move is like a drain: the owner gets the priority 0, and the priority
    1 when the next owner has the lead.

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
