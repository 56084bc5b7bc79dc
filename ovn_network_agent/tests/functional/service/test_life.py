# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A service from its start to its end, and what a former run left."""



from ovn_network_agent import resources
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.functional.service import base as services

HERE = services.HERE


class LifeTest(services.ServiceTestCase):

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

    def test_an_end_without_a_stop_removes_nothing(self):
        """Such is the end after the death of a privileged daemon."""
        self.cloud.add_router('r1', chassis=HERE)
        agent = self.agent()
        self.eventually(lambda: agent.status.is_ready and self.announced() and
                        self.routes(), 'all is there')
        before = self.world.values(), self.routes()
        agent.close()
        agent.trigger.fire('test')
        self.assertTrue(agent.wait(ovsdb.DEADLINE))
        self.assertEqual(before, (self.world.values(), self.routes()))

    def test_the_node_is_set_up_before_ovn_is_reached(self):
        """What fails then is tried again."""
        for server in self.servers.values():
            server.kill()
        stray = resources.KernelRoute(254, '203.0.113.9/32', 'lo')
        self.world.put(stray)
        self.world.down.add('address')
        agent = self.agent()
        self.eventually(lambda: self.world.found(resources.VethPair), 'a pair')
        self.assertFalse(self.world.found(resources.Address))
        self.world.down.clear()
        self.eventually(lambda: self.world.found(resources.Address), 'healed')
        self.assertIn(stray, self.world.values())
        # Databases that come late, one after the other.
        for server in self.servers.values():
            self.assertIn(stray, self.world.values())
            server.start()
        self.eventually(lambda: stray not in self.world.values(),
                        'the first complete pass')
        self.stop(agent)

    def test_what_a_former_run_left(self):
        """It is adopted if it is wanted, and goes otherwise."""
        self.cloud.add_router('r1', chassis=HERE)
        self.cloud.add_nat('r1', '198.51.100.10')
        former = self.agent(cleanup_on_shutdown=False)
        self.eventually(lambda: len(self.announced()) == 2 and
                        self.routes() and
                        self.nb.rows('Static_MAC_Binding'), 'all is there')
        self.stop(former)
        former.close()
        adopted = self.world.values()
        rows = self.nb.rows('Logical_Router_Static_Route', '_uuid')
        self.cloud.remove_nat('r1', '198.51.100.10')
        self.cloud.add_nat('r1', '198.51.100.11')
        del self.world.journal[:]
        self.agent()
        self.eventually(lambda: self.announced() == {
            '198.51.100.1/32', '198.51.100.11/32'}, 'what is wanted now')
        self.eventually(lambda: not [
            r for r in self.world.values()
            if '198.51.100.10' in str(r)], 'what is not wanted any more')
        for verb, ref in self.world.journal:
            self.assertIn(f'198.51.100.{11 if verb == "create" else 10}',
                          str(ref))
        self.assertEqual({r for r in adopted if '100.10' not in str(r)},
                         {r for r in self.world.values()
                          if '100.11' not in str(r)})
        self.assertEqual(rows, self.nb.rows(
            'Logical_Router_Static_Route', '_uuid'))

    def test_the_node_is_prepared_before_the_first_full_pass(self):
        """Bridge, addresses, pair; then OVN; then what is announced."""
        self.cloud.add_router('r1', chassis=HERE)
        self.sb.kill()
        self.agent()
        self.eventually(lambda: self.world.found(resources.Rule), 'prepared')
        self.assertEqual(
            ['link_up', 'veth_pair', 'sysctl', 'address', 'neighbour',
             'kernel_route', 'rule'], self.world.order('create'))
        self.assertEqual([], self.routes())
        del self.world.journal[:]
        self.sb.start()
        self.eventually(self.announced, 'the first complete pass')
        self.assertNotIn('veth_pair', self.world.order('create'))
        self.assertEqual('announcement', self.world.order('create')[-1])
