# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Many VNIs: python3 -m lab run -- .venv/bin/python -m tools.bench.vnis

The same node as in tools.bench run, inside the lab's machine, whose
kernel has VRFs.  Each VNI has a network of its own, and all have the same
addresses.  The neighbour counts the type 5 routes that it has from this node.
"""

import argparse
import contextlib
import os
import time

from ovn_network_agent import ownership
from ovn_network_agent.model import evpn_names
from ovn_network_agent.tests.functional.ovn import cloud as clouds
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from tools.bench import host as hosts
from tools.bench import observe
from tools.bench import processes
from tools.bench import routing
from tools.bench import worlds

_FIRST = 1001
_CIDR = '192.168.50.{:d}'
# Each node announces two prefixes of its own in each VNI.
_ANCHORS = 2
_PATIENCE = 600
_PAUSE = 0.01


class Host(hosts.Host):
    """A node with machines on networks with a VNI, and no router."""

    driver = 'evpn'

    def __init__(self, debug):
        super().__init__(0, debug)
        self._datapaths = {}
        for number, socket, activated in (
                (65001, '/run/frr', ['neighbor 10.0.0.2 activate',
                                     'advertise-all-vni']),
                (65002, routing.SPINE, ['neighbor 10.0.0.1 activate'])):
            lines = ['configure terminal', f'router bgp {number:d}',
                     'address-family l2vpn evpn', *activated]
            processes.run('vtysh', '--vty_socket', socket, *(
                word for line in lines for word in ('-c', line)))
        while '"state":"Established"' not in processes.run(
                'vtysh', '--vty_socket', routing.SPINE, '-c',
                'show bgp l2vpn evpn summary json'):
            time.sleep(_PAUSE)

    def _configuration(self, method):
        return super()._configuration(method) + (
            f'[evpn]\nlocal_ip = {routing.HERE}\n')

    def add_networks(self, vnis):
        """Networks with a VNI, and their wiring."""
        for vni in vnis:
            datapath = self._datapaths[vni] = self.cloud.add_network()
            self.sb.transact(ovsdb.insert(
                'Port_Binding', logical_port=_localnet(vni), type='localnet',
                datapath=datapath, tunnel_key=1, tag=vni - _FIRST + 1,
                options=ovsdb.ovsdb_dict({'network_name': 'physnet1'})))
            self.cloud.add_switch(f'tenant-{vni:d}', datapath)
            self.cloud.say(
                'Logical_Switch', {'name': f'neutron-tenant-{vni:d}'},
                external_ids={ownership.EXT_ID_VNI: f'{vni:d}'})
        hosts.patch(*map(_localnet, vnis))
        # ovs-vswitchd goes on with them.
        worlds.calm()

    def add_machines(self, vni, numbers):
        """Machines with a claimed port, in one transaction.

        :param numbers: last parts of their addresses
        :returns: monotonic time before it was sent
        """
        here, = self.sb.rows('Chassis', '_uuid', where=ovsdb.clauses(
            {'name': clouds.CHASSIS}))
        operations = [ovsdb.insert(
            'Port_Binding', logical_port=_port(vni, number), type='', up=True,
            datapath=self._datapaths[vni], chassis=here['_uuid'],
            tunnel_key=1 + number,
            mac=f'fa:16:3e:01:00:{number:02x} {_CIDR.format(number)}',
            external_ids=ovsdb.ovsdb_dict(
                {'neutron:cidrs': _CIDR.format(number) + '/24'}))
            for number in numbers]
        started = time.monotonic()
        self.sb.transact(*operations)
        return started

    def remove_machines(self, vni, numbers):
        """The reverse of :meth:`add_machines`."""
        started = time.monotonic()
        self.sb.transact(*(ovsdb.delete(
            'Port_Binding', {'logical_port': _port(vni, number)})
            for number in numbers))
        return started


def _localnet(vni):
    return f'provnet-{vni:d}'


def _port(vni, number):
    return f'port-{vni:d}-{number:d}'


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--vnis', type=int, nargs='+', default=[20, 200])
    parser.add_argument('--addresses', type=int, default=10)
    parser.add_argument('--repeat', type=int, default=3)
    parser.add_argument('--debug', action='store_true',
                        help="print the agent's log at the end")
    args = parser.parse_args()
    hosts.enter()
    there = range(2, 2 + args.addresses)
    with contextlib.closing(Host(args.debug)) as host:
        present = _FIRST
        for count in sorted(args.vnis):
            # One more network, whose VNI comes and goes.
            vnis = range(present, _FIRST + count)
            host.add_networks(range(present + (present > _FIRST),
                                    _FIRST + count + 1))
            for vni in vnis:
                host.add_machines(vni, there)
            present = _FIRST + count
            _measure(_Node(host, count), there, args.repeat)
        if args.debug:
            print(host.log('agent'))


def _measure(node, there, repeat):
    """All that is measured beside a number of VNIs."""
    host, new = node.host, _FIRST + node.count
    node.play('start', lambda: host.start_agent('kernel'),
              node.count * (len(there) + _ANCHORS))
    last = there[-1] + 1
    for _n in range(repeat):
        for what, vni, anchors in (('address', _FIRST, 0),
                                   ('VNI', new, _ANCHORS)):
            with contextlib.closing(observe.Observer(
                    hosts.BRIDGE, places=(observe.ROUTE,),
                    table=evpn_names.table(ownership.EVPN_TABLES.start, vni)
                    )) as observer:
                for verb, change in (('more', host.add_machines),
                                     ('less', host.remove_machines)):
                    node.play(
                        f'one {what} {verb}', lambda vni=vni, change=change:
                        change(vni, [last]),
                        (1 + anchors) * (1 if verb == 'more' else -1),
                        lambda verb=verb: observer.wait(
                            [_CIDR.format(last)], verb == 'more', 0,
                            _PATIENCE)[observe.ROUTE],
                        evpn_names.vrf(vni) * (what == 'VNI'))
    host.say_memory(f'{node.count:d} VNIs: ')
    host.stop_agent()


class _Node:
    """A host, and how its changes are measured.

    :param count: number of its VNIs
    """

    def __init__(self, host, count):
        self.host, self.count = host, count

    def play(self, what, change, difference, route=None, device=''):
        """Make a change, wait until it is everywhere, and print the times.

        :param change: function that returns the monotonic time before
        :param difference: of the routes at the neighbour
        :param route: function that waits for the kernel's route, and returns
            its time
        :param device: name of one that goes with the routes
        """
        before = processes.load(self.host.processes() if route else [])
        with routing.Learning('l2vpn evpn') as learning:
            started = change()
            found = {'kernel route': route()} if route else {}
            found['type 5'] = learning.wait(
                difference, _PATIENCE)[routing.LAST]
        if device and difference < 0:
            while os.path.exists(f'/sys/class/net/{device}'):
                time.sleep(_PAUSE)
            found['devices gone'] = time.monotonic()
        self.host.rest()
        used = processes.load(self.host.processes()).since(before)
        print(f'{self.count:d} VNIs: {what:<17}', ', '.join(
            f'{place} {when - started:.2f} s'
            for place, when in found.items()) + ',',
            f'processor {used.processor / 1000:.2f} s', flush=True)


if __name__ == '__main__':
    main()
