# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Outages: python3 -m lab run -- .venv/bin/python -m tools.bench.outages

In the lab's machine: what each outage of :mod:`lab.outages` costs a gateway
node with an agent.  For each outage the bench prints when the agent has
noticed, when the agent is in sync again after the end of the outage, the lost
probes (one every 20 ms each way), when the last of them was sent, and the
withdrawals that the spine has seen; the last table has medians and worst.
"""

import argparse
import dataclasses
import re
import statistics
import time

from lab import bothways
from lab import cloud as clouds
from lab import echo
from lab import frr
from lab import moves
from lab import node as nodes
from lab import outages
from lab import plan
from lab import withdrawals
from lab.chaos import building

# Seconds in which everything has to agree again.
_SETTLE = 90
# Seconds without a change of the status before all counts as settled.
_QUIET = 3.0
_WELL = 'in sync'
# Characters of a line of the log.
_WIDTH = 240
_FRR = ('staticd', 'bgpd', 'bfdd', 'zebra', 'frr')


@dataclasses.dataclass(frozen=True)
class Result:
    """What one outage has cost."""

    # Seconds from the begin to the first status that is not "in sync", None
    # when the agent has noticed nothing
    noticed: float | None
    said: str
    # Seconds from the end to the last "in sync", 0 at least; from the death of
    # what a supervisor starts again
    well: float
    report: bothways.Report  # :class:`bothways.Report`
    # Seconds from the begin to the first lost probe, or None
    first: float | None
    last: float | None  # seconds from the end to the last lost probe, or None
    withdrawn: int  # number of routes to /32 that the spine has lost
    moved: int

    def __str__(self):
        noticed = ('not noticed' if self.noticed is None else
                   f'noticed after {self.noticed:.2f} s ({self.said[:160]})')
        lost = str(self.report)
        if self.last is not None:
            lost += (f', from {self.first:.2f} s after the begin to '
                     f'{self.last:+.2f} s from the end')
        return (f'{noticed}; in sync {self.well:.2f} s after the end; {lost}; '
                f'{self.withdrawn:d} withdrawals, {self.moved:d} moves')


class World:
    """A cloud with agents, one router with a floating IP and one machine."""

    def __init__(self, cloud, method):
        self.cloud = cloud
        self.router = cloud.add_router('alpha')
        self._vm = cloud.add_vm(self.router)
        echo.start(self._vm.node)
        self.fip = cloud.neutron.add_fip(self.router, self._vm.port)
        cloud.start_agents({'DEFAULT': {'debug': 'false'},
                            'fip_route': {'announce_method': method}})

    def both_ways(self):
        """Probes both ways, see :class:`bothways.BothWays`."""
        return bothways.BothWays(self.cloud['client'], self._vm,
                                 self.fip.address)

    @property
    def owner(self):
        """Host name of the gateway that has the port, '' without one."""
        return self.cloud.neutron.owner(self.router)

    @property
    def agent(self):
        """The agent of gw1, which has the outages."""
        return self.cloud.agents['gw1']

    def settle(self):
        """Wait until gw1 announces alone, and every agent is in sync."""
        nodes.wait_until(lambda: f'all is settled: {self._state()}',
                         lambda: self._state() == (
                             'gw1', [plan.UPLINKS['gw1'][1]], {_WELL}),
                         _SETTLE)

    def _state(self):
        return (self.owner,
                self.cloud.bgp_table().get(f'{self.fip.address}/32'),
                {agent.states[-1][1]
                 for agent in self.cloud.agents.values()})

    def suffer(self, outage):
        """One outage of gw1."""
        self.settle()
        agent = self.agent
        with (withdrawals.Withdrawals(self.cloud) as withdrawn,
              moves.Moves(self.cloud) as followed,
              self.both_ways() as running):
            began = time.monotonic()
            outage.begin(self.cloud, 'gw1')
            time.sleep(max(0.0, began + outage.seconds - time.monotonic()))
            ended = time.monotonic()
            outage.end(self.cloud, 'gw1')
            running.wait_answered(_SETTLE)
            nodes.wait_until('the agent is in sync', lambda: (
                agent.states[-1][1] == _WELL and
                agent.states[-1][0] < time.monotonic() - _QUIET), _SETTLE)
            self.settle()
            report = running.stop()
            lost = len([line for line in withdrawn.seen()
                        if self.fip.address in line])
            seen = followed.owners(self.router)
        states = [(when, text) for when, text in list(agent.states)
                  if when >= began and text]
        worse = next((state for state in states if state[1] != _WELL), None)
        return Result(
            noticed=worse and worse[0] - began, said=worse[1] if worse else '',
            well=max(0.0, states[-1][0] - ended) if states else 0.0,
            report=report, first=_first(report, began),
            last=_last(report, ended), withdrawn=lost, moved=len(seen))


def _first(report, since):
    found = [one.started + one.first_loss
             for one in (report.inward, report.outward)
             if one.first_loss is not None]
    return min(found) - since if found else None


def _last(report, since):
    found = [one.started + one.last_loss
             for one in (report.inward, report.outward)
             if one.last_loss is not None]
    return max(found) - since if found else None


def say(text):
    """Print a line with the time of day."""
    print(f'{time.strftime("%H:%M:%S")} {text}', flush=True)


def with_bfd(cloud):
    """Run BFD between the spine and gw1."""
    for name in ('spine', 'gw1'):
        frr.start_daemon(cloud[name], 'bfdd')
        frr.wait_for(cloud[name], 'bfdd')
    frr.add(cloud['spine'], frr.bfd_config('gw1', spine=True))
    frr.add(cloud['gw1'], frr.bfd_config('gw1'))
    nodes.wait_until('BFD is up', lambda: re.search(
        'Status: up', cloud['spine'].out('vtysh', '-c', 'show bfd peers')),
        _SETTLE)
    cloud['gw1'].stop('bfdd')


def measure(world, outage, times, log: bool = False) -> list:
    """Repeat one outage and print each."""
    found = []
    for _number in range(times):
        mark = len(world.agent.log())
        found.append(world.suffer(outage))
        say(f'{outage.name}: {found[-1]}')
        if log:
            for line in world.agent.log()[mark:].splitlines():
                print('  ', line[:_WIDTH])
    return found


def _row(name, results):
    def both(values, form='{:.2f}'):
        known = [value for value in values if value is not None]
        if not known:
            return '-'
        return ', '.join(form.format(value) for value in (
            statistics.median(known), max(known)))

    return ' | '.join((
        f'{name:17s}', f'{len(results):d}',
        both([one.noticed for one in results]),
        both([one.well for one in results]),
        both([one.report.lost for one in results], '{:.0f}'),
        both([one.report.longest_gap_ms for one in results], '{:.0f}'),
        both([one.last for one in results], '{:+.2f}'),
        both([one.withdrawn for one in results], '{:.0f}'),
        both([one.moved for one in results], '{:.0f}')))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--times', type=int, default=3)
    parser.add_argument('--method', default='static',
                        choices=('static', 'kernel'))
    parser.add_argument('--gateways', type=int, default=2)
    parser.add_argument('names', nargs='*', metavar='outage',
                        help=', '.join(outages.OUTAGES))
    parser.add_argument('--log', action='store_true',
                        help='print what the agent on gw1 has logged')
    args = parser.parse_args()
    names = args.names or list(outages.OUTAGES)
    rows = []
    with clouds.Cloud(gateways=args.gateways) as cloud:
        world = World(cloud, args.method)
        world.settle()
        rows += _measured(world, [name for name in names
                                  if name not in _FRR], args)
        of_frr = [name for name in names if name in _FRR]
        if of_frr:
            if 'bfdd' in of_frr:
                with_bfd(cloud)
            with outages.watched_by_watchfrr(cloud['gw1'], building.WATCHFRR):
                rows += _measured(world, of_frr, args)
    print(f'{args.method}; median, worst of: times | noticed (s) | in sync '
          'again (s) | lost probes | longest gap (ms) | last loss from the '
          'end (s) | withdrawals | moves')
    print('\n'.join(rows))


def _measured(world, names, args):
    """A row for each outage; one that does not heal ends nothing else."""
    for name in names:
        try:
            yield _row(name, measure(world, outages.OUTAGES[name],
                                     args.times, args.log))
        except nodes.NodeError as error:
            say(f'{name}: {error}\n{world.agent.log()[-3000:]}')
            yield f'{name:17s} | did not heal'


if __name__ == '__main__':
    main()
