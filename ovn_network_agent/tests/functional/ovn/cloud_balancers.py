# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Load balancers of a cloud of tests."""

import uuid

from ovn_network_agent.tests.functional.ovsdb import base as ovsdb


class Balancers:
    """A part of :class:`cloud.Cloud`."""

    def add_balancer(self, router, *vips, group=False, options=None,
                     floating=True):
        """A load balancer of a router, as port forwarding of Neutron is one.

        :param vips: keys of column vips, 'address:port'
        :param group: in a group of load balancers
        :param floating: whether it is port forwarding
        """
        owner = {'neutron:device_owner': 'port_forwarding_plugin'}
        operations = [ovsdb.insert(
            'Load_Balancer', 'lb', name='pf-' + router,
            vips=ovsdb.ovsdb_dict({vip: '10.0.0.5:22' for vip in vips}),
            options=ovsdb.ovsdb_dict(options or {}),
            external_ids=ovsdb.ovsdb_dict(owner if floating else {}))]
        column = 'load_balancer'
        if group:
            operations.append(ovsdb.insert(
                'Load_Balancer_Group', 'lbg', name=str(uuid.uuid4()),
                load_balancer=['named-uuid', 'lb']))
            column = 'load_balancer_group'
        self.nb.transact(*operations, ovsdb.mutate(
            'Logical_Router', {'name': 'neutron-' + router}, column,
            'insert', ['named-uuid', 'lbg' if group else 'lb']))

    def check_backends(self, router, *vips, backends, protocol='tcp'):
        """Health checks of VIPs, and the rows that ovn-northd makes of them.

        :param backends: texts like '10.0.0.5:80', of all VIPs
        """
        self.nb.transact(
            *(ovsdb.insert('Load_Balancer_Health_Check', f'check{n}', vip=vip)
              for n, vip in enumerate(vips)),
            ovsdb.update(
                'Load_Balancer', {'name': 'pf-' + router}, protocol=protocol,
                vips=ovsdb.ovsdb_dict(dict.fromkeys(vips, ','.join(backends))),
                health_check=ovsdb.ovsdb_set(
                    [['named-uuid', f'check{n}'] for n in range(len(vips))]),
                ip_port_mappings=ovsdb.ovsdb_dict({
                    each.rpartition(':')[0]: 'vm-1:10.0.0.254'
                    for each in backends})))
        self.sb.transact(*(ovsdb.insert(
            'Service_Monitor', ip=host.strip('[]'), port=int(port),
            protocol=protocol, logical_port='vm-1')
            for host, _colon, port in (each.rpartition(':')
                                       for each in backends)))

    def report_backend(self, address, status):
        """The chassis of a backend writes what its check has found."""
        self.sb.transact(ovsdb.update('Service_Monitor', {'ip': address},
                                      status=status))

    def change_balancers(self, router, *vips):
        """Give the load balancers of a router other VIPs."""
        self.nb.transact(ovsdb.update(
            'Load_Balancer', {'name': 'pf-' + router},
            vips=ovsdb.ovsdb_dict({vip: '10.0.0.5:22' for vip in vips})))

    def remove_balancers(self, router):
        """Take all load balancers from a router, and delete them."""
        self.nb.transact(
            ovsdb.update('Logical_Router', {'name': 'neutron-' + router},
                         load_balancer=ovsdb.ovsdb_set(()),
                         load_balancer_group=ovsdb.ovsdb_set(())),
            ovsdb.delete('Load_Balancer', {'name': 'pf-' + router}))
