# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""IPv6 for routers and machines of the lab, as Neutron would write it.

Each router gets an address in the IPv6 subnet of the provider network, and its
tenant network a subnet of unique local addresses.
"""

import ipaddress

from lab import northbound
from lab import plan
from lab import routers


class Dual:
    """A router with IPv6.

    :param only: whether the router loses what it has of IPv4 outside
    """

    def __init__(self, neutron, router, number: int, only: bool = False,
                 outside=plan.PROVIDER6, inside=None):
        self._neutron = neutron
        self.router = router
        self.address = str(outside[number])
        self.tenant = inside or plan.tenant(number, 6)
        self._floating = map(str, map(outside.__getitem__, range(
            0x10 * number, 0x10 * number + 0x10)))
        neutron.nb.transact(lambda txn, tables: self._ports(tables, only))

    def _ports(self, tables, only):
        row = routers.find_one(tables, 'Logical_Router',
                               name=self.router.row_name)
        inside = self.router.internal
        own = f'{inside.gateway}/{inside.cidr.prefixlen:d}'
        for port in row.ports:
            if port.name == self.router.lrp:
                port.networks = [*(() if only else port.networks),
                                 f'{self.address}/64']
            elif port.networks == [own]:
                port.networks = [*port.networks, f'{self.tenant[1]}/64']
        for nat in list(row.nat) if only else ():
            row.delvalue('nat', nat)
            nat.delete()

    def machine(self, vm) -> str:
        """Give a machine an address of the tenant network."""
        number = int(ipaddress.ip_address(vm.port.address)) & 0xff
        address = str(self.tenant[number])

        def write(_txn, tables):
            row = routers.find_one(tables, 'Logical_Switch_Port',
                                   name=vm.port.uuid)
            text = f'{vm.port.mac} {vm.port.address} {address}'
            row.addresses = row.port_security = [text]
        self._neutron.nb.transact(write)
        # No other host has the address, and a check for one takes a second.
        vm.lines = (f'addr add {address}/64 dev eth0 nodad\n'
                    f'route add ::/0 via {self.tenant[1]} dev eth0\n')
        vm.node.batch(vm.lines)
        return address

    def floating_ip(self, inside: str, external='') -> str:
        """Translate an address of a machine, in both directions.

        :param external: IPv6 address, text; the next free one by default
        """
        external = external or next(self._floating)
        self._nat('dnat_and_snat', external, inside)
        return external

    def distribute(self, external: str, vm, mac: str):
        """Have the node of a machine answer for a floating IP."""
        def write(_txn, tables):
            row = routers.find_one(tables, 'NAT', external_ip=external)
            row.logical_port = vm.port.uuid
            row.external_mac = mac
        self._neutron.nb.transact(write)

    def snat(self):
        """Translate what the other machines send into the router's address."""
        self._nat('snat', self.address, str(self.tenant))

    def _nat(self, kind, external, inside):
        def write(txn, tables):
            nat = northbound.insert(txn, tables, 'NAT', type=kind,
                                    external_ip=external, logical_ip=inside)
            routers.find_one(tables, 'Logical_Router',
                             name=self.router.row_name).addvalue(
                                 'nat', nat.uuid)
        self._neutron.nb.transact(write)

    def remove(self, external):
        """Delete the NAT rows of an address."""
        def write(_txn, tables):
            row = routers.find_one(tables, 'Logical_Router',
                                   name=self.router.row_name)
            for nat in list(row.nat):
                if nat.external_ip == external:
                    row.delvalue('nat', nat)
                    nat.delete()
        self._neutron.nb.transact(write)
