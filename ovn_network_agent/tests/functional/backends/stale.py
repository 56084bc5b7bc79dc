# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Rows that agents left behind, on real databases."""


from ovn_network_agent import ownership
from ovn_network_agent.tests.functional.ovn import base
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.functional.service import base as services

GATEWAY = '198.51.100.254'
MAC = '0a:00:00:00:00:03'
DEAD, GONE = 'gw3.example.org', 'gw4.example.org'


def tags(hostname):
    """external_ids of a managed route of a chassis."""
    return {ownership.EXT_ID_MANAGED: ownership.EXT_ID_MANAGED_VALUE,
            ownership.EXT_ID_CHASSIS: hostname}


class StaleTestCase(base.OvsdbTestCase):
    """Rows of agents, and what of them is left."""

    def leave(self, name, external_ids, nexthop=GATEWAY, binding=True,
              port=None, chassis=None, router=True):
        """What an agent leaves: a router with its route and binding."""
        port = port or 'lrp-' + name
        if router:
            self.cloud.add_router(name, chassis=chassis)
        self.cloud.add_static_route(name, nexthop=nexthop, output_port=port,
                                    external_ids=external_ids)
        if binding:
            self.nb.transact(ovsdb.insert(
                'Static_MAC_Binding', logical_port=port, ip=nexthop,
                mac=MAC, override_dynamic_mac=True))

    def appear(self, name, hostname, ip='192.0.2.9'):
        self.sb.transact(
            ovsdb.insert('Encap', 'encap', type='geneve', ip=ip,
                         chassis_name=name),
            ovsdb.insert('Chassis', name=name, hostname=hostname,
                         encaps=['named-uuid', 'encap']))

    def left(self):
        """(routers with a route and its tag, ports with a binding)."""
        by_uuid = {row['_uuid'][1]: dict(row['external_ids'][1])
                   for row in self.nb.rows('Logical_Router_Static_Route')}
        found = []
        for router in self.nb.rows('Logical_Router'):
            refs = router['static_routes']
            for _kind, uuid in refs[1] if refs[0] == 'set' else [refs]:
                found.append((router['name'].removeprefix('neutron-'),
                              by_uuid[uuid].get(ownership.EXT_ID_CHASSIS)))
        return set(found), {
            row['logical_port'] for row in
            self.nb.rows('Static_MAC_Binding')}


class AgentTestCase(StaleTestCase, services.ServiceTestCase):
    """The whole loop; the grace is short, and no full pass helps."""

    def survivor(self, grace=1, **options):
        return self.agent(
            times={'jitter': 0.2},
            gateway_drain__stale_chassis_grace_period=grace,
            reconcile_interval=600, **options)
