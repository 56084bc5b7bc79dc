# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Many peerings of routers: python3 -m tools.bench.peerings, root.

The same node as in tools.bench run.  Each pair of routers has a network
of both families a router, and peers.  The times end with the rows in NB.
"""

import argparse
import json
import time

from ovn_network_agent import ownership
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from tools.bench import rows

_FILE = '/etc/ovn-network-agent/network-peers.yaml'
_NAME = 'x'


class Host(rows.Host):
    """A node, and routers that peer in pairs: 0 with 1, 2 with 3, ...

    :param by_file: whether the intents are in a file
    """

    driver = 'network_peer'

    def __init__(self, pairs, by_file, debug):
        super().__init__(0, debug)
        self.by_file = by_file
        results = self.nb.transact(*(
            operation for number in range(2 * pairs)
            for operation in self._router(number)))
        self.uuids = [result['uuid'][1] for result in results[1::2]]

    def _configuration(self, method):
        return super()._configuration(method) + (
            f'[network_peer]\npeers_file = {_FILE}\n' * self.by_file)

    @staticmethod
    def _router(number):
        high, low = divmod(number, 250)
        yield ovsdb.insert(
            'Logical_Router_Port', f'lrp{number}', name=f'lrp-{number}',
            mac=f'fa:16:3e:00:{high:02x}:{low:02x}',
            networks=ovsdb.ovsdb_set([f'10.{high}.{low}.1/24',
                                      f'2001:db8:{number:x}::1/64']))
        yield ovsdb.insert(
            'Logical_Router', name=f'neutron-{number}',
            ports=['named-uuid', f'lrp{number}'],
            external_ids=ovsdb.ovsdb_dict(
                {'neutron:router_name': f'r{number}'}))

    def agree(self, pairs):
        """Have exactly these pairs peer.

        :param pairs: their numbers
        :returns: monotonic time before
        """
        both = [(2 * pair, 2 * pair + 1) for pair in pairs]
        started = time.monotonic()
        if self.by_file:
            with open(_FILE, 'w') as opened:
                json.dump({'network_peers': [
                    {'name': _NAME, 'routers': [self.uuids[each]
                                                for each in pair]}
                    for pair in both]}, opened)
            return started
        key = ownership.EXT_ID_PEER_TARGET + _NAME
        wanted = {one: {key: self.uuids[other]} for pair in both
                  for one, other in (pair, pair[::-1])}
        self.nb.transact(*(ovsdb.update(
            'Logical_Router', {'name': f'neutron-{number}'},
            external_ids=ovsdb.ovsdb_dict({
                'neutron:router_name': f'r{number}',
                **wanted.get(number, {})}))
            for number in range(len(self.uuids))))
        return started

    def ports(self, pair):
        """The names of the ports of a pair."""
        one, other = self.uuids[2 * pair:2 * pair + 2]
        return [f'ona-peer-{one}-{other}', f'ona-peer-{other}-{one}']

    def networks(self, number, *more):
        """The networks of a router; returns the monotonic time before."""
        high, low = divmod(number, 250)
        started = time.monotonic()
        self.nb.transact(ovsdb.update(
            'Logical_Router_Port', {'name': f'lrp-{number}'},
            networks=ovsdb.ovsdb_set([
                f'10.{high}.{low}.1/24', f'2001:db8:{number:x}::1/64',
                *more])))
        return started


def _measure(host, args):
    count = args.peerings
    pairs = range(count)
    ports = [port for pair in pairs for port in host.ports(pair)]
    host.agree(pairs)
    rows.measure(host, lambda: host.wait(
        'Logical_Router_Port', 'name', ports), {
        'one network more': (
            lambda: host.networks(0, '10.200.0.1/24'),
            lambda: host.wait('Logical_Router_Static_Route', 'ip_prefix',
                              ['10.200.0.0/24'])),
        'one network less': (
            lambda: host.networks(0),
            lambda: host.wait('Logical_Router_Static_Route', 'ip_prefix',
                              ['10.200.0.0/24'], False)),
        'one peering more': (
            lambda: host.agree(range(count + 1)),
            lambda: host.wait('Logical_Router_Port', 'name',
                              host.ports(count))),
        'one peering less': (
            lambda: host.agree(pairs),
            lambda: host.wait('Logical_Router_Port', 'name',
                              host.ports(count), False))}, args.repeat)


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--peerings', type=int, default=200)
    parser.add_argument('--file', action='store_true',
                        help='have the intents in a file')
    # One more pair, whose peering comes and goes.
    rows.main(parser, lambda args: Host(args.peerings + 1, args.file,
                                        args.debug), _measure)


if __name__ == '__main__':
    main()
