# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.
"""Many failovers in a row: what grows?  ``python3 -m lab.failovers``

Inside the machine: ``tools/lab run .venv/bin/python -m lab.failovers``.
"""

import argparse
import os
import statistics
import sys

from lab import cloud as clouds
from lab import node as nodes

# Samples at either end that are compared, a share of all.
_SHARE = 3
# Growth of the memory of one agent with its daemons, KiB: what the allocator
# needs for itself within a hundred failovers.
_SLACK = 6 * 1024
# Agents number a group anew beyond it, see their driver gateway_drain.
PRIORITY_LIMIT = 100
# The lead of an owner is at least that.
_LEAD = 2


class Watch:
    """Follows what the agents of a cloud need.

    :param agents: dict of node name to lab.agent.Agent
    :ivar samples: dict of (node, what) to list of int, one each look
    """

    def __init__(self, agents):
        self._agents = agents
        self.samples = {}

    def look(self):
        """Take a sample of all."""
        for name, agent in self._agents.items():
            for what, value in _needs(agent).items():
                self.samples.setdefault((name, what), []).append(value)

    def growth(self):
        """What has grown from the first to the last of the looks.

        :returns: list of str
        """
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
    """Of an agent and its daemons: open files, threads, KiB of memory."""
    files = threads = memory = 0
    for pid in (agent.process.pid, *agent.children()):
        files += len(os.listdir(f'/proc/{pid:d}/fd'))
        with open(f'/proc/{pid:d}/status', encoding='ascii') as opened:
            values = dict(line.split(':', 1) for line in opened)
        threads += int(values['Threads'])
        memory += int(values['VmRSS'].split()[0])
    return {'files': files, 'threads': threads, 'KiB': memory}


def run(cloud, router, settled, rounds):
    """Have a router's gateway move from one to the next, again and again.

    As the drains of agents on other nodes would: its owner gets priority 0,
    and when the next one leads, 1.

    :param cloud: the Cloud, with agents that have the driver gateway_drain
    :param router: neutron.Router
    :param settled: function that waits until nothing is under way
    :param rounds: how many
    :returns: (:class:`Watch`, the highest priority that was left)
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
    """A cloud of its own, and what grew in it; returns the exit status."""
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
    """Only the owner announces, and its priority is a small one."""
    owner = cloud.neutron.owner(router)
    cloud.wait_announced(router.address, owner)
    nodes.wait_until('the others withdraw', lambda: len(
        cloud.bgp_table()[f'{router.address}/32']) == 1)
    nodes.wait_until('priorities are small', lambda: max(
        cloud.neutron.priorities(router).values()) <= PRIORITY_LIMIT)


if __name__ == '__main__':
    sys.exit(main())
