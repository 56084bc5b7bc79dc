# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Real agents that follow a cloud and have come to rest.

The agents of one process share an interpreter, so one of them may be silent
for longer than a probe allows.  On the socket of a file no server probes.
"""

import contextlib
import dataclasses

from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from tools.bench.fleet import cloud as clouds
from tools.bench.fleet import crews
from tools.bench.fleet import measurement as measurements
from tools.bench.fleet import ovn

# Seconds for the start of all agents.
_LIMIT = 600


@dataclasses.dataclass(frozen=True)
class Stage:
    """The parts of a scenario."""

    cloud: clouds.Cloud  # :class:`clouds.Cloud`
    fleet: crews.Crews  # :class:`crews.Crews`
    played: ovn.Ovn  # :class:`ovn.Ovn`
    measurement: measurements.Measurement  # :class:`measurements.Measurement`


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
                         measurements.Measurement(cloud, fleet))

            def start():
                fleet.ask('start')
                fleet.ask('connected', _LIMIT)
            made.measurement.step(
                'all start at once', start,
                lambda: played.settle(lambda: True, 'the start', _LIMIT))
            made.measurement.rest(options.rest)
            yield made
