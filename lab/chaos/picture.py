# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What NB and SB say about routers, as frozen values.

:func:`read` is the only function here that looks into the databases.
"""

import dataclasses
import ipaddress

from lab import plan


@dataclasses.dataclass(frozen=True)
class DefaultRoute:
    """A static route 0.0.0.0/0 of a router."""

    nexthop: str
    output_port: str
    ids: tuple = ()  # tuple of the sorted items of external_ids


@dataclasses.dataclass(frozen=True)
class Router:
    """A router with one gateway port."""

    name: str  # as in 'neutron:router_name'
    lrp: str
    mac: str
    interface: str
    owner: str = ''  # node that has the port according to SB, '' for none
    candidates: tuple = ()  # tuple of (node, priority)
    # Tuple of addresses that the gateway answers for: floating IPs, SNAT
    # addresses, addresses of load balancers
    floating: tuple = ()
    tenants: tuple = ()  # tuple of networks with an SNAT row
    defaults: tuple = ()  # tuple of :class:`DefaultRoute`
    # Tuple of (address, MAC), the static MAC bindings of the port
    bindings: tuple = ()

    @property
    def network(self):
        """The provider network, an ipaddress network."""
        return ipaddress.ip_interface(self.interface).network

    @property
    def addresses(self):
        """Addresses that have to be reachable, a sorted list of text."""
        own = self.interface.partition('/')[0]
        return sorted({own, *(
            address for address in self.floating
            if ipaddress.ip_address(address) in self.network)})

    @property
    def virtual_gateway(self):
        """The last host address of the network, text."""
        return str(self.network[-2])


@dataclasses.dataclass(frozen=True)
class Picture:
    """All routers, and the size of the tables that agents write."""

    routers: tuple = ()  # tuple of :class:`Router`, sorted by name
    rows: tuple = ()  # tuple of (table, number of rows)
    # Tuple of text: rows of agents for ports that are gone
    orphans: tuple = ()

    def owned(self, node):
        """Routers whose gateway port a node has, a list."""
        return [router for router in self.routers if router.owner == node]

    def concerned(self, node):
        """Routers that have a node as owner or candidate, a list."""
        return [router for router in self.routers
                if router.owner == node or
                node in dict(router.candidates)]


_COUNTED = ('Logical_Router_Static_Route', 'Static_MAC_Binding',
            'Gateway_Chassis', 'HA_Chassis', 'HA_Chassis_Group')
_NODES = {plan.system_id(name): name for name in plan.HOSTS}


def read(cloud):
    """The :class:`Picture` of now."""
    owners = {}
    for row in cloud.sb.rows('Port_Binding'):
        if row.type == 'chassisredirect':
            owners[row.logical_port.removeprefix('cr-')] = ''.join(
                chassis.hostname for chassis in row.chassis)
    with cloud.nb.connection.lock:
        tables = cloud.nb.idl.tables
        bindings = {}
        for row in tables['Static_MAC_Binding'].rows.values():
            bindings.setdefault(row.logical_port, []).append(
                (row.ip, row.mac))
        found = []
        for row in tables['Logical_Router'].rows.values():
            found += _routers(row, owners, bindings)
        rows = tuple((name, len(tables[name].rows)) for name in _COUNTED)
    known = {router.lrp for router in found}
    return Picture(
        tuple(sorted(found, key=lambda router: router.name)), rows,
        tuple(f'Static_MAC_Binding {lrp}' for lrp in sorted(bindings)
              if lrp not in known))


def _routers(row, owners, bindings):
    """The router of a row; none without a gateway port."""
    for port in row.ports:
        if port.external_ids.get('neutron:is_ext_gw') != 'True':
            continue
        yield Router(
            name=row.external_ids.get('neutron:router_name', row.name),
            lrp=port.name, mac=port.mac, interface=port.networks[0],
            owner=owners.get(port.name, ''),
            candidates=tuple(sorted(_candidates(port))),
            floating=tuple(sorted(_floating(row))),
            tenants=tuple(sorted({nat.logical_ip for nat in row.nat
                                  if nat.type == 'snat'})),
            defaults=tuple(
                DefaultRoute(route.nexthop, ''.join(route.output_port),
                             tuple(sorted(route.external_ids.items())))
                for route in row.static_routes
                if route.ip_prefix == '0.0.0.0/0'),
            bindings=tuple(sorted(bindings.get(port.name, ()))))


def _candidates(port):
    rows = list(port.gateway_chassis)
    for group in port.ha_chassis_group:
        rows += group.ha_chassis
    for row in rows:
        yield (_NODES.get(row.chassis_name, row.chassis_name), row.priority)


def _floating(row):
    for nat in row.nat:
        # The chassis of the machine answers for a distributed floating IP.
        if not (nat.external_mac and nat.logical_port):
            yield nat.external_ip
    balancers = list(row.load_balancer)
    for group in row.load_balancer_group:
        balancers += group.load_balancer
    for balancer in balancers:
        for address in balancer.vips:
            yield address.rpartition(':')[0]
