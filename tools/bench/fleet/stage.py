# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Real agents that follow a cloud and have come to rest.

The agents of one process share an interpreter, so one of them may be silent
for longer than a probe allows.  On the socket of a file no server probes.
"""

from collections import abc
import contextlib
import dataclasses
import time

from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from tools.bench.fleet import cloud as clouds
from tools.bench.fleet import crews
from tools.bench.fleet import ovn

# Seconds for the start of all agents.
_LIMIT = 600


class Measurement:
    """Prints what each step of a scenario cost."""

    def __init__(self, cloud, fleet):
        self._servers = {'NB': cloud.nb, 'SB': cloud.sb}
        self._fleet = fleet

    def step(self, what: str, act: abc.Callable[[], object],
             done: abc.Callable):
        """Do something, and wait until everything has followed."""
        self._fleet.counts()
        before = self._processor()
        agents, started = self._fleet.processor(), time.monotonic()
        act()
        done()
        taken = time.monotonic() - started
        used = ', '.join(
            f'{name} {spent - before[name]:.2f} s'
            for name, spent in self._processor().items())
        found = self._fleet.counts()
        print(f'{what}: {taken:.2f} s; {found.accepted} transactions, '
              f'{found.refused} refused; processor {used}, agents '
              f'{self._fleet.processor() - agents:.1f} s; '
              f'{found.silent} connections given up', flush=True)
        for text, count in found.errors.most_common(3):
            print(f'    {count} times: {text}', flush=True)
        return found

    def _processor(self):
        return {name: server.processor()
                for name, server in self._servers.items()}

    def rest(self, seconds) -> float:
        """Print what everything needs while nothing happens.

        :returns: seconds of processor time a second of all agents
        """
        before = self._processor()
        agents = self._fleet.processor()
        time.sleep(seconds)
        used = {name: spent - before[name]
                for name, spent in self._processor().items()}
        used['agents'] = self._fleet.processor() - agents
        shares = ', '.join(f'{name} {spent / seconds * 100:.1f} %'
                           for name, spent in used.items())
        memory = ', '.join(
            f'{name} {server.memory():.0f} (at most '
            f'{server.memory(True):.0f})'
            for name, server in self._servers.items())
        print(f'at rest, of one processor: {shares}; memory in MB: {memory}, '
              f'agents {self._fleet.memory():.0f}', flush=True)
        return used['agents'] / seconds


@dataclasses.dataclass(frozen=True)
class Stage:
    """The parts of a scenario."""

    cloud: clouds.Cloud  # :class:`clouds.Cloud`
    fleet: crews.Crews  # :class:`crews.Crews`
    played: ovn.Ovn  # :class:`ovn.Ovn`
    measurement: Measurement  # :class:`Measurement`


@contextlib.contextmanager
def settled(options):
    """Start agents, and wait until they have written and proved everything."""
    count = options.agents
    print(f'{count} agents, {options.routers} routers with {options.fips} '
          'floating IPs each', flush=True)
    with clouds.Cloud(count, options.routers, options.fips,
                      clustered=options.clustered) as cloud:
        cloud.nb.transact(ovsdb.insert('NB_Global'))
        remotes = {'nb': cloud.nb.remote, 'sb': cloud.sb.remote}
        with crews.Crews(
                list(range(count)), remotes, options.processes,
                {'ovn__ovsdb_probe_interval': 0}) as fleet, (
                    ovn.Ovn(cloud)) as played:
            made = Stage(cloud, fleet, played,
                         Measurement(cloud, fleet))

            def start():
                fleet.ask('start')
                fleet.ask('connected', _LIMIT)
            made.measurement.step(
                'all start at once', start,
                lambda: played.settle(lambda: True, 'the start', _LIMIT))
            made.measurement.rest(options.rest)
            yield made
