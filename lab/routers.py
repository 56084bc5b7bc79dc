# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Networks and routers, as Neutron's OVN driver writes them.

The gateway is scheduled with Gateway_Chassis rows (up to 2026.1) or with one
HA_Chassis_Group per router (2026.2 and later).
"""

import dataclasses
import itertools
import uuid

from lab import northbound
from lab import plan

insert = northbound.insert
GATEWAY_CHASSIS = 'gateway_chassis'
HA_CHASSIS_GROUP = 'ha_chassis_group'


@dataclasses.dataclass
class Network:
    """A network: its UUID in Neutron, and its address range."""

    uuid: str
    name: str
    cidr: object
    # (physical network, VLAN tag or 0) of a provider network
    segment: tuple = ()
    pool: object = None  # iterator of the free addresses of a provider network

    @property
    def gateway(self):
        """First address of the network, that of the router: text."""
        return str(next(self.cidr.hosts()))

    @property
    def switch(self):
        """Name of the Logical_Switch."""
        return 'neutron-' + self.uuid


@dataclasses.dataclass
class Router:
    """A router with a gateway."""

    uuid: str
    name: str
    address: str
    lrp: str
    mac: str
    internal: Network
    provider: Network

    @property
    def row_name(self):
        """Name of the Logical_Router."""
        return 'neutron-' + self.uuid


class Routers:
    """Writes networks and routers."""

    def __init__(self, nb, sb, scheduler=GATEWAY_CHASSIS):
        self.nb = nb
        self.sb = sb
        self.scheduler = scheduler
        self.provider = None
        self._macs = itertools.count(1)
        self._tenants = itertools.count(1)

    # -- networks ---------------------------------------------------------

    def add_provider_network(self, name='public', cidr=plan.PROVIDER,
                             physical_network=plan.PHYSICAL_NETWORK, vlan=0):
        """A gatewayless provider network; the first one is the default.

        :param vlan: VLAN tag, 0 for a flat network
        """
        network = Network(
            new_uuid(), name, cidr, (physical_network, vlan),
            (str(ip) for ip in itertools.islice(cidr.hosts(), 9, 253)))

        def write(txn, tables):
            self._localnet(txn, tables, self._switch(txn, tables, network),
                           physical_network, vlan)

        self.nb.transact(write)
        self.provider = self.provider or network
        return network

    def _localnet(self, txn, tables, switch, physical_network, vlan):
        """Write the port by which a network is on a physical network."""
        port = insert(
            txn, tables, 'Logical_Switch_Port',
            name='provnet-' + new_uuid(), type='localnet',
            addresses=['unknown'],
            tag=[vlan] if vlan else [],
            options={'network_name': physical_network,
                     'mcast_flood': 'false',
                     'mcast_flood_reports': 'true',
                     'localnet_learn_fdb': 'false'})
        switch.addvalue('ports', port.uuid)

    def set_localnet(self, network, **options):
        """Change the options of the localnet port of a provider network."""
        def write(_txn, tables):
            for port in self._switch_row(tables, network).ports:
                if port.type == 'localnet':
                    port.options = {**port.options, **options}

        self.nb.transact(write)

    def _switch(self, txn, tables, network):
        return insert(
            txn, tables, 'Logical_Switch', name=network.switch,
            external_ids={'neutron:network_name': network.name,
                          'neutron:mtu': '1500',
                          'neutron:revision_number': '2',
                          'neutron:availability_zone_hints': ''},
            other_config={'mcast_snoop': 'false',
                          'mcast_flood_unregistered': 'false',
                          'vlan-passthru': 'false'})

    # -- routers ----------------------------------------------------------

    def add_router(self, name, priorities: dict[str, int], snat: bool = True,
                   address=None, provider=None):
        """A router on a provider network with a tenant network.

        The tenant network has the family of the provider network.
        """
        provider = provider or self.provider
        number = next(self._tenants)
        internal = Network(new_uuid(), f'tenant-{number:d}',
                           plan.tenant(number, provider.cidr.version))
        gw_port = new_uuid()
        router = Router(new_uuid(), name, address or self.allocate(provider),
                        'lrp-' + gw_port, self._mac(), internal, provider)

        def write(txn, tables):
            row = self._router_row(txn, tables, router, gw_port)
            self._gateway(txn, tables, router, gw_port, row, priorities)
            self._interface(txn, tables, router, row)
            if snat:
                nat = insert(txn, tables, 'NAT', type='snat',
                             external_ip=router.address,
                             logical_ip=str(internal.cidr))
                row.addvalue('nat', nat.uuid)

        self.nb.transact(write)
        return router

    def add_gateway(self, router, provider, priorities: dict) -> Router:
        """A further gateway port of a router, in another provider network."""
        gw_port = new_uuid()
        made = dataclasses.replace(
            router, address=self.allocate(provider), lrp='lrp-' + gw_port,
            mac=self._mac(), provider=provider)
        self.nb.transact(lambda txn, tables: self._gateway(
            txn, tables, made, gw_port, find_one(
                tables, 'Logical_Router', name=router.row_name), priorities))
        return made

    def _router_row(self, txn, tables, router, gw_port):
        return insert(
            txn, tables, 'Logical_Router', name=router.row_name,
            enabled=True,
            external_ids={'neutron:router_name': router.name,
                          'neutron:gw_port_id': gw_port,
                          'neutron:revision_number': '3',
                          'neutron:availability_zone_hints': ''},
            options={'always_learn_from_arp_request': 'false',
                     'dynamic_neigh_routers': 'true'})

    def _gateway(self, txn, tables, router, gw_port, row, priorities):
        lrp = insert(
            txn, tables, 'Logical_Router_Port', name=router.lrp,
            mac=router.mac,
            networks=[f'{router.address}/{router.provider.cidr.prefixlen:d}'],
            external_ids={
                'neutron:network_name': router.provider.switch,
                'neutron:router_name': router.uuid,
                'neutron:is_ext_gw': 'True',
                'neutron:revision_number': '3',
                'neutron:subnet_ids': new_uuid()})
        self._schedule(txn, tables, router, lrp, priorities)
        row.addvalue('ports', lrp.uuid)
        port = insert(
            txn, tables, 'Logical_Switch_Port', name=gw_port,
            type='router', addresses=['router'], enabled=True,
            options={'router-port': router.lrp, 'nat-addresses': 'router',
                     'exclude-lb-vips-from-garp': 'true'},
            external_ids={
                'neutron:device_owner': 'network:router_gateway',
                'neutron:device_id': router.uuid,
                'neutron:network_name': router.provider.switch,
                'neutron:cidrs':
                    f'{router.address}/{router.provider.cidr.prefixlen:d}',
                'neutron:port_name': '', 'neutron:project_id': '',
                'neutron:revision_number': '4',
                'neutron:security_group_ids': ''})
        self._switch_row(tables, router.provider).addvalue('ports',
                                                           port.uuid)

    def _schedule(self, txn, tables, router, lrp, priorities):
        if self.scheduler == GATEWAY_CHASSIS:
            rows = [insert(txn, tables, 'Gateway_Chassis',
                           name=f'{router.lrp}_{plan.system_id(node)}',
                           chassis_name=plan.system_id(node),
                           priority=priority)
                    for node, priority in priorities.items()]
            lrp.gateway_chassis = [r.uuid for r in rows]
            return
        lrp.ha_chassis_group = self._group(
            txn, tables, router.row_name, priorities,
            {'neutron:router_id': router.uuid}).uuid

    def _group(self, txn, tables, name, priorities: dict[str, int], ids=None):
        rows = [insert(txn, tables, 'HA_Chassis',
                       chassis_name=plan.system_id(node), priority=priority,
                       external_ids=ids or {})
                for node, priority in priorities.items()]
        group = insert(txn, tables, 'HA_Chassis_Group', name=name,
                       external_ids={'neutron:availability_zone_hints': '',
                                     **(ids or {})})
        group.ha_chassis = [r.uuid for r in rows]
        return group

    def _interface(self, txn, tables, router, row):
        """Write the tenant network, and the router's port in it."""
        network = router.internal
        port_id, mac = new_uuid(), self._mac()
        address = f'{network.gateway}/{network.cidr.prefixlen:d}'
        switch = self._switch(txn, tables, network)
        lrp = insert(
            txn, tables, 'Logical_Router_Port', name='lrp-' + port_id,
            mac=mac, networks=[address],
            options={'gateway_mtu': str(plan.TENANT_MTU)},
            external_ids={'neutron:network_name': network.switch,
                          'neutron:router_name': router.uuid,
                          'neutron:revision_number': '2',
                          'neutron:subnet_ids': new_uuid()})
        row.addvalue('ports', lrp.uuid)
        port = insert(
            txn, tables, 'Logical_Switch_Port', name=port_id, type='router',
            addresses=['router'], enabled=True,
            options={'router-port': 'lrp-' + port_id},
            external_ids={
                'neutron:device_owner': 'network:router_interface',
                'neutron:device_id': router.uuid,
                'neutron:network_name': network.switch,
                'neutron:cidrs': address})
        switch.addvalue('ports', port.uuid)

    def add_interface(self, router, cidr) -> Router:
        """A further tenant network of a router."""
        made = dataclasses.replace(router, internal=Network(
            new_uuid(), f'tenant-{next(self._tenants):d}', cidr))

        def write(txn, tables):
            self._interface(txn, tables, made, find_one(
                tables, 'Logical_Router', name=router.row_name))

        self.nb.transact(write)
        return made

    def remove_interface(self, router):
        """Delete the tenant network of :meth:`add_interface`."""
        def write(_txn, tables):
            switch = self._switch_row(tables, router.internal)
            row = find_one(tables, 'Logical_Router', name=router.row_name)
            for port in switch.ports:
                if port.type == 'router':
                    row.delvalue('ports', find_one(
                        tables, 'Logical_Router_Port',
                        name=port.options['router-port']))
            switch.delete()

        self.nb.transact(write)

    def add_extra_route(self, router, prefix, nexthop):
        """An extra route of a router, behind a machine of its network."""
        self.nb.transact(lambda txn, tables: find_one(
            tables, 'Logical_Router', name=router.row_name).addvalue(
                'static_routes', insert(
                    txn, tables, 'Logical_Router_Static_Route',
                    ip_prefix=str(prefix), nexthop=nexthop,
                    policy='dst-ip', external_ids={
                        'neutron:is_ext_gw': 'false'}).uuid))

    def remove_extra_route(self, router, prefix):
        """Delete the route of :meth:`add_extra_route`."""
        def write(_txn, tables):
            row = find_one(tables, 'Logical_Router', name=router.row_name)
            row.delvalue('static_routes', find_one(
                tables, 'Logical_Router_Static_Route',
                ip_prefix=str(prefix)))

        self.nb.transact(write)

    def set_address_scope(self, network, scope):
        """Put the subnet of a tenant network into an address scope.

        :param scope: UUID in Neutron, '' for none
        """
        key = f'neutron:subnet_pool_addr_scope{network.cidr.version}'

        def write(_txn, tables):
            for port in self._switch_row(tables, network).ports:
                if port.type == 'router':
                    port.external_ids = {**port.external_ids, key: scope}

        self.nb.transact(write)

    def remove_router(self, router):
        """Delete a router, its gateway port, network and group."""
        def write(_txn, tables):
            # The server refuses to delete a group that a port names, if it
            # looks at the group before it looks at the orphaned port.
            find_one(tables, 'Logical_Router_Port',
                     name=router.lrp).ha_chassis_group = []
            find_one(tables, 'Logical_Router', name=router.row_name).delete()
            find_one(tables, 'Logical_Switch',
                 name=router.internal.switch).delete()
            port = find_one(tables, 'Logical_Switch_Port',
                        name=router.lrp.removeprefix('lrp-'))
            self._switch_row(tables, router.provider).delvalue('ports', port)
            port.delete()
            for row in list(tables['HA_Chassis_Group'].rows.values()):
                if row.name == router.row_name:
                    row.delete()

        self.nb.transact(write)

    def set_priorities(self, router, priorities: dict[str, int]):
        """Change gateway priorities."""
        wanted = {plan.system_id(n): p for n, p in priorities.items()}

        def write(_txn, tables):
            for row in _candidates(tables, router):
                if row.chassis_name in wanted:
                    row.priority = wanted[row.chassis_name]

        self.nb.transact(write)

    def priorities(self, router):
        """Gateway priorities: dict of node name to int."""
        return self._of_candidates(router, lambda row: row.priority)

    def marks(self, router):
        """external_ids of its gateways' rows: dict of node name to dict."""
        return self._of_candidates(router, lambda row: dict(row.external_ids))

    def _of_candidates(self, router, read):
        names = {plan.system_id(name): name for name in plan.HOSTS}
        with self.nb.connection.lock:
            return {names[row.chassis_name]: read(row) for row in
                    _candidates(self.nb.idl.tables, router)}

    def owner(self, router):
        """Name of the node with the gateway, '' when none."""
        row = self.sb.find('Port_Binding', logical_port='cr-' + router.lrp)
        for chassis in row.chassis if row else ():
            return plan.node_of(chassis.name)
        return ''

    # -- small things -----------------------------------------------------

    def allocate(self, network=None):
        """The next free address of a provider network."""
        return next((network or self.provider).pool)

    def _mac(self):
        high, low = divmod(next(self._macs), 256)
        return f'fa:16:3e:00:{high:02x}:{low:02x}'

    def _switch_row(self, tables, network):
        return find_one(tables, 'Logical_Switch', name=network.switch)


def _candidates(tables, router):
    """The rows of the gateways of a router, a list."""
    lrp = find_one(tables, 'Logical_Router_Port', name=router.lrp)
    return [*lrp.gateway_chassis, *(
        row for group in lrp.ha_chassis_group for row in group.ha_chassis)]


def new_uuid():
    """A UUID as Neutron makes it, text."""
    return str(uuid.uuid4())


def find_one(tables, table, **columns):
    """The row with these values; raises KeyError without such a row."""
    for row in tables[table].rows.values():
        if all(getattr(row, k) == v for k, v in columns.items()):
            return row
    raise KeyError(f'{table}: no row with {columns}')
