# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The benchmark of the fleet: agents that write."""

import argparse
import json

from oslotest import base

from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from tools.bench.fleet import cloud as clouds
from tools.bench.fleet import crews
from tools.bench.fleet import ovn
from tools.bench.fleet import restart
from tools.bench.fleet import stage
from tools.bench.fleet import unrelated

# Tables of NB that each agent has the rows of.
_OF_ROUTERS = ('Logical_Router', 'Logical_Router_Port', 'NAT',
               'Gateway_Chassis', 'Logical_Router_Static_Route')


@ovsdb.needs_ovsdb
class FleetAgentsTest(base.BaseTestCase):

    def test_agents_write_and_are_drained(self):
        with clouds.Cloud(4, 4, 1, written=lambda n: n == 0,
                          no_standby=0) as cloud:
            cloud.nb.transact(ovsdb.insert('NB_Global'))
            remotes = {'nb': cloud.nb.remote, 'sb': cloud.sb.remote}
            with crews.Crews([1, 2, 3], remotes, 1, {}) as fleet, (
                    ovn.Ovn(cloud)) as played:
                fleet.ask('start')
                fleet.ask('connected', ovsdb.DEADLINE)
                played.settle(lambda: True, 'the start')
                found = fleet.counts()
                self.assertGreaterEqual(found.accepted, 3)
                self.assertEqual(0, found.silent)
                fleet.ask('drain', [1], True)
                played.settle(lambda: not played.owned('gw1'), 'a drain')
                self.assertEqual({0}, played.priorities('gw1'))
                self.assertEqual(0, played.tagged(clouds.hostname(1)))

    def options(self, **more):
        return argparse.Namespace(**{
            'agents': 3, 'routers': 6, 'fips': 2, 'processes': 1, 'rest': 1,
            'clustered': False, **more})

    def test_a_restart_withdraws_nothing(self):
        with stage.settled(self.options()) as made:
            before = made.fleet.objects()
            found = restart.once(made, ('nb', 'sb'), 0)
            self.assertEqual(0, found.withdrawn)
            self.assertEqual(before, made.fleet.objects())
            self.assertGreater(before, 0)
            # Each agent loads both databases again.
            self.assertGreaterEqual(found.attempts, 6)
            self.assertGreater(found.size, 10000)

    def test_a_cluster_sends_no_row_again(self):
        with stage.settled(self.options(routers=60, clustered=True)) as made:
            found = restart.once(made, ('nb',), 0)
            self.assertEqual(0, found.withdrawn)
            # An attempt reads the schema twice.  On a busy machine a server
            # ends some before it has a leader, so how often is not known.
            rows = sum(len(json.dumps(made.cloud.nb.rows(table)))
                       for table in _OF_ROUTERS)
            self.assertLess(found.size, 3 * rows)

    def test_changes_of_others_cost_the_agents_nothing(self):
        with stage.settled(self.options()) as made:
            machines = unrelated.Machines(made.cloud)
            made.fleet.counts()
            for kind in machines.bind, machines.learn, machines.hear:
                found = unrelated.once(made, kind, 10000, 1)
                self.assertEqual(0, found.accepted)
                # A server may ask for a sign of life.
                self.assertLess(found.size, 2000)
