# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Many egress addresses: python3 -m tools.bench.egress, root.

The same node as in tools.bench run.  Each router has a network with
machines, a port group with them, and an egress address of the mode "router".
The times end with the rows in NB.
"""

import argparse
import json
import time

from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from tools.bench import rows

_FILE = '/etc/ovn-network-agent/egress-ips.yaml'


class Host(rows.Host):
    """A node, and routers with machines.

    :param machines: of each router; one more is in no group
    """

    driver = 'egress_ip'

    def __init__(self, routers, machines, debug):
        super().__init__(routers, debug)
        self.machines = machines
        self.ports = [self._fill(number) for number in range(routers)]
        with open(_FILE, 'w') as opened:
            json.dump({'egress_ips': [
                {'name': f'e{number}', 'addresses': [f'198.18.250.{number}'],
                 'select': {'port_group': f'pg{number}'}}
                for number in range(routers)]}, opened)

    def _configuration(self, method):
        return super()._configuration(method) + (
            f'[egress_ip]\nfile = {_FILE}\nprobe_port = 0\n')

    def _fill(self, number):
        """The network of a router; returns the UUIDs of its ports."""
        name = f'net{number}'
        self.cloud.add_tenant(f'r{number}', name, f'10.0.{number}.1/24')
        ports = self.cloud.add_ports(name, **{
            f'{name}-{machine}': [address] for machine, address in
            enumerate(self.addresses(number, self.machines + 1))})
        self.nb.transact(ovsdb.insert(
            'Port_Group', name=f'pg{number}', ports=ovsdb.ovsdb_set(
                ['uuid', uuid] for uuid in
                list(ports.values())[:self.machines])))
        return list(ports.values())

    @staticmethod
    def addresses(number, machines):
        """The addresses of the machines of a router."""
        return [f'10.0.{number}.{machine + 10}' for machine in range(machines)]

    def change(self, verb):
        """Have the last port of the first router join its group, or leave.

        :param verb: 'insert' or 'delete'
        :returns: monotonic time before
        """
        started = time.monotonic()
        self.nb.transact(ovsdb.mutate(
            'Port_Group', {'name': 'pg0'}, 'ports', verb,
            ['uuid', self.ports[0][-1]]))
        return started


def _measure(host, args):
    every = [address for number in range(host.routers)
             for address in host.addresses(number, host.machines)]
    one = host.addresses(0, host.machines + 1)[-1:]
    rows.measure(host, lambda: host.wait('NAT', 'logical_ip', every), {
        'one port more': (
            lambda: host.change('insert'),
            lambda: host.wait('NAT', 'logical_ip', one)),
        'one port less': (
            lambda: host.change('delete'),
            lambda: host.wait('NAT', 'logical_ip', one, False))}, args.repeat)


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--objects', type=int, default=100)
    parser.add_argument('--machines', type=int, default=10,
                        help='ports of each object')
    rows.main(parser, lambda args: Host(args.objects, args.machines,
                                        args.debug), _measure)


if __name__ == '__main__':
    main()
