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
"""What OVN alone loses in a move of a gateway: ``python3 -m lab.floor``

Inside the machine: ``tools/lab run .venv/bin/python -m lab.floor``.  There is
no agent, and nothing outside of OVN changes in a move (:mod:`lab.everywhere`);
probes are one-way.  The ways to move take turns:

priority   another gateway gets a higher priority
paused     the same, with the old owner's ovn-controller paused around it
overlap    first the other one takes over, because BFD tells it that the old
           owner has died; then the same.  By the program that the agent's
           drains use.
"""

import argparse
import contextlib
import json
import statistics
import subprocess
import sys
import time

from lab import cloud as clouds
from lab import everywhere
from lab import node as nodes
from lab import oneway
from lab import plan
from ovn_network_agent.privileged import overlap_keeper

# Seconds of probes before a move, and after it.
_BEFORE, _AFTER = 1.0, 1.5
# Seconds until one that has claimed the port has its flows, too.
_INSTALL = 0.5
# Seconds until everybody sends to the new owner.
_SWITCH = 0.7


@contextlib.contextmanager
def _priority(_cloud, _router, _old, _new):
    yield


@contextlib.contextmanager
def _paused(cloud, _router, old, _new):
    _control(cloud[old], 'debug/pause')
    try:
        yield
    finally:
        _control(cloud[old], 'debug/resume')


@contextlib.contextmanager
def _overlap(cloud, router, old, new):
    keeper = cloud[old].popen(
        [sys.executable, '-I', '-S', overlap_keeper.__file__, json.dumps({
            'database': 'unix:/run/openvswitch/db.sock',
            'rundir': '/run/ovn', 'mark': 'overlap', 'limit': 30,
            'addresses': [plan.HOSTS[new]]})],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        if keeper.stdout.readline() != 'begun\n':
            raise nodes.NodeError(keeper.communicate()[0])
        cloud.wait_owner(router, new)
        time.sleep(_INSTALL)
        yield
    finally:
        keeper.communicate()


WAYS = {'priority': _priority, 'paused': _paused, 'overlap': _overlap}


class Floor:
    """Moves one router between two gateways.

    :param cloud: the Cloud, with two gateways and without agents
    """

    def __init__(self, cloud):
        self._cloud = cloud
        self._router = cloud.add_router('router1')
        self._vm = cloud.add_vm(self._router)
        self._fip = cloud.neutron.add_fip(self._router, self._vm.port)
        everywhere.connect(cloud, self._router)
        everywhere.know(cloud, self._router, self._fip.address)
        for node, address in ((cloud['client'], self._fip.address),
                              (self._vm.node, everywhere.ADDRESS)):
            nodes.wait_until('%s reaches %s' % (node.name, address), lambda
                             n=node, a=address: n.run(
                                 ['ping', '-c1', '-W1', a],
                                 check=False).returncode == 0)

    def move(self, way):
        """One move.

        :param way: a key of :data:`WAYS`
        :returns: (inward, outward), :class:`oneway.Report`
        """
        cloud, router = self._cloud, self._router
        old = cloud.neutron.owner(router)
        new, = set(cloud.gateways) - {old}
        with (oneway.OneWay(cloud['client'], self._vm.node,
                            self._fip.address, 7001) as inward,
              oneway.OneWay(self._vm.node, cloud['client'],
                            everywhere.ADDRESS, 7002) as outward):
            time.sleep(_BEFORE)
            with WAYS[way](cloud, router, old, new):
                cloud.move(router, new)
                time.sleep(_SWITCH)
            time.sleep(_AFTER)
            reports = inward.stop(), outward.stop()
        # An old owner sometimes keeps its flows until it does that.
        _control(cloud[old], 'recompute')
        cloud.wait_owner(router, new)
        return reports


def _control(node, command):
    node.run(['ovn-appctl', '-t', 'ovn-controller', command])


def _summary(moves):
    """A line about moves: list of (inward, outward) oneway.Report."""
    gaps = [max(i.longest_gap_ms, o.longest_gap_ms) for i, o in moves]
    return ('%d of %d without a loss; lost in+out %s; longest gaps %s ms, '
            'median %.0f' % (
                sum(1 for i, o in moves if not i.lost + o.lost), len(moves),
                ' '.join('%d+%d' % (i.lost, o.lost) for i, o in moves),
                ' '.join('%.0f' % gap for gap in gaps),
                statistics.median(gaps)))


def _load():
    with open('/proc/loadavg', encoding='ascii') as opened:
        return opened.read().split()[0]


def main():
    """A cloud of its own, and what was lost in it."""
    parser = argparse.ArgumentParser(
        prog='lab.floor', description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--rounds', type=int, default=10)
    parser.add_argument('--ways', default=','.join(WAYS))
    args = parser.parse_args()
    ways = args.ways.split(',')
    found = {way: [] for way in ways}
    with clouds.Cloud(gateways=2, say=print) as cloud:
        floor = Floor(cloud)
        for number in range(args.rounds):
            for way in ways:
                inward, outward = floor.move(way)
                found[way].append((inward, outward))
                print('%d %s: %s; load %s' % (number + 1, way, _summary(
                    found[way][-1:]), _load()), flush=True)
    for way in ways:
        print('%s: %s' % (way, _summary(found[way])))


if __name__ == '__main__':
    main()
