# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""NB content as Neutron's OVN driver writes it.

Names, external_ids and options are those of Neutron's ML2/OVN driver.
"""

import dataclasses

from lab import northbound
from lab import routers

insert = northbound.insert
NB_TABLES = ('Logical_Switch', 'Logical_Switch_Port', 'Logical_Router',
             'Logical_Router_Port', 'NAT', 'Gateway_Chassis', 'HA_Chassis',
             'HA_Chassis_Group', 'Logical_Router_Static_Route',
             'Logical_Router_Policy', 'Address_Set', 'Static_MAC_Binding',
             'Load_Balancer', 'Load_Balancer_Group', 'DHCP_Options',
             'Load_Balancer_Health_Check', 'NB_Global')
SB_TABLES = ('Port_Binding', 'Chassis', 'Datapath_Binding')
GATEWAY_CHASSIS = routers.GATEWAY_CHASSIS
HA_CHASSIS_GROUP = routers.HA_CHASSIS_GROUP


@dataclasses.dataclass
class Port:
    """Port of a virtual machine."""

    uuid: str
    mac: str
    address: str
    network: routers.Network
    # That of its tenant network, None on a provider network
    router: routers.Router | None


@dataclasses.dataclass
class FloatingIp:
    """A floating IP; its row in NB is a NAT of type dnat_and_snat."""

    uuid: str
    address: str
    router: routers.Router
    logical_ip: str


class Neutron(routers.Routers):
    """Writes networks, routers, ports and floating IPs."""

    def add_port(self, place, host):
        """The port of a virtual machine on a node."""
        router = None if isinstance(place, routers.Network) else place
        network = router.internal if router else place
        address = (self._tenant_address(network) if router else
                   self.allocate(network))
        port = Port(routers.new_uuid(), self._mac(), address, network, router)

        def write(txn, tables):
            row = insert(
                txn, tables, 'Logical_Switch_Port', name=port.uuid,
                addresses=[f'{port.mac} {port.address}'],
                port_security=[f'{port.mac} {port.address}'],
                enabled=True, options={'requested-chassis': host,
                                       'mcast_flood_reports': 'true'},
                external_ids={
                    'neutron:device_owner': 'compute:nova',
                    'neutron:device_id': routers.new_uuid(),
                    'neutron:network_name': network.switch,
                    'neutron:cidrs': (
                        f'{port.address}/{network.cidr.prefixlen:d}'),
                    'neutron:port_name': '',
                    'neutron:revision_number': '4',
                    'neutron:security_group_ids': ''})
            self._switch_row(tables, network).addvalue('ports', row.uuid)

        self.nb.transact(write)
        return port

    def _tenant_address(self, network):
        """The next address for a machine of a tenant network, text."""
        with self.nb.connection.lock:
            used = len(routers.find_one(
                self.nb.idl.tables, 'Logical_Switch',
                name=network.switch).ports)
        return str(network.cidr[9 + used])

    def add_virtual_port(self, address: str, parents: list) -> str:
        """A port whose address several machines may have, one at a time."""
        name, mac = routers.new_uuid(), self._mac()
        network = parents[0].network

        def write(txn, tables):
            row = insert(
                txn, tables, 'Logical_Switch_Port', name=name, type='virtual',
                addresses=[f'{mac} {address}'], enabled=True,
                options={'virtual-ip': address, 'virtual-parents': ','.join(
                    parent.uuid for parent in parents)},
                external_ids={'neutron:cidrs': (
                    f'{address}/{network.cidr.prefixlen:d}')})
            self._switch_row(tables, network).addvalue('ports', row.uuid)
            for parent in parents:
                port = routers.find_one(tables, 'Logical_Switch_Port',
                                        name=parent.uuid)
                port.port_security = [f'{allowed} {address}'
                                      for allowed in port.port_security]

        self.nb.transact(write)
        return name

    def add_subport(self, parent, network, tag):
        """A port of a trunk: another network of a machine, with a VLAN tag."""
        port = Port(routers.new_uuid(), parent.mac, self.allocate(network),
                    network, None)
        text = f'{port.mac} {port.address}'

        def write(txn, tables):
            row = insert(
                txn, tables, 'Logical_Switch_Port', name=port.uuid,
                addresses=[text], port_security=[text], enabled=True,
                parent_name=parent.uuid, tag_request=tag, external_ids={
                    'neutron:device_owner': 'trunk:subport',
                    'neutron:cidrs': (
                        f'{port.address}/{network.cidr.prefixlen:d}')})
            self._switch_row(tables, network).addvalue('ports', row.uuid)

        self.nb.transact(write)
        return port

    def set_addresses(self, port, *addresses, pairs=()):
        """Change the addresses of a machine's port.

        :param pairs: those and the networks of "allowed address pairs"
        """
        def write(_txn, tables):
            row = routers.find_one(tables, 'Logical_Switch_Port',
                                   name=port.uuid)
            row.addresses = [' '.join((port.mac, *addresses))]
            row.port_security = [' '.join((port.mac, *addresses, *pairs))]
            row.setkey('external_ids', 'neutron:cidrs', ' '.join(
                f'{address}/64' if ':' in address else
                f'{address}/{port.network.cidr.prefixlen:d}'
                for address in addresses))

        self.nb.transact(write)

    def remove_port(self, name):
        """Delete a logical port."""
        def write(_txn, tables):
            port = routers.find_one(tables, 'Logical_Switch_Port', name=name)
            for switch in tables['Logical_Switch'].rows.values():
                if port in switch.ports:
                    switch.delvalue('ports', port)
            port.delete()

        self.nb.transact(write)

    def set_external(self, port, vlan, priorities: dict[str, int]):
        """Make a machine's port one of type "external", as with SR-IOV.

        The machine then is on the VLAN, and OVN answers on a chassis.

        :param port: :class:`Port`; its network becomes the VLAN
        """
        def write(txn, tables):
            row = routers.find_one(tables, 'Logical_Switch_Port',
                                   name=port.uuid)
            row.type = 'external'
            row.delkey('options', 'requested-chassis')
            row.ha_chassis_group = self._group(
                txn, tables, 'neutron-' + port.uuid, priorities).uuid
            self._localnet(txn, tables,
                           self._switch_row(tables, port.network),
                           self.provider.segment[0], vlan)

        self.nb.transact(write)

    def request_chassis(self, port, *hosts):
        """Ask for the nodes of a machine's port; the first one has it.

        A further one lets packets pass from the machine's RARP on.
        """
        def write(_txn, tables):
            row = routers.find_one(tables, 'Logical_Switch_Port',
                                   name=port.uuid)
            row.setkey('options', 'requested-chassis', ','.join(hosts))
            if len(hosts) > 1:
                row.setkey('options', 'activation-strategy', 'rarp')
            else:
                row.delkey('options', 'activation-strategy')

        self.nb.transact(write)

    def add_fips(self, router, targets: list) -> list:
        """Floating IPs, all in one transaction.

        :param targets: list of (address or None, Port or logical address)
        """
        fips = []

        def write(txn, tables):
            row = routers.find_one(tables, 'Logical_Router',
                                   name=router.row_name)
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
        return self.add_fips(router, [
            (address or self.allocate(router.provider), port)])[0]

    def _nat(self, txn, tables, router, address, port):
        is_port = isinstance(port, Port)
        logical = port.address if is_port else port
        fip = FloatingIp(routers.new_uuid(), address, router, logical)
        ids = {'neutron:fip_id': fip.uuid,
               'neutron:fip_external_mac': self._mac(),
               'neutron:fip_network_id': router.provider.uuid,
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
            row = routers.find_one(tables, 'Logical_Router',
                                   name=router.row_name)
            for nat in list(row.nat):
                if (nat.type == 'dnat_and_snat' and
                        nat.external_ip in gone):
                    row.delvalue('nat', nat)
                    nat.delete()

        self.nb.transact(write)

    def set_distributed(self, fip, distributed, port: str = ''):
        """Make a floating IP distributed, or not.

        The chassis of the machine answers for a distributed floating IP.
        Neutron writes this with enable_distributed_floating_ip.
        """
        def write(_txn, tables):
            # Routers in VRFs of their own may have equal ones.
            nat, = (row for row in routers.find_one(
                tables, 'Logical_Router', name=fip.router.row_name).nat
                if row.external_ip == fip.address)
            if port:
                nat.logical_port = port
            nat.external_mac = (nat.external_ids['neutron:fip_external_mac']
                                if distributed else [])

        self.nb.transact(write)

    def add_port_forwarding(self, router, address, number: int, port, inside,
                            group: bool = False):
        """Forward a TCP port of a floating IP to a port of a machine.

        :param group: whether to use a group of load balancers, which Neutron
            does not
        """
        def write(txn, tables):
            row = routers.find_one(tables, 'Logical_Router',
                                   name=router.row_name)
            fip = routers.new_uuid()
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
            row = routers.find_one(tables, 'Logical_Router',
                                   name=router.row_name)
            for group in list(row.load_balancer_group):
                row.delvalue('load_balancer_group', group)
                for balancer in group.load_balancer:
                    balancer.delete()
                group.delete()
            for balancer in list(row.load_balancer):
                row.delvalue('load_balancer', balancer)
                balancer.delete()

        self.nb.transact(write)
