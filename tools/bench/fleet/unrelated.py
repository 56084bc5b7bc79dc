# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What changes of SB that concern no agent cost servers and agents."""

from collections import abc
import time

from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from tools.bench.fleet import cloud as clouds
from tools.bench.fleet import stage

_PORTS = 1000
# Changes in one transaction.
_BATCH = 10


def run(options):
    """Load SB with changes of each kind under real agents; prints."""
    with stage.settled(options) as made:
        machines = Machines(made.cloud)
        for kind in (machines.bind, machines.learn, machines.hear):
            once(made, kind, options.rate, options.rest)


class Machines:
    """Virtual machines of other nodes."""

    def __init__(self, cloud):
        self._sb = cloud.sb
        self._network = ['uuid', self._sb.transact(ovsdb.insert(
            'Datapath_Binding', tunnel_key=clouds.MACHINES))[0]['uuid'][1]]
        self._chassis = sorted(cloud.chassis.values())
        for first in range(0, _PORTS, _BATCH):
            self._sb.transact(*(
                ovsdb.insert('Port_Binding', logical_port=f'vm-{n}', type='',
                             datapath=self._network, tunnel_key=n + 1)
                for n in range(first, first + _BATCH)))
        for number, chassis in enumerate(self._chassis):
            self._sb.transact(ovsdb.insert(
                'Chassis_Private', name=clouds.gateway(number),
                chassis=chassis))

    def bind(self, number):
        """A port of a machine gets another chassis; gives the operation."""
        return ovsdb.update(
            'Port_Binding', {'logical_port': f'vm-{number % _PORTS}'},
            chassis=self._chassis[number // _PORTS % len(self._chassis)])

    def learn(self, number):
        """A MAC address is learnt."""
        return ovsdb.insert(
            'MAC_Binding', logical_port=clouds.lrp(0),
            ip=f'198.18.{number // 250 % 250}.{number % 250}x'
            f'{number // 62500}', mac='02:00:00:00:00:02',
            datapath=self._network)

    def hear(self, number):
        """An ovn-controller says how far it is."""
        return ovsdb.update(
            'Chassis_Private',
            {'name': clouds.gateway(number % len(self._chassis))},
            nb_cfg=number)


def once(made, kind: abc.Callable, rate, seconds):
    """Changes of one kind.

    :param rate: changes a second, fewer if the server is slower
    """
    server, fleet = made.cloud.sb, made.fleet
    idle = made.measurement.rest(seconds)
    fleet.counts()
    spent, agents = server.processor(), fleet.processor()
    started, done = time.monotonic(), 0
    while time.monotonic() - started < seconds:
        server.transact(*map(kind, range(done, done + _BATCH)))
        done += _BATCH
        time.sleep(max(0, started + done / rate - time.monotonic()))
    taken = time.monotonic() - started
    found = fleet.counts()
    used = fleet.processor() - agents
    count = made.cloud.gateways
    print(f'{kind.__name__}: {done} changes in {taken:.1f} s; SB '
          f'{(server.processor() - spent) / done * 1e6:.0f} us each; an '
          f'agent {used / count / taken * 100:.2f} % of a processor, at rest '
          f'{idle / count * 100:.2f} %; {found.size / count:.0f} bytes for '
          f'each agent; {found.accepted} transactions', flush=True)
    return found
