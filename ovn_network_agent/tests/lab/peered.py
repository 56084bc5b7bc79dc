# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Routers of the lab that peer, and the rows of their peerings."""

import json
import os

from lab import dual
from lab import node as nodes
from lab import probe
from lab import routers
from ovn_network_agent import ownership
from ovn_network_agent.backends.northbound import locked_rows
from ovn_network_agent.tests.lab import base

DRIVERS = 'fip_route,veth_leak,gateway_drain,port_forward,network_peer'
TABLES = ('Logical_Router_Port', 'Logical_Router_Static_Route',
          'Logical_Router_Policy', 'Address_Set')
# Rows of a peering in two families; each side has two of the ports, routes
# and sets, five policies with an uplink.
ROWS = (2, 4, 10, 4)
NONE = (0, 0, 0, 0)
TARGET = ownership.EXT_ID_PEER_TARGET
# Seconds for what takes less than one on an idle machine.
SOON = 4
_FILE = '/etc/ovn-network-agent/network-peers.yaml'
_LOG = '/var/lib/ovn/ovnnb_db.db'


class PeeredTestCase(base.LabTestCase):
    """Routers alpha, beta and gamma with SNAT, and a machine of each.

    The gateways are on gw1, beta's machine is on gw2, the others on a compute
    node.  Alpha and beta peer at the begin of each test.
    """

    CONFIG = {'DEFAULT': {'drivers': DRIVERS},
              'gateway_drain': {'drain_on_shutdown': 'false'},
              'network_peer': {'peers_file': _FILE}}

    @classmethod
    def build(cls):
        cloud = cls.cloud
        cloud.add_ipv6()
        cls.alpha, cls.beta, cls.gamma = (
            cloud.add_router(name, ['gw1', 'gw2'])
            for name in ('alpha', 'beta', 'gamma'))
        cls.here, cls.fip = cls.machine(cls.alpha)
        cls.there, _none = cls.machine(cls.beta, fip=False, host='gw2')
        cls.third, _none = cls.machine(cls.gamma, fip=False)
        first, other = (
            dual.Dual(cloud.neutron, router, number)
            for number, router in enumerate((cls.alpha, cls.beta), 1))
        cls.six = {vm: each.machine(vm) for each, vm in (
            (first, cls.here), (other, cls.there))}
        cls.fip6 = first.floating_ip(cls.six[cls.here])
        cls.file()

    def setUp(self):
        super().setUp()
        self.say(self.alpha, db=self.beta.uuid)
        self.say(self.beta, web='alpha')
        self.wait_rows(*ROWS)

    # -- intents and rows -------------------------------------------------

    def say(self, router, column='options', **targets):
        """Change intents of a router, in one transaction.

        :param targets: name=router of its peers, None for no intent
        """
        self.write(router, column, {TARGET + name: target
                                    for name, target in targets.items()})

    def write(self, router, column, entries):
        """Set keys of a column of a router; None takes one out."""
        def change(_txn, tables):
            row = routers.find_one(tables, 'Logical_Router',
                                   name=router.row_name)
            setattr(row, column, {
                key: text for key, text in {
                    **getattr(row, column), **entries}.items()
                if text is not None})

        self.cloud.nb.transact(change)

    @classmethod
    def file(cls, *entries):
        """Have entries in the file of all agents."""
        for name in cls.cloud.gateways:
            node = cls.cloud[name]
            node.write(_FILE + '.new', json.dumps({'network_peers': entries}))
            os.rename(node.path(_FILE + '.new'), node.path(_FILE))

    def meanwhile(self, router, **targets):
        """Intents until the end of the test."""
        self.addCleanup(self.say, router, **dict.fromkeys(targets))
        self.say(router, **targets)

    def rows(self):
        """By table, UUIDs of the rows of peerings."""
        return {table: sorted(
            str(row.uuid) for row in self.cloud.nb.rows(table)
            if ownership.EXT_ID_PEER in row.external_ids) for table in TABLES}

    def wait_rows(self, *numbers):
        wanted = dict(zip(TABLES, numbers, strict=True))
        nodes.wait_until(
            lambda: f'the rows of peerings are {wanted}: {self.rows()}',
            lambda: {table: len(rows) for table, rows in self.rows().items()
                     } == wanted, base.SETTLE, 0.01)

    def transactions(self):
        """How many transactions so far have made rows of peerings."""
        with open(self.cloud['central'].path(_LOG), 'rb') as log:
            return sum(ownership.EXT_ID_PEER.encode() in line for line in log)

    def take(self, rows):
        """Remove rows by hand.

        :param rows: by table, UUIDs
        """
        def change(_txn, tables):
            for router in tables['Logical_Router'].rows.values():
                for column, table in (
                        ('ports', 'Logical_Router_Port'),
                        ('static_routes', 'Logical_Router_Static_Route'),
                        ('policies', 'Logical_Router_Policy')):
                    for row in getattr(router, column):
                        if str(row.uuid) in rows.get(table, ()):
                            router.delvalue(column, row)
            for row in list(tables['Address_Set'].rows.values()):
                if str(row.uuid) in rows.get('Address_Set', ()):
                    row.delete()

        self.cloud.nb.transact(change)

    def damage(self):
        """Another next hop in a route; returns when it is mended."""
        def route(tables):
            return next(
                row for row in
                tables['Logical_Router_Static_Route'].rows.values()
                if ownership.EXT_ID_PEER in row.external_ids and
                ':' not in row.ip_prefix)

        self.cloud.nb.transact(lambda _txn, tables: setattr(
            route(tables), 'nexthop', '10.99.0.1'))
        nodes.wait_until('the route is mended', lambda: not self.cloud.nb.find(
            'Logical_Router_Static_Route', nexthop='10.99.0.1'),
            base.SETTLE, 0.01)

    def writer(self):
        """Name of the gateway whose agent writes the peerings."""
        return self.lock_holder(locked_rows.PEERING_LOCK)

    # -- traffic ----------------------------------------------------------

    def central(self, *args):
        return self.cloud['central'].out(*args)

    def pairs(self):
        """(machine, own address, other address) in each direction and family.
        """
        for one, other in ((self.here, self.there), (self.there, self.here)):
            yield one, one.port.address, other.port.address
            yield one, self.six[one], self.six[other]

    def reachable(self, *kinds):
        for one, own, address in self.pairs():
            for kind in kinds or ('icmp',):
                found = self.reach(one.node, kind, address)
                if kind == 'tcp':
                    # Neither router translates.
                    self.assertEqual({own}, found.seen_sources)

    def unreachable(self, one, other):
        self.assertTrue(probe.unreachable(
            one.node, 'icmp', other.port.address, 3, limit=0.5))

    def asked(self):
        """How many questions of ping alpha's machine has got."""
        names, values = (
            line.split() for line in self.here.node.out(
                'cat', '/proc/net/snmp').splitlines()
            if line.startswith('Icmp:'))
        six, = (line.split()[1] for line in self.here.node.out(
            'cat', '/proc/net/snmp6').splitlines()
            if line.startswith('Icmp6InEchos '))
        return int(six) + int(dict(zip(names, values, strict=True))['InEchos'])

    def arrived(self, node, source, target):
        """How many of five pings with a source reach alpha's machine."""
        before = self.asked()
        node.run(['ping', '-c', '5', '-i', '0.05', '-W', '0.5', '-I', source,
                  target], check=False)
        return self.asked() - before
