# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The packets that OVN alone loses in a move: ``python3 -m lab.floor``

Inside the machine: ``tools/lab run .venv/bin/python -m lab.floor``.  There is
no agent, and nothing outside of OVN changes in a move (:mod:`lab.everywhere`);
probes are one-way.  The ways to move take turns:

priority   the new owner gets a higher priority
paused     likewise, while the old owner's ovn-controller is paused
overlap    first the new owner takes over, because BFD reports the death of
           the old owner; then likewise, by the program of the agent's drains

A line also names the owners in turn, because the port should move only once.
With ``--install 5.5`` the Southbound server has sent an inactivity probe to
the paused ovn-controller before the priorities change.
"""

import argparse
import contextlib
import statistics
import time

from lab import cloud as clouds
from lab import everywhere
from lab import moves
from lab import node as nodes
from lab import oneway
from lab import overlapping

# Seconds of probes before a move, and after it.
_BEFORE, _AFTER = 1.0, 1.5
# Seconds from the claim of the port until the new owner has its flows.
_INSTALL = 0.5
# Seconds until all chassis send to the new owner.
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
    with overlapping.begun(cloud[old], [new]):
        cloud.wait_owner(router, new)
        time.sleep(_overlap.install)
        yield


_overlap.install = _INSTALL
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
            nodes.wait_until(f'{node.name} reaches {address}', lambda
                             n=node, a=address: n.run(
                                 ['ping', '-c1', '-W1', a],
                                 check=False).returncode == 0)

    def move(self, way):
        """Make one move.

        :param way: a key of :data:`WAYS`
        :returns: (report inward, report outward, host names of the owners)
        """
        cloud, router = self._cloud, self._router
        old = cloud.neutron.owner(router)
        new, = set(cloud.gateways) - {old}
        with (oneway.OneWay(cloud['client'], self._vm.node,
                            self._fip.address, 7001) as inward,
              oneway.OneWay(self._vm.node, cloud['client'],
                            everywhere.ADDRESS, 7002) as outward,
              moves.Moves(cloud) as followed):
            time.sleep(_BEFORE)
            with WAYS[way](cloud, router, old, new):
                cloud.move(router, new)
                time.sleep(_SWITCH)
            time.sleep(_AFTER)
            reports = inward.stop(), outward.stop(), followed.owners(router)
        # An old owner sometimes keeps its flows until it recomputes them.
        _control(cloud[old], 'recompute')
        cloud.wait_owner(router, new)
        return reports


def _control(node, command):
    node.run(['ovn-appctl', '-t', 'ovn-controller', command])


def _summary(found):
    """A line about moves, from a list of results of :meth:`Floor.move`."""
    gaps = [max(i.longest_gap_ms, o.longest_gap_ms) for i, o, _w in found]
    whole = sum(1 for i, o, _w in found if not i.lost + o.lost)
    lost = ' '.join(f'{i.lost:d}+{o.lost:d}' for i, o, _w in found)
    shown = ' '.join(f'{gap:.0f}' for gap in gaps)
    ways = ' '.join('-'.join(went) for _i, _o, went in found)
    return (f'{whole} of {len(found)} without a loss; lost in+out {lost}; '
            f'longest gaps {shown} ms, median {statistics.median(gaps):.0f}; '
            f'went to {ways}')


def _load():
    with open('/proc/loadavg', encoding='ascii') as opened:
        return opened.read().split()[0]


def main():
    """Print the losses in a new cloud."""
    parser = argparse.ArgumentParser(
        prog='lab.floor', description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--rounds', type=int, default=10)
    parser.add_argument('--ways', default=','.join(WAYS))
    parser.add_argument('--install', type=float, default=_INSTALL)
    args = parser.parse_args()
    _overlap.install = args.install
    ways = args.ways.split(',')
    found = {way: [] for way in ways}
    with clouds.Cloud(gateways=2, say=print) as cloud:
        floor = Floor(cloud)
        for number in range(args.rounds):
            for way in ways:
                found[way].append(floor.move(way))
                print(f'{number + 1} {way}: {_summary(found[way][-1:])}; load '
                      f'{_load()}', flush=True)
    for way in ways:
        print(f'{way}: {_summary(found[way])}')


if __name__ == '__main__':
    main()
