# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A periodic comparison in parts, with events between them."""

import threading

import fixtures
from oslotest import base

from ovn_network_agent import resources
from ovn_network_agent.common import trigger
from ovn_network_agent.engine import reconciler
from ovn_network_agent.runtime import loop
from ovn_network_agent.runtime.process import status
from ovn_network_agent.tests.unit import world as worlds
from ovn_network_agent.tests.unit.runtime import pieced

FIPS = pieced.FIPS
MORE = '198.51.100.20'


def route(address):
    return resources.Ref('kernel_route', (254, address + '/32'))


class Meeting(worlds.WorldBackend):
    """Something happens while the world is read.

    :ivar meanwhile: function that is called once in a reading
    """

    meanwhile = None

    def read(self, known):
        found = super().read(known)
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile:
            meanwhile()
        return found


class PartsTest(base.BaseTestCase):

    # Three batches, four backends with many objects, and all the others.
    PARTS = 8

    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.MonkeyPatch(
            'ovn_network_agent.ovn.queries.BATCH_SIZE', 2))
        conf = worlds.conf(drivers=['fip_route'])
        self.interval = conf.reconcile_interval
        self.clock = 1000.0
        self.seen = pieced.Pieced(conf)
        self.world = worlds.World()
        self.backends = [Meeting(name, self.world) for name in worlds.BACKENDS]
        work = reconciler.Reconciler([worlds.driver('fip_route', conf)],
                                     self.backends, lambda reason: None)
        self.addCleanup(work.close)
        self.loop = loop.Loop(conf, self.seen, work, trigger.Trigger(0),
                              status.Status({}), threading.Event(),
                              clock=lambda: self.clock)
        self.part()
        self.assertEqual(['full'], self.seen.looks)
        self.begin()

    def begin(self):
        """A comparison is due, and nothing has happened so far."""
        self.clock += self.interval
        del self.seen.looks[:], self.world.journal[:], self.world.reads[:]

    def part(self):
        """A pass without an event."""
        self.loop._guarded_pass(trigger.Wake(('interval',)))

    def event(self, urgent=False):
        self.loop._guarded_pass(trigger.Wake(('test',), urgent=urgent,
                                             fired_at=self.clock))

    @property
    def over(self):
        """Whether nothing is left of the comparison."""
        return self.loop._timeout() > 0

    def end(self):
        """The rest of the comparison; returns the number of its parts."""
        made = 0
        while not self.over:
            self.part()
            made += 1
        return made

    def test_each_piece_and_each_backend_has_its_turn(self):
        self.assertEqual(self.PARTS, self.end())
        self.assertEqual([0, 1, 2], self.seen.looks[:3])
        # The last batches have been a full look.
        self.assertNotIn('full', self.seen.looks)
        self.assertCountEqual(worlds.BACKENDS, self.world.reads)

    def test_an_event_comes_before_the_next_part(self):
        for _number in range(self.PARTS - 1):
            self.event()
            self.assertEqual('', self.seen.looks[-1])
            before = len(self.world.reads)
            self.part()
            self.assertLessEqual(len(self.world.reads) - before, 1)
        self.assertFalse(self.over)
        self.part()
        self.assertTrue(self.over)

    def test_events_without_end_do_not_hold_it_up(self):
        for _number in range(2 * self.PARTS):
            self.event()
        self.assertTrue(self.over)
        self.assertCountEqual(worlds.BACKENDS, self.world.reads)

    def test_what_an_event_makes_or_removes_stays_so(self):
        """Between any two parts, also after the reading of its backend."""
        for before in range(self.PARTS):
            for fips, verb in (([*FIPS, MORE], 'create'), (FIPS, 'delete')):
                for _part in range(before):
                    self.part()
                self.seen.fips = fips
                self.event()
                self.end()
                self.assertEqual(
                    [verb], [done for done, ref in self.world.journal
                             if ref == route(MORE)])
                self.assertEqual({verb}, {
                    done for done, _ref in self.world.journal})
                self.assertEqual(verb == 'create',
                                 route(MORE) in self.world.objects)
                self.begin()

    def test_an_event_during_a_reading_finds_what_was_read(self):
        """The reading is older than the event, and ends before it."""
        routes = next(b for b in self.backends if b.name == 'route')
        for fips, verb in (([*FIPS, MORE], 'create'), (FIPS, 'delete')):
            routes.meanwhile = lambda wanted=fips: setattr(
                self.seen, 'fips', wanted)
            while 'route' not in self.world.reads:
                self.part()
            self.assertEqual([], self.world.journal)
            self.event()
            self.end()
            self.assertEqual([verb], [done for done, ref
                                      in self.world.journal
                                      if ref == route(MORE)])
            self.begin()

    def test_drift_is_repaired_by_the_part_that_reads_it(self):
        del self.world.objects[route(FIPS[0])]
        self.world.put(resources.KernelRoute(254, MORE + '/32', 'br-ex'))
        while 'route' not in self.world.reads:
            self.part()
        self.assertIn(route(FIPS[0]), self.world.objects)
        self.assertNotIn(route(MORE), self.world.objects)
        self.assertFalse(self.over)

    def test_a_gateway_that_moves_does_not_wait_for_a_part(self):
        self.part()
        for _event in range(3):
            self.event(urgent=True)
            self.assertEqual('', self.seen.looks[-1])
        self.assertGreater(self.PARTS, self.end())

    def test_a_part_that_fails_has_everything_compared_at_once(self):
        self.seen.fails_at = 1
        self.part()
        self.part()
        self.clock += self.interval
        self.part()
        self.assertEqual('full', self.seen.looks[-1])
        self.assertTrue(self.over)

    def test_a_reload_has_everything_compared_at_once(self):
        self.part()
        self.loop._schedule.reloaded = True
        self.part()
        self.assertEqual([0, 'full'], self.seen.looks)
        self.assertTrue(self.over)
