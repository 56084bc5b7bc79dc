# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What writing costs: real agents start, are drained, and clean up."""

from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from tools.bench.fleet import cloud as clouds
from tools.bench.fleet import crews
from tools.bench.fleet import ovn
from tools.bench.fleet import stage

_LIMIT = 400
# Seconds of grace for routes of the chassis that dies.
_GRACE = 2
# So many agents are drained at once.
_SEVERAL = 10


def run(options):
    """Play the scenario with real agents; prints."""
    count, routers = options.agents, options.routers
    print(f'{count} agents, {routers} routers with {options.fips} floating '
          'IPs each', flush=True)
    # gw0 has no agent: it has written, and will die.
    with clouds.Cloud(
            count + 1, routers, options.fips,
            written=lambda n: n % (count + 1) == 0,
            no_standby=0) as cloud:
        cloud.nb.transact(ovsdb.insert('NB_Global'))
        _orphans(cloud, options.orphans)
        remotes = {'nb': cloud.nb.remote, 'sb': cloud.sb.remote}
        timers = {'ovn__bfd_min_rx': 500, 'ovn__bfd_min_tx': 500,
                  'ovn__bfd_mult': 3} if options.bfd else {}
        with crews.Crews(
                list(range(1, count + 1)), remotes, options.processes, {
                    'gateway_drain__stale_chassis_grace_period': _GRACE,
                    **timers}, options.jitter) as fleet:
            with ovn.Ovn(cloud) as played:
                _scenario(cloud, fleet, played, options)


def _orphans(cloud, count):
    """Routers that no living chassis is a candidate of."""
    dead = clouds.hostname(0)
    for number in range(cloud.routers, cloud.routers + count):
        cloud.nb.transact(
            ovsdb.insert(
                'Logical_Router_Static_Route', 'route',
                ip_prefix='0.0.0.0/0', nexthop='198.18.255.254',
                output_port=clouds.lrp(number),
                external_ids=ovsdb.ovsdb_dict({
                    'ovn-network-agent': 'managed',
                    'ovn-network-agent-chassis': dead})),
            ovsdb.insert('Logical_Router', name=f'neutron-{number}',
                         static_routes=['named-uuid', 'route']))


def _scenario(cloud, fleet, played, options):
    measurement = stage.Measurement(cloud, fleet)

    def start():
        fleet.ask('start')
        fleet.ask('connected', _LIMIT)
    measurement.step('all start at once', start, lambda: played.settle(
        lambda: not options.bfd or sum(
            'bfd' in key for key in played.requests()) > options.agents,
        'the start'))
    measurement.rest(options.rest)
    several = list(range(1, 1 + min(_SEVERAL, max(options.agents // 5, 1))))
    for numbers in ([1], several):
        measurement.step(
            f'{len(numbers)} drained',
            lambda n=numbers: fleet.ask('drain', n, True),
            lambda n=numbers: played.settle(lambda: all(
                played.priorities(clouds.gateway(one)) == {0} and
                not played.owned(clouds.gateway(one)) for one in n),
                'drained'))
        measurement.step(
            f'{len(numbers)} back',
            lambda n=numbers: fleet.ask('drain', n, False),
            lambda n=numbers: played.settle(lambda: all(
                0 not in played.priorities(clouds.gateway(one))
                for one in n), 'back'))
    dead = clouds.gateway(0)
    ports = played.owned(dead)
    measurement.step(
        f'a chassis with {ports} ports dies',
        lambda: cloud.sb.transact(ovsdb.delete('Chassis', {'name': dead})),
        lambda: played.settle(
            lambda: not played.owned(dead) and
            len(played.owners()) == cloud.routers, 'taken over'))
    measurement.step(
        f'its {options.orphans} other routes go', lambda: None,
        lambda: waiting.eventually(
            lambda: not played.tagged(clouds.hostname(0)),
            'no routes of the dead', _LIMIT))
