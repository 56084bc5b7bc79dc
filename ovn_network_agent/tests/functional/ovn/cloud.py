# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A cloud in NB and SB, its rows as Neutron and ovn-northd write them."""

import uuid

from ovn_network_agent import ownership
from ovn_network_agent.tests.functional.ovn import cloud_balancers
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

CHASSIS = '11111111-2222-4333-8444-555555555555'
OTHER = '99999999-2222-4333-8444-555555555555'
HOSTNAME = 'gw1.example.org'
OTHER_HOSTNAME = 'gw2.example.org'
OWNER = ownership.Owner(HOSTNAME, CHASSIS)
OTHER_OWNER = ownership.Owner(OTHER_HOSTNAME, OTHER)
# A device that every host has stands for the provider bridge.
BRIDGE = 'lo'


def wiring(external_ids, bridge=BRIDGE):
    """The operations for the local database of a node.

    :param external_ids: dict, of the row Open_vSwitch
    """
    return (
        ovsdb.insert('Interface', 'iface', name='patch-provnet-1',
                     type='patch', ofport=3),
        ovsdb.insert('Port', 'port', name='patch-provnet-1',
                     interfaces=['named-uuid', 'iface'],
                     external_ids=ovsdb.ovsdb_dict(
                         {'ovn-localnet-port': 'provnet-1'})),
        ovsdb.insert('Bridge', 'bridge', name=bridge,
                     ports=['named-uuid', 'port']),
        ovsdb.insert('Open_vSwitch', bridges=['named-uuid', 'bridge'],
                     external_ids=ovsdb.ovsdb_dict(external_ids)))


class Cloud(cloud_balancers.Balancers):
    """Writes rows; every method is one transaction for each database.

    :param nb: :class:`ovsdb.Server`, likewise sb and ovs
    :param bridge: the provider bridge of this node
    """

    def __init__(self, nb, sb, ovs, bridge=BRIDGE):
        self.nb, self.sb, self.ovs = nb, sb, ovs
        self._bridge = bridge
        self._tunnel_key = 100
        self.ports = {}

    def fill(self):
        """Two chassis, a provider network, and this node's wiring."""
        self.fill_sb()
        self.fill_ovs()

    def fill_sb(self):
        """Two chassis and a provider network."""
        encaps = [ovsdb.insert(
            'Encap', f'encap{n:d}', type='geneve', ip=f'192.0.2.{n:d}',
            chassis_name=name) for n, name in ((1, CHASSIS), (2, OTHER))]
        self.sb.transact(
            *encaps,
            ovsdb.insert('Chassis', name=CHASSIS, hostname=HOSTNAME,
                         encaps=['named-uuid', 'encap1']),
            ovsdb.insert('Chassis', name=OTHER, hostname=OTHER_HOSTNAME,
                         encaps=['named-uuid', 'encap2']))
        self.network = self.add_network()
        self._add_binding(self.network, 'provnet-1', 'localnet',
                          options=ovsdb.ovsdb_map(network_name='physnet1'))

    def fill_ovs(self):
        """This node's wiring."""
        self.ovs.transact(*wiring({
            'system-id': CHASSIS, 'hostname': 'gw1',
            'ovn-bridge-mappings': f'physnet1:{self._bridge}'}, self._bridge))

    # -- routers ----------------------------------------------------------

    def add_router(self, name, networks=('198.51.100.1/24',), chassis=None,
                   group='Gateway_Chassis', mac='fa:16:3e:00:00:01',
                   port=None, network=None, bind=True):
        """A router with a gateway port.

        :param name: short name; the row is called neutron-<name>
        :param chassis: name of the chassis that has the gateway, or None
        :param port: short name of the port, default that of the router
        :param bind: whether to write what ovn-northd makes of the port
        :returns: UUID of the router, text
        """
        lrp = f'lrp-{port or name}'
        operations, fields = self._group(lrp, group)
        result = self.nb.transact(
            *operations,
            ovsdb.insert('Logical_Router_Port', 'lrp', name=lrp, mac=mac,
                         networks=ovsdb.ovsdb_set(networks),
                         external_ids=ovsdb.ovsdb_dict({
                             'neutron:router_name': name}), **fields),
            ovsdb.insert('Logical_Router', name=f'neutron-{name}',
                         ports=['named-uuid', 'lrp'],
                         external_ids=ovsdb.ovsdb_dict({
                             'neutron:router_name': name,
                             'neutron:gw_port_id': lrp[4:]})))
        if bind:
            self._bind(lrp, chassis, network or self.network)
        return result[-1]['uuid'][1]

    def add_port(self, router, port, networks, chassis=None,
                 mac='fa:16:3e:00:00:02', network=None):
        """A further gateway port of a router."""
        lrp = f'lrp-{port}'
        operations, fields = self._group(lrp, 'Gateway_Chassis')
        self.nb.transact(
            *operations,
            ovsdb.insert('Logical_Router_Port', 'lrp', name=lrp, mac=mac,
                         networks=ovsdb.ovsdb_set(networks), **fields),
            ovsdb.mutate('Logical_Router', {'name': 'neutron-' + router},
                         'ports', 'insert', ['named-uuid', 'lrp']))
        self._bind(lrp, chassis, network or self.network)

    def _group(self, lrp, table):
        if table == 'HA_Chassis_Group':
            members = [ovsdb.insert('HA_Chassis', f'ha{n:d}',
                                    chassis_name=name, priority=n)
                       for n, name in ((2, CHASSIS), (1, OTHER))]
            group = ovsdb.insert(
                'HA_Chassis_Group', 'hag', name='neutron-' + lrp,
                ha_chassis=ovsdb.ovsdb_set(
                    [['named-uuid', 'ha1'], ['named-uuid', 'ha2']]))
            return [*members, group], {
                'ha_chassis_group': ['named-uuid', 'hag']}
        members = [ovsdb.insert('Gateway_Chassis', f'gc{n:d}',
                                name=f'{lrp}_{name}',
                                chassis_name=name, priority=n)
                   for n, name in ((2, CHASSIS), (1, OTHER))]
        return members, {'gateway_chassis': ovsdb.ovsdb_set(
            [['named-uuid', 'gc1'], ['named-uuid', 'gc2']])}

    def _bind(self, lrp, chassis, network):
        """What ovn-northd makes of a gateway port."""
        datapath = self.add_network()
        lsp = str(uuid.uuid4())
        self.ports[lrp] = lsp
        self._add_binding(datapath, 'cr-' + lrp, 'chassisredirect',
                          options=ovsdb.ovsdb_dict(
                              {'distributed-port': lrp}))
        self._add_binding(datapath, lrp, 'patch',
                          options=ovsdb.ovsdb_dict({'peer': lsp}))
        self._add_binding(network, lsp, 'patch',
                          options=ovsdb.ovsdb_dict({'peer': lrp}),
                          external_ids=ovsdb.ovsdb_dict({
                              'neutron:device_owner':
                                  'network:router_gateway'}))
        if chassis:
            self.move(lrp, chassis)

    def add_tenant(self, router, name, *networks, scopes=(), bind=True):
        """A network of a tenant, and the port of a router there.

        :param name: short name of the network
        :param networks: 'address/len', of the router port
        :param scopes: (family, UUID of an address scope)
        :param bind: whether to write what ovn-northd makes of the port
        :returns: UUID of its datapath, as the protocol has it
        """
        lrp = f'lrp-{router}-{name}'
        self.nb.transact(
            ovsdb.insert('Logical_Router_Port', 'lrp', name=lrp,
                         mac='fa:16:3e:00:00:03',
                         networks=ovsdb.ovsdb_set(networks)),
            ovsdb.mutate('Logical_Router', {'name': 'neutron-' + router},
                         'ports', 'insert', ['named-uuid', 'lrp']))
        datapath = self.add_network()
        self.ports[lrp] = str(uuid.uuid4())
        self.add_switch(name, datapath, [lrp])
        if bind:
            self._add_binding(
                datapath, self.ports[lrp], 'patch',
                options=ovsdb.ovsdb_dict({'peer': lrp}),
                external_ids=ovsdb.ovsdb_dict({
                    f'neutron:subnet_pool_addr_scope{family}': scope
                    for family, scope in scopes}))
        return datapath

    def remove_tenant(self, router, name):
        """The port of a router in the network of a tenant, in NB and SB."""
        lrp = f'lrp-{router}-{name}'
        row, = self.nb.rows('Logical_Router_Port', '_uuid',
                            where=ovsdb.clauses({'name': lrp}))
        self.nb.transact(ovsdb.mutate(
            'Logical_Router', {'name': 'neutron-' + router}, 'ports',
            'delete', row['_uuid']))
        self.sb.transact(ovsdb.delete(
            'Port_Binding', {'logical_port': self.ports.pop(lrp)}))

    def remove_router(self, name):
        """The router with all it has, in NB and then in SB."""
        lrp = 'lrp-' + name
        self.nb.transact(ovsdb.delete('Logical_Router',
                                      {'name': 'neutron-' + name}))
        lsp = self.ports.pop(lrp)
        self.sb.transact(*(
            ovsdb.delete('Port_Binding', {'logical_port': port})
            for port in (lrp, 'cr-' + lrp, lsp)),
            ovsdb.delete('HA_Chassis_Group', {'name': lrp}))

    def apply_order(self, lrp, priorities):
        """ovn-northd copies the order of a gateway port to SB, in new rows.

        :param priorities: dict of name of a present chassis to its priority
        """
        uuids = {row['name']: row['_uuid'] for row in self.sb.rows(
            'Chassis', '_uuid', 'name')}
        self.sb.transact(
            ovsdb.delete('HA_Chassis_Group', {'name': lrp}),
            *(ovsdb.insert('HA_Chassis', f'member{number}',
                           chassis=uuids[name], priority=priority)
              for number, (name, priority) in enumerate(priorities.items())),
            ovsdb.insert(
                'HA_Chassis_Group', 'order', name=lrp,
                ha_chassis=ovsdb.ovsdb_set(
                    [['named-uuid', f'member{number}']
                     for number in range(len(priorities))])),
            ovsdb.update('Port_Binding', {'logical_port': 'cr-' + lrp},
                         ha_chassis_group=['named-uuid', 'order']))

    def move(self, lrp, chassis):
        """ovn-controller claims a gateway port, or lets it go (None)."""
        column = ovsdb.ovsdb_set(())
        if chassis:
            column = self.sb.rows('Chassis', '_uuid', where=ovsdb.clauses(
                {'name': chassis}))[0]['_uuid']
        self.sb.transact(ovsdb.update(
            'Port_Binding', {'logical_port': 'cr-' + lrp}, chassis=column))

    def add_machine(self, port, chassis, type='', up=True, network=None,
                    mac=(), **row):
        """The port of a virtual machine that a chassis has claimed.

        :param network: see :meth:`add_network`, default one of its own
        :param mac: texts of the column
        """
        self._add_binding(network or self.add_network(), port, type, up=up,
                          chassis=self._chassis(chassis),
                          mac=ovsdb.ovsdb_set(mac), **row)

    def move_machine(self, port, chassis, **row):
        """A chassis claims the port of a machine, or lets it go (None)."""
        self.sb.transact(ovsdb.update(
            'Port_Binding', {'logical_port': port},
            chassis=self._chassis(chassis), **row))

    def _chassis(self, name):
        if not name:
            return ovsdb.ovsdb_set(())
        return self.sb.rows('Chassis', '_uuid', where=ovsdb.clauses(
            {'name': name}))[0]['_uuid']

    def add_nat(self, router, external_ip, logical_ip='10.0.0.5',
                type='dnat_and_snat', **row):
        """A NAT row of a router."""
        self.nb.transact(
            ovsdb.insert('NAT', 'nat', type=type, external_ip=external_ip,
                         logical_ip=logical_ip, external_ids=ovsdb.ovsdb_dict(
                             {'neutron:fip_id': str(uuid.uuid4())}), **row),
            ovsdb.mutate('Logical_Router', {'name': 'neutron-' + router},
                         'nat', 'insert', ['named-uuid', 'nat']))

    def add_nats(self, router, addresses):
        """NAT rows of a router in one transaction.

        :param addresses: list of external addresses
        """
        self.nb.transact(
            *(ovsdb.insert('NAT', f'nat{n}', type='dnat_and_snat',
                           external_ip=address, logical_ip='10.0.0.5')
              for n, address in enumerate(addresses)),
            ovsdb.mutate('Logical_Router', {'name': 'neutron-' + router},
                         'nat', 'insert', ovsdb.ovsdb_set(
                             ['named-uuid', f'nat{n}']
                             for n in range(len(addresses)))))

    def remove_nat(self, router, external_ip):
        """Take a NAT row from its router; the server collects it."""
        for row in self.nb.rows('NAT', '_uuid', where=ovsdb.clauses(
                {'external_ip': external_ip})):
            self.nb.transact(ovsdb.mutate(
                'Logical_Router', {'name': 'neutron-' + router}, 'nat',
                'delete', row['_uuid']))

    def change_nat(self, external_ip, /, **row):
        """Change NAT rows in place."""
        self.nb.transact(ovsdb.update('NAT', {'external_ip': external_ip},
                                      **row))

    def add_static_route(self, router, prefix='0.0.0.0/0',
                         nexthop='198.51.100.9', external_ids=None, **row):
        """A static route, as somebody else makes it."""
        self.nb.transact(
            ovsdb.insert('Logical_Router_Static_Route', 'route',
                         ip_prefix=prefix, nexthop=nexthop,
                         external_ids=ovsdb.ovsdb_dict(external_ids or {}),
                         **row),
            ovsdb.mutate('Logical_Router', {'name': 'neutron-' + router},
                         'static_routes', 'insert', ['named-uuid', 'route']))

    def set_nat_addresses(self, lrp, *texts):
        """What ovn-northd offers for gratuitous ARP on the patch port."""
        self.sb.transact(ovsdb.update(
            'Port_Binding', {'logical_port': self.ports[lrp]},
            nat_addresses=ovsdb.ovsdb_set(texts)))

    def add_network(self):
        """A network without a port, such as that of a tenant.

        :returns: UUID of its datapath, as the protocol has it
        """
        return self.sb.transact(ovsdb.insert(
            'Datapath_Binding', tunnel_key=self._key()))[0]['uuid']

    def add_switch(self, name='public', network=None, lrps=()):
        """The row of a network in NB, which ovn-northd names in SB.

        :param name: short name; the row is called neutron-<name>
        :param network: see :meth:`add_network`, default the provider network
        :param lrps: names of its router ports
        :returns: UUID of the row, text
        """
        *_ports, row = self.nb.transact(
            *(ovsdb.insert('Logical_Switch_Port', f'port{number}',
                           name=self.ports[lrp], type='router',
                           options=ovsdb.ovsdb_dict({'router-port': lrp}))
              for number, lrp in enumerate(lrps)),
            ovsdb.insert(
                'Logical_Switch', name=f'neutron-{name}',
                ports=ovsdb.ovsdb_set([['named-uuid', f'port{number}']
                                       for number in range(len(lrps))]),
                external_ids=ovsdb.ovsdb_dict(
                    {'neutron:network_name': name})))
        uuid_text = row['uuid'][1]
        self.sb.transact(ovsdb.update(
            'Datapath_Binding', {'_uuid': network or self.network},
            external_ids=ovsdb.ovsdb_dict({'logical-switch': uuid_text})))
        return uuid_text

    def add_ports(self, network, **addresses):
        """Ports of machines in NB.

        :param network: short name of the network, see :meth:`add_switch`
        :param addresses: by name of the port, its addresses; a dict has
            columns in place of these
        :returns: dict of the names to UUIDs, text
        """
        made = self.nb.transact(
            *(ovsdb.insert('Logical_Switch_Port', f'port{number}', name=name,
                           **(found if isinstance(found, dict) else {
                               'addresses': ' '.join(
                                   ['fa:16:3e:00:01:00', *found])}))
              for number, (name, found) in enumerate(addresses.items())),
            ovsdb.mutate('Logical_Switch', {'name': 'neutron-' + network},
                         'ports', 'insert', ovsdb.ovsdb_set(
                             ['named-uuid', f'port{number}']
                             for number in range(len(addresses)))))
        return {name: row['uuid'][1]
                for name, row in zip(addresses, made, strict=False)}

    def remove_port(self, network, name):
        """Take the port of a machine out of its network."""
        row, = self.nb.rows('Logical_Switch_Port', '_uuid',
                            where=ovsdb.clauses({'name': name}))
        self.nb.transact(ovsdb.mutate(
            'Logical_Switch', {'name': 'neutron-' + network}, 'ports',
            'delete', row['_uuid']))

    def say(self, table, where, /, **words):
        """Put words into a map of rows, or take them out (None).

        :param where: dict of column to value
        :param words: column=dict of key to text or None
        """
        self.nb.transact(*(
            operation for column, entries in words.items()
            for key, text in entries.items()
            for operation in (
                ovsdb.mutate(table, where, column, 'delete',
                             ovsdb.ovsdb_set([key])),
                *([] if text is None else [ovsdb.mutate(
                    table, where, column, 'insert',
                    ovsdb.ovsdb_dict({key: text}))]))))

    def _add_binding(self, datapath, logical_port, type, **row):
        self.sb.transact(ovsdb.insert(
            'Port_Binding', logical_port=logical_port, type=type,
            datapath=datapath, tunnel_key=self._key(), **row))

    def _key(self):
        self._tunnel_key += 1
        return self._tunnel_key
