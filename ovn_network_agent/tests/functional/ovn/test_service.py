# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""The whole service: real databases and northbound, the rest a world."""

import time

from ovn_network_agent.backends import northbound
from ovn_network_agent.drivers import fip_route
from ovn_network_agent.drivers import veth_leak
from ovn_network_agent import ownership
from ovn_network_agent import privileged
from ovn_network_agent import resources
from ovn_network_agent import service
from ovn_network_agent.tests.functional.ovn import base
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovn import ovsdb
from ovn_network_agent.tests.unit import world as worlds

HERE = cloud.CHASSIS


class ServiceTestCase(base.OvsdbTestCase):

    def setUp(self):
        super().setUp()
        # In this process: there is no daemon, and nothing is changed.
        privileged.kernel.set_client_mode(False)
        self.addCleanup(privileged.kernel.set_client_mode, True)
        self.world = worlds.World()

    def agent(self, start=True, **options):
        """The service on this cloud, its kernel and FRR a world."""
        remotes = self.remotes()
        conf = worlds.conf(
            ovn__ovn_nb_remote=[remotes['nb']],
            ovn__ovn_sb_remote=[remotes['sb']],
            ovs__ovsdb_connection=remotes['ovs'], bridge_dev=cloud.BRIDGE,
            **{'ovn__transaction_timeout': 2,
               'ovn__ovsdb_connection_timeout': 5,
               'ovn__retry_max_interval': 1, 'shutdown_timeout': 15,
               **options})
        backends = [b for b in worlds.backends(self.world)
                    if b.name != 'northbound']
        backends.append(northbound.NorthboundBackend(conf))
        made = service.AgentService(
            conf, [fip_route.FipRouteDriver('fip_route', conf),
                   veth_leak.VethLeakDriver('veth_leak', conf)], backends)
        self.addCleanup(made.close)
        if start:
            made.start()
            self.addCleanup(self.cut_short, made)
        return made

    def cut_short(self, agent):
        if not agent.wait(0):
            agent.stop()
            agent.stop()
            self.assertTrue(agent.wait(ovsdb.DEADLINE))

    def announced(self):
        return {key[1] for key in self.world.of(resources.Announcement)}

    def routes(self):
        """Tags of the managed default routes in NB."""
        return [dict(row['external_ids'][1]).get(ownership.EXT_ID_CHASSIS)
                for row in self.nb.rows('Logical_Router_Static_Route')]

    def stop(self, agent):
        agent.stop()
        self.assertTrue(agent.wait(ovsdb.DEADLINE))


class LifeTest(ServiceTestCase):

    def test_from_nothing_to_nothing(self):
        self.cloud.add_router('r1', chassis=HERE)
        self.cloud.add_nat('r1', '198.51.100.10')
        agent = self.agent()
        self.eventually(lambda: self.announced() == {
            '198.51.100.1/32', '198.51.100.10/32'} and
            self.routes() == [cloud.HOSTNAME] and
            self.nb.rows('Static_MAC_Binding'), 'all is there')
        self.cloud.add_nat('r1', '198.51.100.11')
        self.eventually(lambda: '198.51.100.11/32' in self.announced(),
                        'a new one')
        self.cloud.remove_nat('r1', '198.51.100.10')
        self.eventually(lambda: '198.51.100.10/32' not in self.announced(),
                        'the old one goes')
        self.stop(agent)
        self.assertTrue(agent.complete)
        self.assertEqual([], self.routes())
        self.assertEqual([], self.nb.rows('Static_MAC_Binding'))
        self.assertEqual({'sysctl', 'link_up'},
                         {r.kind for r in self.world.values()})

    def test_without_clean_up_all_stays(self):
        self.cloud.add_router('r1', chassis=HERE)
        agent = self.agent(cleanup_on_shutdown=False)
        self.eventually(lambda: self.announced() and self.routes(), 'there')
        before = self.world.values()
        self.stop(agent)
        self.assertTrue(agent.complete)
        self.assertEqual(before, self.world.values())
        self.assertEqual([cloud.HOSTNAME], self.routes())

    def test_what_moved_away_is_left_to_its_new_owner(self):
        self.cloud.add_router('r1', chassis=HERE)
        agent = self.agent()
        self.eventually(lambda: self.announced() and self.routes() and
                        self.nb.rows('Static_MAC_Binding'), 'there')
        self.cloud.move('lrp-r1', cloud.OTHER)
        self.eventually(lambda: not self.announced(), 'withdrawn')
        self.stop(agent)
        self.assertEqual([cloud.HOSTNAME], self.routes())
        self.assertEqual(1, len(self.nb.rows('Static_MAC_Binding')))

    def test_the_node_is_set_up_before_ovn_is_reached(self):
        for server in self.servers.values():
            server.kill()
        stray = resources.KernelRoute(254, '203.0.113.9/32', 'lo')
        self.world.put(stray)
        agent = self.agent()
        self.eventually(lambda: self.world.of(resources.VethPair), 'a pair')
        self.assertIn(stray, self.world.values())
        # Databases that come late, one after the other.
        for server in self.servers.values():
            self.assertIn(stray, self.world.values())
            server.start()
        self.eventually(lambda: stray not in self.world.values(),
                        'the first complete pass')
        self.stop(agent)

    def test_what_fails_before_ovn_is_reached_is_tried_again(self):
        self.sb.kill()
        self.world.down.add('address')
        self.agent()
        self.eventually(lambda: self.world.of(resources.VethPair), 'a pair')
        self.world.down.clear()
        self.eventually(lambda: self.world.of(resources.Address), 'healed')

    def test_waiting_for_ovn_costs_no_time(self):
        # Retries of what failed come due although no pass is complete.
        for server in self.servers.values():
            server.kill()
        self.agent()
        self.eventually(lambda: self.world.of(resources.VethPair), 'a pair')
        time.sleep(1.5)
        before = time.process_time()
        time.sleep(2)
        self.assertLess(time.process_time() - before, 0.5)


class TroubleTest(ServiceTestCase):

    def setUp(self):
        super().setUp()
        self.cloud.add_router('r1', chassis=HERE)
        self.cloud.add_router('r2', chassis=cloud.OTHER, networks=[
            '203.0.113.1/24'])

    def running(self, **options):
        agent = self.agent(**options)
        self.eventually(lambda: self.announced() and self.routes() and
                        self.nb.rows('Static_MAC_Binding'), 'running')
        return agent

    def test_databases_that_go_withdraw_nothing(self):
        agent = self.running(reconcile_interval=1)
        before = self.world.values()
        for server in self.servers.values():
            server.kill()
        self.eventually(lambda: not any(
            d.connected for d in agent._databases.values()), 'all are lost')
        full = agent._loop._next_full
        self.eventually(lambda: agent._loop._next_full > full + 1,
                        'full passes')
        self.assertEqual(before, self.world.values())
        for server in self.servers.values():
            server.start()
        self.cloud.add_nat('r1', '198.51.100.10')
        self.eventually(lambda: '198.51.100.10/32' in self.announced(),
                        'it goes on')
        self.assertLess(before, self.world.values())

    def test_a_northbound_that_hangs_delays_nothing_else(self):
        self.running()
        self.nb.pause()
        # It has to write, and gets no answer; it waits, and waits again.
        started = time.monotonic()
        for chassis, announced in ((HERE, True), (cloud.OTHER, False),
                                   (HERE, True), (cloud.OTHER, False)):
            moved = time.monotonic()
            self.cloud.move('lrp-r2', chassis)
            self.eventually(
                lambda wanted=announced: (
                    '203.0.113.1/32' in self.announced()) == wanted,
                'the other planes follow')
            self.assertLess(time.monotonic() - moved, 1)
        self.cloud.move('lrp-r2', HERE)
        self.assertLess(time.monotonic() - started, 5)
        self.nb.resume()
        self.eventually(lambda: self.routes() == [cloud.HOSTNAME] * 2,
                        self.routes)

    def test_a_stop_while_northbound_hangs_is_bounded(self):
        agent = self.running(shutdown_timeout=4)
        self.nb.pause()
        started = time.monotonic()
        self.stop(agent)
        self.assertFalse(agent.complete)
        self.assertEqual(set(), self.announced())
        agent.close()
        self.assertLess(time.monotonic() - started, 10)

    def test_a_second_request_cuts_the_stop_short(self):
        agent = self.running(shutdown_timeout=60)
        self.nb.pause()
        agent.stop()
        self.eventually(lambda: not self.announced(), 'withdrawn')
        agent.stop()
        self.assertTrue(agent.wait(10))
        self.assertFalse(agent.complete)
        self.nb.resume()

    def test_a_plane_that_fails_heals(self):
        self.world.down.add('frr_static')
        self.agent()
        self.eventually(self.routes, 'the other planes')
        self.assertEqual(set(), self.announced())
        self.world.down.clear()
        self.eventually(self.announced, 'healed')


class DryRunTest(ServiceTestCase):

    def test_it_writes_nothing_and_tells_all(self):
        self.cloud.add_router('r1', chassis=HERE)
        self.cloud.add_nat('r1', '198.51.100.10')
        self.nb.transact(ovsdb.update('Gateway_Chassis', {}, priority=0))
        before = [server.content() for server in self.servers.values()]
        agent = self.agent(start=False)
        steps, outcome = agent.plan(ovsdb.DEADLINE)
        self.assertTrue(outcome.settled, outcome)
        self.assertLess(
            {('create', 'announcement'), ('create', 'default_route'),
             ('create', 'mac_binding'), ('create', 'kernel_route')},
            {(verb, resource.kind) for verb, resource in steps})
        self.assertEqual(set(), self.world.values())
        self.assertEqual(before, [server.content()
                                  for server in self.servers.values()])
