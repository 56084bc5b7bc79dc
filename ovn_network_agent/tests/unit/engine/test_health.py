# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The health of each backend after a pass, and what is said of drift."""

import time

from oslotest import base

from ovn_network_agent import resources
from ovn_network_agent.engine import health
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit.engine import gateways


class HealthTest(gateways.OneGatewayTestCase):

    def health(self, name):
        found, = (each for each in self.made.reconciler.health
                  if each.name == name)
        return found

    def test_before_the_first_pass(self):
        self.assertEqual(
            {('not read', None)},
            {(each.state, each.read) for each in self.made.reconciler.health})

    def test_all_is_well(self):
        before = time.time()
        self.run_pass()
        for each in self.made.reconciler.health:
            self.assertEqual(('ok', '', 0, None, ()), (
                each.state, each.unreadable, each.failed, each.retry,
                each.repairs))
            self.assertLessEqual(before, each.read)
            self.assertEqual(1000.0, each.looked)

    def test_a_backend_that_is_down(self):
        self.run_pass()
        read = self.health('route').read
        self.made.world.down.add('route')
        self.made.clock += 10
        self.run_pass(stale=['route'])
        route = self.health('route')
        self.assertEqual(('failing', 'route is down', 0, 1011.0, 1010.0),
                         (route.state, route.unreadable, route.failed,
                          route.retry, route.looked))
        self.assertEqual(read, route.read)
        self.assertEqual('ok', self.health('rule').state)

    def test_what_is_refused_and_what_waits(self):
        self.made.world.refuses[gateways.ROUTE] = 'no space'
        self.run_pass()
        route = self.health('route')
        self.assertEqual(('failing', '', 1, 'no space'), (
            route.state, route.unreadable, route.failed, route.reason))
        static = self.health('frr_static')
        self.assertEqual(('failing', 1), (static.state, static.failed))
        self.assertIn('waits for kernel_route', static.reason)

    def test_a_backend_at_work(self):
        northbound = self.made.backend('northbound')
        northbound.concurrent = True
        self.addCleanup(northbound.gate.set)
        northbound.gate.clear()
        self.run_pass()
        self.assertEqual('at work', self.health('northbound').state)
        northbound.gate.set()
        self.assertTrue(self.made.reconciler.wait_for_threads(10))
        self.run_pass()
        self.assertEqual('ok', self.health('northbound').state)

    def test_drift_is_counted(self):
        self.run_pass()
        before = time.time()
        for expected in (1, 2):
            self.made.world.objects.pop(gateways.ROUTE)
            self.run_pass(stale=['route'])
            repair, = self.health('route').repairs
            self.assertEqual(('kernel_route', expected),
                             (repair.kind, repair.count))
            self.assertLessEqual(before, repair.last)
        # What the agent removes itself is no drift.
        self.made.run(cloud.router(), full=True)
        self.assertEqual(2, self.health('route').repairs[0].count)


FIP = '198.51.100.10'


class DriftTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.gateway = gateways.Gateway()
        self.addCleanup(self.gateway.reconciler.close)
        self.router = cloud.router(fips=[FIP])
        self.gateway.run(self.router)

    def steal(self, kind=resources.Announcement):
        """Somebody removes what is ours, and a pass looks."""
        for key in self.gateway.world.found(kind):
            del self.gateway.world.objects[resources.Ref(kind.kind, key)]
        return self.look()

    def look(self, **how):
        with self.assertLogs(health.__name__, 'DEBUG') as logs:
            health.LOG.debug('begin')
            self.gateway.run(self.router, **{'full': True, **how})
        return [record.levelname for record in logs.records[1:]]

    def test_three_in_a_row_are_an_error(self):
        self.assertEqual(['WARNING'], self.steal())
        self.assertEqual(['WARNING'], self.steal())
        self.assertEqual(['ERROR'], self.steal())
        self.assertEqual(['ERROR'], self.steal())
        self.assertIn(FIP + '/32', self.gateway.addresses())

    def test_a_clean_pass_resets(self):
        # Trap T38: the count does not stand still after a quiet time.
        for _round in range(3):
            self.assertEqual(['WARNING'], self.steal())
            self.assertEqual(['WARNING'], self.steal())
            self.assertEqual([], self.look())

    def test_a_pass_that_reads_nothing_says_nothing(self):
        self.steal()
        self.assertEqual([], self.look(full=False))
        self.assertEqual(['WARNING'], self.steal())
        self.assertEqual([], self.look(full=False))
        self.assertEqual(['ERROR'], self.steal())

    def test_each_backend_for_itself(self):
        for _round in range(2):
            self.steal()
        self.assertEqual(['WARNING'], self.steal(resources.KernelRoute))

    def test_what_another_agent_takes_over_is_no_drift(self):
        kind, world = resources.DefaultRoute, self.gateway.world
        self.assertEqual(['WARNING'], self.steal(kind))
        world.taken |= {ref for ref in world.objects if ref.kind == kind.kind}
        self.assertEqual([], self.steal(kind))
        # This agent still wants it.
        self.assertLessEqual(world.taken, world.objects.keys())

    def test_what_another_run_left_is_no_drift(self):
        self.gateway.start()
        stray = resources.KernelRoute(254, '203.0.113.9/32', 'br-ex')
        self.gateway.world.put(stray)
        self.assertEqual([], self.look())
        self.assertNotIn(stray, self.gateway.world.values())
