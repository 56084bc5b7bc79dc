# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backend northbound on a real database."""

import json
import subprocess

from ovn_network_agent.tests.functional.backends import northbound_rows
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.functional.service import growth

HERE, MAC = northbound_rows.HERE, northbound_rows.MAC
OTHER_MAC, GATEWAY = northbound_rows.OTHER_MAC, northbound_rows.GATEWAY
OURS, THEIRS = northbound_rows.OURS, northbound_rows.THEIRS


class GrowthTest(northbound_rows.NorthboundTestCase):
    """A row costs the same in a transaction of few and of many."""

    def setUp(self):
        # The connection has a thread, which the counting has to precede.
        self.calls = growth.Calls(self)
        super().setUp()

    def calls_for(self, numbers):
        """Calls of functions for the bindings of some routers."""
        wanted = [self.binding(lrp=f'lrp-{n}') for n in numbers]
        with self.calls.counted() as come:
            self.assertEqual({}, self.create(*wanted))
        with self.calls.counted() as gone:
            self.assertEqual({}, self.delete(*wanted[1:]))
        self.read_until(wanted[0], known=[each.ref for each in wanted])
        self.assertEqual({}, self.delete(wanted[0]))
        return (come + gone).total()

    def test_bindings_of_many_routers(self):
        few, many = 20, 160
        self.assertLess(self.calls_for(range(many)) / many,
                        1.2 * self.calls_for(range(few)) / few)


class WriteTest(northbound_rows.NorthboundTestCase):

    def test_route_and_binding_come_and_go(self):
        # Trap T1: a real server refuses names of rows that have hyphens.
        self.assertEqual({}, self.create(self.binding(), self.route()))
        self.assertEqual([('neutron-r1', GATEWAY, 'lrp-r1', OURS)],
                         self.routes())
        self.assertEqual({('lrp-r1', GATEWAY): MAC}, self.bindings())
        row = self.nb.rows('Static_MAC_Binding')[0]
        self.assertTrue(row['override_dynamic_mac'])
        self.read_until(self.route(), self.binding())
        self.assertEqual({}, self.delete(self.binding(), self.route()))
        self.assertEqual(([], {}), (self.routes(), self.bindings()))
        self.assertEqual([], self.nb.rows('Logical_Router_Static_Route'))
        self.read_until()

    def others_have_the_rows(self):
        self.foreign(GATEWAY, output_port='lrp-r1',
                     external_ids={**THEIRS, 'note': 'kept'})
        self.nb.transact(ovsdb.insert(
            'Static_MAC_Binding', logical_port='lrp-r1', ip=GATEWAY,
            mac=OTHER_MAC, override_dynamic_mac=True))
        self.seen(lambda nb: nb['Static_MAC_Binding'])

    def test_without_southbound_nothing_is_taken_over(self):
        self.others_have_the_rows()
        self.sb.kill()
        self.eventually(lambda: self.eyes_.databases['sb'].problem, 'a loss')
        refused = self.create(self.binding(), self.route())
        self.assertIn('OVN_Southbound is not', refused[self.route().ref])
        self.assertIn('OVN_Southbound is not', refused[self.binding().ref])
        self.assertEqual({**THEIRS, 'note': 'kept'}, self.routes()[0][3])
        self.assertEqual({('lrp-r1', GATEWAY): OTHER_MAC}, self.bindings())

    def test_many_at_once_are_one_transaction(self):
        routers = [self.cloud.add_router(f'm{n}', chassis=HERE)
                   for n in range(50)]
        self.seen(lambda nb: len(nb['Logical_Router']) == 51)
        wanted = [self.route(router, lrp=f'lrp-m{n}')
                  for n, router in enumerate(routers)]
        self.foreign('198.51.100.9')
        monitor = self.watched('Logical_Router_Static_Route')
        self.assertEqual({}, self.create(*wanted))
        self.assertEqual(51, len(self.routes()))
        self.read_until(*wanted)
        # The server tells of each transaction by itself.
        self.assertEqual(50, len(json.loads(monitor.readline())['data']))

    def watched(self, table):
        """What the server tells of a table that has a row, a line each."""
        monitor = subprocess.Popen(
            ['ovsdb-client', '--format=json', 'monitor', self.nb.remote,
             self.nb.database, table, 'nexthop'],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.addCleanup(monitor.stdout.close)
        self.addCleanup(monitor.wait)
        self.addCleanup(monitor.kill)
        # What is there already comes first, so now it watches.
        self.assertIn('initial', monitor.stdout.readline())
        return monitor.stdout

    def test_in_the_very_transaction(self):
        """Trap T26: nobody ever sees our tag with a mark on the route."""
        self.foreign(GATEWAY, external_ids={
            **THEIRS, northbound_rows.PROOF: cloud.OTHER_HOSTNAME},
            output_port='lrp-r1')
        eyes, seen = self.witnessed()
        self.create(self.route())
        self.eventually(lambda: seen, 'the change')
        self.synchronise(eyes)
        self.assertEqual([OURS], seen)
