# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The first routers are announced while drivers are asked about the others."""

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.engine import executor
from ovn_network_agent.engine import passes
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import world as worlds
from ovn_network_agent.tests.unit.engine import gateways

FRR = ('frr_static', 'frr_prefix_list')
LAST_FIP = '198.51.100.20'
FIRST = cloud.router(1, [gateways.FIP])
LAST = cloud.router(2, [LAST_FIP])


class Asked(gateways.Counting):
    """Calls a function when it is asked about a floating IP."""

    at = {}

    def resources(self, subject, node):
        if isinstance(subject, model.ServedAddress):
            self.at.get(subject.address, lambda: None)()
        return super().resources(subject, node)


class AheadTestCase(gateways.ReconcilerTestCase):
    """With a gateway that has read its systems and knows no router."""

    def setUp(self):
        super().setUp()
        self.made = self.gateway(
            threads=lambda wake: executor.Threads(wake, 5))
        self.made.drivers[0] = self.driver = worlds.driver(
            'fip_route', self.made.conf, Asked)
        self.driver.at = {}
        self.made.start()
        for name in FRR:
            self.made.backend(name).system = 'FRR'
        self.static = self.made.backend('frr_static')
        self.made.run(prune=False)
        del self.made.world.journal[:]

    def run_pass(self, *routers, first=(FIRST,), urgent=True, stale=()):
        return self.made.reconciler.run(passes.Pass(
            cloud.snapshot(*(routers or (FIRST, LAST))), stale, urgent=urgent,
            first_part=cloud.snapshot(*first)))

    def finished(self, *routers):
        """The outcome when FRR has ended, and all that follows is made."""
        self.assertTrue(self.made.reconciler.wait_for_threads(10))
        self.made.clock += 1
        return self.made.run(*(routers or (FIRST, LAST)))

    def begun(self):
        """The prefixes that FRR is working on, a set."""
        delta = self.made.threads.changing().get('frr_static')
        return {r.prefix for r in delta.create} if delta else set()


class AheadTest(AheadTestCase):

    def test_frr_works_while_the_drivers_are_asked(self):
        self.static.gate.clear()
        found = []

        def asked():
            found.append((self.begun(), self.made.addresses()))
            self.static.gate.set()
        self.driver.at[LAST_FIP] = asked
        self.run_pass()
        self.assertEqual([({gateways.DST, '198.51.100.1/32'}, set())], found)
        # Nobody is asked twice.
        self.assertEqual([FIRST.uuid, LAST.uuid], self.driver.asked)
        self.assertEqual(
            ['198.51.100.1', gateways.FIP, '198.51.100.2', LAST_FIP],
            sorted(self.driver.asked_addresses))
        self.assertTrue(self.finished().settled)
        self.assertEqual({gateways.DST, '198.51.100.1/32', '198.51.100.2/32',
                          LAST_FIP + '/32'}, self.made.addresses())

    def test_the_prerequisites_come_first(self):
        found = []
        self.driver.at[LAST_FIP] = lambda: found.append(
            set(self.made.world.objects))
        self.static.gate.clear()
        self.addCleanup(self.static.gate.set)
        self.made.threads.patience = 0.05
        self.run_pass()
        there, = found
        self.assertIn(gateways.ROUTE, there)
        self.assertIn('prefix_list_entry', {ref.kind for ref in there})
        self.assertNotIn(gateways.HAIRPIN, there)
        self.assertNotIn(gateways.ANNOUNCEMENT, there)

    def test_without_its_route_an_address_is_not_announced(self):
        self.made.world.refuses[gateways.ROUTE] = 'no memory'
        self.run_pass()
        self.finished()
        self.assertEqual({'198.51.100.1/32', '198.51.100.2/32',
                          LAST_FIP + '/32'}, self.made.addresses())

    def test_the_pass_names_all_that_it_has_announced(self):
        """The metrics, and the time of a takeover, come from that."""
        self.static.awaited_at_most = 2
        outcome = self.run_pass(FIRST, cloud.router(
            2, [LAST_FIP, '198.51.100.21']), first=(FIRST,))
        # FRR is through with the first ones.
        self.assertEqual(
            {gateways.DST, '198.51.100.1/32'},
            {r.prefix for verb, r in outcome.applied
             if r.kind == resources.Announcement.kind})
        self.assertIn('frr_static', outcome.pending)
        self.assertTrue(outcome.announces)
        self.assertFalse(self.finished(FIRST, cloud.router(
            2, [LAST_FIP, '198.51.100.21'])).announces)

    def test_a_frr_that_hangs_holds_up_nothing_else(self):
        self.static.gate.clear()
        self.addCleanup(self.static.gate.set)
        self.made.threads.patience = 0.05
        outcome = self.run_pass()
        self.assertEqual({}, outcome.failures)
        self.assertIn('frr_static', outcome.pending)
        routes = self.made.world.found(resources.KernelRoute)
        self.assertLessEqual({(254, gateways.DST), (254, LAST_FIP + '/32')},
                             set(routes))
        self.assertEqual(set(), self.made.addresses())
        self.static.gate.set()
        self.finished()
        self.assertTrue(self.finished().settled)
        self.assertEqual(4, len(self.made.addresses()))

    def test_the_end_is_the_same(self):
        """Also where two routers want another flow for the same address."""
        routers = FIRST, cloud.router(2, [gateways.FIP, LAST_FIP])
        other = self.gateway()
        other.run(*routers)
        expected = other.world.values()
        self.assertTrue(any(gateways.HAIRPIN == ref for ref in (
            other.reconciler.run(passes.Pass(
                cloud.snapshot(*routers))).failures)))
        self.run_pass(*routers)
        self.finished(*routers)
        self.assertEqual(expected, self.made.world.values())
        # Nothing was another thing first.
        self.assertNotIn('update', {verb for verb, ref
                                    in self.made.world.journal
                                    if ref.kind not in ('sysctl', 'link_up')})


class NotAheadTest(AheadTestCase):
    """Nothing is made before all drivers have answered."""

    def setUp(self):
        super().setUp()
        self.found = []
        self.driver.at[LAST_FIP] = lambda: self.found.append(
            (list(self.made.world.journal), self.begun()))

    def check(self):
        self.assertEqual([([], set())], self.found)
        self.assertTrue(self.finished().settled)
        self.assertEqual(4, len(self.made.addresses()))

    def test_without_a_takeover(self):
        self.run_pass(urgent=False)
        self.check()

    def test_in_doubt(self):
        """What FRR has is read first."""
        self.made.reconciler.invalidate(['frr_static'])
        reads = len(self.made.world.reads)
        self.run_pass()
        self.assertIn('frr_static', self.made.world.reads[reads:])
        self.check()

    def test_where_the_loop_itself_announces(self):
        self.static.system = ''
        self.run_pass()
        self.check()

    def test_where_all_is_announced(self):
        """After a restart of the agent."""
        self.run_pass()
        self.finished()
        self.finished()
        self.made.start()
        self.made.run(prune=False)
        self.found.clear()
        del self.made.world.journal[:]
        self.run_pass()
        self.check()
        self.assertEqual([], self.made.world.journal)
