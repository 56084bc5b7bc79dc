# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Machines on provider networks in the place of floating IPs.

The time of an address begins where a subject can know of its machine: with the
row in SB that this chassis has claimed, or, for the peer, with the row in NB
that ovn-northd says is up.
"""

import ipaddress
import time

from ovn_network_agent.tests.functional.ovn import cloud as clouds
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from tools.bench import host as hosts
from tools.bench import observe
from tools.bench import peer

# Tunnel keys of a datapath that the rows of a cloud leave free.
_FIRST_KEY = 1000


class Host(hosts.Host):
    """A node with machines on a flat provider network, and no router."""

    driver = 'provider_port'
    # A flow for all addresses of a network is there after the first one.
    places = (observe.ROUTE, observe.RIB)

    def __init__(self, routers, **options):
        super().__init__(routers, **options)
        # A search in the server would go on while the next change is timed.
        self._rows = {}
        self.cloud.add_switch()

    def add_fips(self, addresses, router=0) -> float:
        """Machines whose ports are claimed here, in one transaction."""
        here, = self.sb.rows('Chassis', '_uuid', where=ovsdb.clauses(
            {'name': clouds.CHASSIS}))
        operations = [ovsdb.insert(
            'Port_Binding', logical_port=_port(address), type='', up=True,
            datapath=self.cloud.network, chassis=here['_uuid'],
            tunnel_key=_FIRST_KEY + _number(address), mac=_mac(address),
            external_ids=ovsdb.ovsdb_dict(_external_ids(address)))
            for address in addresses]
        started = time.monotonic()
        self._rows.update(_made(addresses, self.sb.transact(*operations)))
        return started

    def remove_fips(self, addresses, router=0):
        """The reverse of :meth:`add_fips`."""
        operations = [
            ovsdb.delete('Port_Binding', {'_uuid': self._rows.pop(address)})
            for address in addresses]
        started = time.monotonic()
        self.sb.transact(*operations)
        return started


class PeerHost(peer.Host):
    """The same machines as rows in NB, which the peer follows."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self._rows = {}

    def add_fips(self, addresses, router=0) -> float:
        """Ports of Neutron, which ovn-northd then says are up.

        The peer follows the updates of rows, and not their insertion.
        """
        *ports, _switch = self.nb.transact(*(ovsdb.insert(
            'Logical_Switch_Port', f'port{number:d}', name=_port(address),
            addresses=_mac(address), up=False,
            options=ovsdb.ovsdb_dict({'requested-chassis': hosts.HOSTNAME}),
            external_ids=ovsdb.ovsdb_dict({
                **_external_ids(address),
                'neutron:network_name': peer.NETWORK,
                'neutron:device_owner': 'compute:nova',
                'neutron:host_id': hosts.HOSTNAME}))
            for number, address in enumerate(addresses)),
            _in_switch('insert', (['named-uuid', f'port{number:d}']
                                  for number in range(len(addresses)))))
        self._rows.update(_made(addresses, ports))
        operations = [ovsdb.update(
            'Logical_Switch_Port', {'_uuid': port['uuid']}, up=True)
            for port in ports]
        started = time.monotonic()
        self.nb.transact(*operations)
        return started

    def remove_fips(self, addresses, router=0):
        """The reverse of :meth:`add_fips`."""
        operation = _in_switch('delete', map(self._rows.pop, addresses))
        started = time.monotonic()
        self.nb.transact(operation)
        return started


def _in_switch(mutator, uuids):
    return ovsdb.mutate('Logical_Switch', {'name': peer.NETWORK}, 'ports',
                        mutator, ovsdb.ovsdb_set(uuids))


def _made(addresses, results) -> dict[str, list]:
    return {address: each['uuid']
            for address, each in zip(addresses, results, strict=True)}


def _port(address):
    return f'port-{address}'


def _number(address):
    """What distinguishes an address of the provider network, an int."""
    return int(ipaddress.ip_address(address)) & 0xffff


def _mac(address):
    """What a port has in column "mac" in SB, and in "addresses" in NB."""
    high, low = divmod(_number(address), 256)
    return f'fa:16:3e:01:{high:02x}:{low:02x} {address}'


def _external_ids(address):
    """What Neutron writes into NB, and ovn-northd copies to SB, a dict."""
    return {'neutron:cidrs': f'{address}/16'}
