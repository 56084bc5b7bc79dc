# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What happens in the histories of a view: rows come, change and go."""

from ovn_network_agent import ownership
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

HERE = cloud.CHASSIS


def _marks(tag):
    """external_ids of a managed route.

    :param tag: :class:`ownership.Owner`; a host name, of an earlier agent; ''
        for a route of somebody else
    """
    if isinstance(tag, ownership.Owner):
        return ownership.marks(tag)
    return tag and {ownership.EXT_ID_MANAGED: ownership.EXT_ID_MANAGED_VALUE,
                    ownership.EXT_ID_CHASSIS: tag} or {}


class Steps:
    """Each method makes one transaction; see test_view_incremental."""

    def present(self, where):
        """The chassis, or None when it has gone: it claims nothing then."""
        return where if where and self.sb.rows(
            'Chassis', where=ovsdb.clauses({'name': where})) else None

    def _do_router(self, name, where, ha):
        if 'lrp-' + name not in self.cloud.ports:
            self.cloud.add_router(
                name, chassis=self.present(where),
                group='HA_Chassis_Group' if ha else 'Gateway_Chassis')

    def _do_port(self, name, where):
        if ('lrp-' + name in self.cloud.ports and
                f'lrp-{name}2' not in self.cloud.ports):
            self.cloud.add_port(name, name + '2', ['203.0.113.1/24'],
                                chassis=self.present(where))

    def _do_no_router(self, name):
        if 'lrp-' + name in self.cloud.ports:
            self._take_back(name)
            self.cloud.remove_balancers(name)
            self.cloud.remove_router(name)
            self.nb.delete('HA_Chassis_Group', name='neutron-lrp-' + name)
            lsp = self.cloud.ports.pop(f'lrp-{name}2', None)
            if lsp:
                self.sb.transact(*(
                    ovsdb.delete('Port_Binding', {'logical_port': port})
                    for port in (f'lrp-{name}2', f'cr-lrp-{name}2', lsp)))

    def _take_back(self, name):
        """What a router has given away goes with it."""
        for port in self._uuids('Logical_Router_Port', 'lrp-' + name):
            self.nb.transact(ovsdb.mutate('Logical_Router', {}, 'ports',
                                          'delete', port))
        for group in self._uuids('HA_Chassis_Group', 'neutron-lrp-' + name):
            self.nb.transact(ovsdb.mutate(
                'Logical_Router_Port', {}, 'ha_chassis_group', 'delete',
                group))

    def _do_move(self, name, where):
        if 'lrp-' + name in self.cloud.ports:
            self.cloud.move('lrp-' + name, self.present(where))

    def _do_nat(self, name, address):
        if 'lrp-' + name in self.cloud.ports:
            self.cloud.add_nat(name, address)

    def _do_no_nat(self, name, address):
        self.cloud.remove_nat(name, address)

    def _do_change_nat(self, old, new):
        self.cloud.change_nat(old, external_ip=new)

    def _do_snat(self, name, tenant):
        if 'lrp-' + name in self.cloud.ports:
            self.cloud.add_nat(name, '198.51.100.1', tenant, type='snat')

    def _do_no_snat(self, name, tenant):
        for row in self.nb.rows('NAT', '_uuid', where=ovsdb.clauses(
                {'logical_ip': tenant})):
            self.nb.transact(ovsdb.mutate(
                'Logical_Router', {'name': 'neutron-' + name}, 'nat',
                'delete', row['_uuid']))

    def _do_change_snat(self, old, new):
        self.nb.update('NAT', {'logical_ip': old}, logical_ip=new)

    def _do_translate(self, type):
        self.nb.update('NAT', {'external_ip': '198.51.100.1'}, type=type)

    def _do_balancer(self, name, address, group):
        if 'lrp-' + name in self.cloud.ports:
            self.cloud.add_balancer(name, address + ':22', group=group)

    def _do_no_balancer(self, name):
        self.cloud.remove_balancers(name)

    def _do_change_balancer(self, name, address):
        self.cloud.change_balancers(name, address + ':80')

    def _do_networks(self, name, number):
        last = number if number < 9 else 254
        self.nb.update('Logical_Router_Port', {'name': 'lrp-' + name},
                       networks=[f'198.51.100.{last:d}/24', 'malformed'])

    def _do_route(self, name, tag):
        if 'lrp-' + name in self.cloud.ports:
            self.cloud.add_static_route(name, external_ids=_marks(tag))

    def _do_retag(self, tag):
        self.nb.update('Logical_Router_Static_Route', {},
                       external_ids=dict(_marks(tag) or ()))

    def _do_prefix(self, default):
        self.nb.update('Logical_Router_Static_Route', {}, ip_prefix=(
            '0.0.0.0/0' if default else '203.0.113.0/24'))

    def _do_no_routes(self, name):
        self.nb.update('Logical_Router', {'name': 'neutron-' + name},
                       static_routes=[])

    def _do_priority(self, priority):
        for table in ('Gateway_Chassis', 'HA_Chassis'):
            self.nb.update(table, {'chassis_name': HERE}, priority=priority)

    def _do_apply(self, name, priorities):
        """A new order in SB."""
        if 'lrp-' + name in self.cloud.ports:
            self.cloud.apply_order('lrp-' + name, {
                where: priority for where, priority in priorities.items()
                if self.present(where)})

    def _do_applied(self, priority):
        """Another priority in the same rows of SB."""
        self.sb.update('HA_Chassis', {}, priority=priority)

    def _do_mark(self, why, earlier):
        for table in ('Gateway_Chassis', 'HA_Chassis'):
            self.nb.update(table, {'chassis_name': cloud.OTHER}, external_ids={
                ownership.EXT_ID_DRAINED: why,
                ownership.EXT_ID_EARLIER: earlier})

    def _do_encaps(self, tunnels):
        """The other chassis has these tunnels, if it is there."""
        self.set_tunnels(cloud.OTHER, *((type, f'192.0.2.{last}') for
                                        type, last in dict.fromkeys(tunnels)))

    def _do_other(self, there):
        """The other chassis comes or goes, and with it what it has."""
        present = self.sb.rows('Chassis', where=ovsdb.clauses(
            {'name': cloud.OTHER}))
        if there and not present:
            self.add_chassis(cloud.OTHER, cloud.OTHER_HOSTNAME, '192.0.2.2',
                             'vxlan')
        elif present and not there:
            self.sb.delete('Chassis', name=cloud.OTHER)

    def _do_owner(self, name, other):
        """A port goes over to another router."""
        if not {'lrp-' + name, 'lrp-' + other} <= set(self.cloud.ports):
            return
        # It may be gone with a router that it went over to before.
        for port in self._uuids('Logical_Router_Port', 'lrp-' + name):
            self.nb.transact(
                ovsdb.mutate('Logical_Router', {'name': 'neutron-' + name},
                             'ports', 'delete', port),
                ovsdb.mutate('Logical_Router', {'name': 'neutron-' + other},
                             'ports', 'insert', port))

    def _do_share(self, name, other):
        """Two ports have one group."""
        if 'lrp-' + name not in self.cloud.ports:
            return
        for group in self._uuids('HA_Chassis_Group', 'neutron-lrp-' + other):
            self.nb.update('Logical_Router_Port', {'name': 'lrp-' + name},
                           ha_chassis_group=group)

    def _found(self, table, name, column):
        return self.nb.rows(table, column, where=ovsdb.clauses({'name': name}))

    def _uuids(self, table, name):
        """The rows of that name, as JSON has them."""
        return [row['_uuid'] for row in self._found(table, name, '_uuid')]

    def _do_nat_addresses(self, name, address):
        if 'lrp-' + name in self.cloud.ports:
            self.cloud.set_nat_addresses(
                'lrp-' + name, f'fa:16:3e:00:00:01 {address}')

    def _do_localnet(self, there):
        self.sb.delete('Port_Binding', type='localnet')
        if there:
            self.cloud._add_binding(
                self.cloud.network, 'provnet-1', 'localnet',
                options=ovsdb.ovsdb_map(network_name='physnet1'))

    def _do_hostname(self, name):
        self.sb.update('Chassis', {'name': HERE}, hostname=name)
