# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.
"""NB content as Neutron's OVN driver writes it.

Names, external_ids and options are those of Neutron's ML2/OVN driver; the
gateway is scheduled with Gateway_Chassis rows (up to 2026.1) or with one
HA_Chassis_Group per router (2026.2 and later).
"""

import dataclasses
import ipaddress
import itertools
import uuid

from lab import northbound
from lab import plan

insert = northbound.insert
NB_TABLES = ('Logical_Switch', 'Logical_Switch_Port', 'Logical_Router',
             'Logical_Router_Port', 'NAT', 'Gateway_Chassis', 'HA_Chassis',
             'HA_Chassis_Group', 'Logical_Router_Static_Route',
             'Static_MAC_Binding', 'Load_Balancer', 'Load_Balancer_Group',
             'NB_Global')
SB_TABLES = ('Port_Binding', 'Chassis', 'Datapath_Binding')
GATEWAY_CHASSIS = 'gateway_chassis'
HA_CHASSIS_GROUP = 'ha_chassis_group'


@dataclasses.dataclass
class Network:
    """A network: its UUID in Neutron, and its address range."""

    uuid: str
    name: str
    cidr: object

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

    @property
    def row_name(self):
        """Name of the Logical_Router."""
        return 'neutron-' + self.uuid


@dataclasses.dataclass
class Port:
    """Port of a virtual machine."""

    uuid: str
    mac: str
    address: str
    network: Network
    router: Router


@dataclasses.dataclass
class FloatingIp:
    """A floating IP; its row in NB is a NAT of type dnat_and_snat."""

    uuid: str
    address: str
    router: Router
    logical_ip: str


class Neutron:
    """Writes networks, routers, ports and floating IPs.

    :param nb: northbound.Database of NB
    :param sb: northbound.Database of SB
    :param scheduler: GATEWAY_CHASSIS or HA_CHASSIS_GROUP
    """

    def __init__(self, nb, sb, scheduler=GATEWAY_CHASSIS):
        self.nb = nb
        self.sb = sb
        self.scheduler = scheduler
        self.provider = None
        self._macs = itertools.count(1)
        self._tenants = itertools.count(1)
        self._pool = (str(ip) for ip in itertools.islice(
            plan.PROVIDER.hosts(), 9, 253))

    # -- networks ---------------------------------------------------------

    def add_provider_network(self):
        """The flat, gatewayless provider network on physnet1."""
        network = Network(_new(), 'public', plan.PROVIDER)

        def write(txn, tables):
            switch = self._switch(txn, tables, network)
            localnet = insert(
                txn, tables, 'Logical_Switch_Port',
                name='provnet-' + _new(), type='localnet',
                addresses=['unknown'],
                options={'network_name': plan.PHYSICAL_NETWORK,
                         'mcast_flood': 'false',
                         'mcast_flood_reports': 'true',
                         'localnet_learn_fdb': 'false'})
            switch.addvalue('ports', localnet.uuid)

        self.nb.transact(write)
        self.provider = network
        return network

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

    def add_router(self, name, priorities, snat=True, address=None):
        """A router on the provider network with a tenant network.

        :param priorities: dict of node name to gateway priority
        :param snat: whether machines without floating IP reach the outside
        :param address: gateway address, the next free one by default
        :returns: :class:`Router`
        """
        number = next(self._tenants)
        internal = Network(_new(), f'tenant-{number:d}',
                           ipaddress.ip_network(f'192.168.{number:d}.0/24'))
        gw_port = _new()
        router = Router(_new(), name, address or self.allocate(),
                        'lrp-' + gw_port, self._mac(), internal)

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
            networks=[f'{router.address}/{plan.PROVIDER.prefixlen:d}'],
            external_ids={
                'neutron:network_name': self.provider.switch,
                'neutron:router_name': router.uuid,
                'neutron:is_ext_gw': 'True',
                'neutron:revision_number': '3',
                'neutron:subnet_ids': _new()})
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
                'neutron:network_name': self.provider.switch,
                'neutron:cidrs':
                    f'{router.address}/{plan.PROVIDER.prefixlen:d}',
                'neutron:port_name': '', 'neutron:project_id': '',
                'neutron:revision_number': '4',
                'neutron:security_group_ids': ''})
        self._switch_row(tables, self.provider).addvalue('ports', port.uuid)

    def _schedule(self, txn, tables, router, lrp, priorities):
        if self.scheduler == GATEWAY_CHASSIS:
            rows = [insert(txn, tables, 'Gateway_Chassis',
                           name=f'{router.lrp}_{plan.system_id(node)}',
                           chassis_name=plan.system_id(node),
                           priority=priority)
                    for node, priority in priorities.items()]
            lrp.gateway_chassis = [r.uuid for r in rows]
            return
        rows = [insert(txn, tables, 'HA_Chassis',
                       chassis_name=plan.system_id(node), priority=priority,
                       external_ids={'neutron:router_id': router.uuid})
                for node, priority in priorities.items()]
        group = insert(txn, tables, 'HA_Chassis_Group',
                       name=router.row_name,
                       external_ids={'neutron:router_id': router.uuid,
                                     'neutron:availability_zone_hints': ''})
        group.ha_chassis = [r.uuid for r in rows]
        lrp.ha_chassis_group = group.uuid

    def _interface(self, txn, tables, router, row):
        """Write the tenant network, and the router's port in it."""
        network = router.internal
        port_id, mac = _new(), self._mac()
        address = str(next(network.cidr.hosts()))
        switch = self._switch(txn, tables, network)
        lrp = insert(
            txn, tables, 'Logical_Router_Port', name='lrp-' + port_id,
            mac=mac, networks=[f'{address}/24'],
            options={'gateway_mtu': str(plan.TENANT_MTU)},
            external_ids={'neutron:network_name': network.switch,
                          'neutron:router_name': router.uuid,
                          'neutron:revision_number': '2',
                          'neutron:subnet_ids': _new()})
        row.addvalue('ports', lrp.uuid)
        port = insert(
            txn, tables, 'Logical_Switch_Port', name=port_id, type='router',
            addresses=['router'], enabled=True,
            options={'router-port': 'lrp-' + port_id},
            external_ids={
                'neutron:device_owner': 'network:router_interface',
                'neutron:device_id': router.uuid,
                'neutron:network_name': network.switch,
                'neutron:cidrs': f'{address}/24'})
        switch.addvalue('ports', port.uuid)

    def remove_router(self, router):
        """Delete a router, its gateway port, network and group."""
        def write(_txn, tables):
            _one(tables, 'Logical_Router', name=router.row_name).delete()
            _one(tables, 'Logical_Switch',
                 name=router.internal.switch).delete()
            port = _one(tables, 'Logical_Switch_Port',
                        name=router.lrp.removeprefix('lrp-'))
            self._switch_row(tables, self.provider).delvalue('ports', port)
            port.delete()
            for row in list(tables['HA_Chassis_Group'].rows.values()):
                if row.name == router.row_name:
                    row.delete()

        self.nb.transact(write)

    def set_priorities(self, router, priorities):
        """Change gateway priorities.

        :param priorities: dict of node name to priority
        """
        wanted = {plan.system_id(n): p for n, p in priorities.items()}

        def write(_txn, tables):
            lrp = _one(tables, 'Logical_Router_Port', name=router.lrp)
            rows = list(lrp.gateway_chassis)
            for group in lrp.ha_chassis_group:
                rows += group.ha_chassis
            for row in rows:
                if row.chassis_name in wanted:
                    row.priority = wanted[row.chassis_name]

        self.nb.transact(write)

    def priorities(self, router):
        """Gateway priorities: dict of node name to int."""
        return self._candidates(router, lambda row: row.priority)

    def marks(self, router):
        """external_ids of its gateways' rows: dict of node name to dict."""
        return self._candidates(router, lambda row: dict(row.external_ids))

    def _candidates(self, router, read):
        names = {plan.system_id(name): name for name in plan.HOSTS}
        with self.nb.connection.lock:
            lrp = _one(self.nb.idl.tables, 'Logical_Router_Port',
                       name=router.lrp)
            rows = list(lrp.gateway_chassis)
            for group in lrp.ha_chassis_group:
                rows += group.ha_chassis
            return {names[row.chassis_name]: read(row) for row in rows}

    def owner(self, router):
        """Host name of the chassis with the gateway, '' when none."""
        row = self.sb.find('Port_Binding', logical_port='cr-' + router.lrp)
        for chassis in row.chassis if row else ():
            return chassis.hostname
        return ''

    # -- machines and floating IPs ----------------------------------------

    def add_port(self, router, host):
        """The port of a virtual machine on a compute node."""
        network = router.internal
        with self.nb.connection.lock:
            used = len(_one(self.nb.idl.tables, 'Logical_Switch',
                            name=network.switch).ports)
        address = str(network.cidr[9 + used])
        port = Port(_new(), self._mac(), address, network, router)

        def write(txn, tables):
            row = insert(
                txn, tables, 'Logical_Switch_Port', name=port.uuid,
                addresses=[f'{port.mac} {port.address}'],
                port_security=[f'{port.mac} {port.address}'],
                enabled=True, options={'requested-chassis': host,
                                       'mcast_flood_reports': 'true'},
                external_ids={
                    'neutron:device_owner': 'compute:nova',
                    'neutron:device_id': _new(),
                    'neutron:network_name': network.switch,
                    'neutron:cidrs': f'{port.address}/24',
                    'neutron:port_name': '',
                    'neutron:revision_number': '4',
                    'neutron:security_group_ids': ''})
            self._switch_row(tables, network).addvalue('ports', row.uuid)

        self.nb.transact(write)
        return port

    def add_fips(self, router, targets):
        """Floating IPs, all in one transaction.

        :param targets: list of (address or None, Port or logical address)
        :returns: list of :class:`FloatingIp`
        """
        fips = []

        def write(txn, tables):
            row = _one(tables, 'Logical_Router', name=router.row_name)
            for address, port in targets:
                fip, nat = self._nat(txn, tables, router, address, port)
                row.addvalue('nat', nat.uuid)
                fips.append(fip)

        # A transaction may be built several times: forget earlier rounds.
        self.nb.transact(
            lambda txn, tables: (fips.clear(), write(txn, tables)))
        return fips

    def add_fip(self, router, port, address=None):
        """One floating IP for a machine's port."""
        return self.add_fips(router, [(address or self.allocate(), port)])[0]

    def _nat(self, txn, tables, router, address, port):
        is_port = isinstance(port, Port)
        logical = port.address if is_port else port
        fip = FloatingIp(_new(), address, router, logical)
        ids = {'neutron:fip_id': fip.uuid,
               'neutron:fip_external_mac': self._mac(),
               'neutron:fip_network_id': self.provider.uuid,
               'neutron:router_name': router.row_name,
               'neutron:revision_number': '2'}
        if is_port:
            ids['neutron:fip_port_id'] = port.uuid
        nat = insert(txn, tables, 'NAT', type='dnat_and_snat',
                     external_ip=address, logical_ip=logical,
                     external_ids=ids, options={'stateless': 'false'})
        if is_port:
            nat.logical_port = port.uuid
        return fip, nat

    def remove_fips(self, router, fips):
        """Delete floating IPs of a router in one transaction."""
        gone = {fip.address for fip in fips}

        def write(_txn, tables):
            row = _one(tables, 'Logical_Router', name=router.row_name)
            for nat in list(row.nat):
                if (nat.type == 'dnat_and_snat' and
                        nat.external_ip in gone):
                    row.delvalue('nat', nat)
                    nat.delete()

        self.nb.transact(write)

    def set_distributed(self, fip, distributed):
        """Make a floating IP distributed, or not.

        The chassis of the machine answers for a distributed floating IP.
        Neutron writes this with enable_distributed_floating_ip.
        """
        def write(_txn, tables):
            nat = _one(tables, 'NAT', external_ip=fip.address)
            nat.external_mac = (nat.external_ids['neutron:fip_external_mac']
                                if distributed else [])

        self.nb.transact(write)

    def add_port_forwarding(self, router, address, number, port, inside,
                            group=False):
        """Forward a TCP port of a floating IP to a port of a machine.

        :param number: port number of the floating IP
        :param port: :class:`Port` of the machine
        :param inside: port number of the machine
        :param group: whether to use a group of load balancers, which Neutron
            does not
        """
        def write(txn, tables):
            row = _one(tables, 'Logical_Router', name=router.row_name)
            fip = _new()
            balancer = insert(
                txn, tables, 'Load_Balancer',
                name=f'pf-floatingip-{fip}-tcp', protocol='tcp',
                vips={f'{address}:{number:d}':
                      f'{port.address}:{inside:d}'},
                external_ids={
                    'neutron:device_owner': 'port_forwarding_plugin',
                    'neutron:fip_id': fip,
                    'neutron:router_name': router.row_name,
                    'neutron:revision_number': '2'})
            if not group:
                row.addvalue('load_balancer', balancer.uuid)
                return
            members = insert(txn, tables, 'Load_Balancer_Group',
                             name='group-' + fip)
            members.load_balancer = [balancer.uuid]
            row.addvalue('load_balancer_group', members.uuid)

        self.nb.transact(write)

    def remove_port_forwarding(self, router):
        """Delete all load balancers of a router."""
        def write(_txn, tables):
            row = _one(tables, 'Logical_Router', name=router.row_name)
            for group in list(row.load_balancer_group):
                row.delvalue('load_balancer_group', group)
                for balancer in group.load_balancer:
                    balancer.delete()
                group.delete()
            for balancer in list(row.load_balancer):
                row.delvalue('load_balancer', balancer)
                balancer.delete()

        self.nb.transact(write)

    # -- small things -----------------------------------------------------

    def allocate(self):
        """The next free address of the provider network."""
        return next(self._pool)

    def _mac(self):
        high, low = divmod(next(self._macs), 256)
        return f'fa:16:3e:00:{high:02x}:{low:02x}'

    def _switch_row(self, tables, network):
        return _one(tables, 'Logical_Switch', name=network.switch)


def _new():
    return str(uuid.uuid4())


def _one(tables, table, **columns):
    for row in tables[table].rows.values():
        if all(getattr(row, k) == v for k, v in columns.items()):
            return row
    raise KeyError(f'{table}: no row with {columns}')
