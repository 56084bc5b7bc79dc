# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Rows that agents left behind."""

import time

from ovn_network_agent import ownership
from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends import ovsdb_writer
from ovn_network_agent.backends.northbound import router_rows
from ovn_network_agent.tests.functional.ovn import base
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.functional.service import base as services
from ovn_network_agent.tests.unit import world as worlds

GATEWAY = '198.51.100.254'
MAC = '0a:00:00:00:00:03'
DEAD, GONE = 'gw3.example.org', 'gw4.example.org'
# Of the chassis whose ovn-controller was killed.
KILLED = '77777777-2222-4333-8444-555555555555'
# Milliseconds; long before every other time here.
LONG_AGO = 3_600_000


def tags(hostname):
    """external_ids of a managed route of a chassis."""
    return {ownership.EXT_ID_MANAGED: ownership.EXT_ID_MANAGED_VALUE,
            ownership.EXT_ID_CHASSIS: hostname}


class Rows:
    """Mix-in for a test case with a cloud: what is left of agents."""

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


class Backends(Rows):
    """Mix-in for a test case with a cloud."""

    def setUp(self):
        super().setUp()
        self.eyes_ = self.eyes()

    def agent(self, *dead, eyes=None, patience=ovsdb_writer.TIMEOUT):
        made = router_rows.StaleRouteBackend(worlds.conf(
            ovn__transaction_timeout=5), patience)
        made.attach(backends.Context(
            (eyes or self.eyes_).databases, frozenset,
            lambda: cloud.CHASSIS,
            lambda: frozenset(map(ownership.Owner, dead))))
        return made

    def clean(self, *dead, backend=None):
        self.synchronise(self.eyes_)
        backend = backend or self.agent(*dead)
        return backend.apply(backends.Delta(
            delete=tuple(backend.read(frozenset()))))


class Silent(Rows):
    """Mix-in: a chassis that answered long ago, and does not any more."""

    reports = True

    def setUp(self):
        super().setUp()
        self.nb_cfg = 0
        self.sb.transact(ovsdb.insert('SB_Global', nb_cfg=0))
        self.appear(KILLED, DEAD)
        if self.reports:
            self.raise_nb_cfg()
            self.answer(KILLED, LONG_AGO)
            self.raise_nb_cfg(cloud.CHASSIS, cloud.OTHER)

    def raise_nb_cfg(self, *answering):
        """NB's nb_cfg is raised, ovn-northd copies it, and some answer."""
        self.nb_cfg += 1
        self.sb.transact(ovsdb.update('SB_Global', {}, nb_cfg=self.nb_cfg))
        for name in answering:
            self.answer(name)

    def answer(self, name, age=0, behind=0):
        """What an ovn-controller writes.

        :param age: milliseconds that have passed since
        """
        self.sb.transact(
            ovsdb.delete('Chassis_Private', {'name': name}),
            ovsdb.insert('Chassis_Private', name=name,
                         nb_cfg=self.nb_cfg - behind,
                         nb_cfg_timestamp=int(time.time() * 1000) - age))


class StaleTestCase(Rows, base.OvsdbTestCase):
    """With real servers."""


class AgentTestCase(StaleTestCase, services.ServiceTestCase):
    """The whole loop; the grace is short, and no full pass helps."""

    def survivor(self, grace=1, **options):
        return self.agent(
            times={'jitter': 0.2},
            gateway_drain__stale_chassis_grace_period=grace,
            reconcile_interval=600, **options)
