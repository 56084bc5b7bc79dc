# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Networks of tenants in the place of floating IPs.

Each is a network of one address behind a router, because the observer looks at
host routes.  The time of a network begins with the transaction in NB; what
ovn-northd makes of it follows in SB at once.
"""

import itertools
import time

from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from tools.bench import host as hosts
from tools.bench import observe

# Tunnel keys that the rows of a cloud leave free.
_FIRST_KEY = 100000


class Host(hosts.Host):
    """A node with the gateways of routers that do not translate."""

    driver = 'fip_route,tenant_network'
    # A network has no flow of its own.
    places = (observe.ROUTE, observe.RIB)

    def __init__(self, routers, **options):
        # By address the rows of a network, by table.
        self._rows = {}
        self._keys = itertools.count(_FIRST_KEY)
        super().__init__(routers, **options)

    @property
    def gateways(self):
        """Their provider network is not that of the addresses."""
        return [address.replace('198.18.', '198.19.')
                for address in super().gateways]

    def add_fips(self, addresses, router=0) -> float:
        """Networks behind a router, in one transaction of each database."""
        started = time.monotonic()
        found = self.nb.transact(
            *(operation for number, address in enumerate(addresses)
              for operation in (
                  ovsdb.insert('Logical_Switch', name=f'neutron-{address}'),
                  ovsdb.insert('Logical_Router_Port', f'port{number:d}',
                               name=f'lrp-{address}', networks=f'{address}/32',
                               mac='fa:16:3e:00:00:03'))),
            _in_router(router, 'insert', (
                ['named-uuid', f'port{number:d}']
                for number in range(len(addresses)))))
        switches = [row['uuid'] for row in found[:-1:2]]
        bound = self.sb.transact(*(
            operation for number, (address, switch) in enumerate(zip(
                addresses, switches, strict=True))
            for operation in (
                ovsdb.insert('Datapath_Binding', f'path{number:d}',
                             tunnel_key=next(self._keys),
                             external_ids=ovsdb.ovsdb_dict(
                                 {'logical-switch': switch[1]})),
                ovsdb.insert('Port_Binding', logical_port=f'port-{address}',
                             type='patch', tunnel_key=1,
                             datapath=['named-uuid', f'path{number:d}'],
                             options=ovsdb.ovsdb_dict(
                                 {'peer': f'lrp-{address}'})))))
        for number, address in enumerate(addresses):
            self._rows[address] = [row['uuid'] for row in (
                *found[2 * number:][:2], *bound[2 * number:][:2])]
        return started

    def remove_fips(self, addresses, router=0):
        """The reverse of :meth:`add_fips`."""
        rows = [self._rows.pop(address) for address in addresses]
        started = time.monotonic()
        self.nb.transact(
            _in_router(router, 'delete', (port for _switch, port, *_ in rows)),
            *(ovsdb.delete('Logical_Switch', {'_uuid': switch})
              for switch, *_ in rows))
        self.sb.transact(*(
            operation for *_, datapath, binding in rows
            for operation in (
                ovsdb.delete('Port_Binding', {'_uuid': binding}),
                ovsdb.delete('Datapath_Binding', {'_uuid': datapath}))))
        return started


def _in_router(number, mutator, uuids):
    return ovsdb.mutate('Logical_Router', {'name': f'neutron-r{number:d}'},
                        'ports', mutator, ovsdb.ovsdb_set(uuids))
