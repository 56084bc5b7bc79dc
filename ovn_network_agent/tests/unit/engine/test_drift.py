# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""How loudly it is said that something had to be made again."""

from oslotest import base

from ovn_network_agent import resources
from ovn_network_agent.engine import drift
from ovn_network_agent.tests.unit import world as worlds
from ovn_network_agent.tests.unit.engine import gateways

FIP = '198.51.100.10'


class DriftTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.gateway = gateways.Gateway()
        self.addCleanup(self.gateway.reconciler.close)
        self.router = worlds.router(fips=[FIP])
        self.gateway.run(self.router)

    def steal(self, kind=resources.Announcement):
        """Somebody removes what is ours, and a pass looks."""
        for key in self.gateway.world.found(kind):
            del self.gateway.world.objects[resources.Ref(kind.kind, key)]
        return self.look()

    def look(self, **how):
        with self.assertLogs(drift.__name__, 'DEBUG') as logs:
            drift.LOG.debug('begin')
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
