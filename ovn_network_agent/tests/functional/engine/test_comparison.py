# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Routes of the kernel, compared in parts with events between them."""

import re
import threading

from ovn_network_agent.backends.kernel import route
from ovn_network_agent.common import trigger
from ovn_network_agent.engine import reconciler
from ovn_network_agent.runtime import loop
from ovn_network_agent.runtime.process import status
from ovn_network_agent.tests import monitors
from ovn_network_agent.tests.functional.netlink import base
from ovn_network_agent.tests.unit import world as worlds
from ovn_network_agent.tests.unit.runtime import pieced

MORE = '198.51.100.20'


class RoutesTest(base.KernelTestCase):

    rules_file = ''

    def setUp(self):
        super().setUp()
        self.bridge_up()
        self.clock = 1000.0
        conf = self.configure(announce_method='kernel')
        self.interval = conf.reconcile_interval
        self.seen = pieced.Pieced(conf)
        world = worlds.World()
        work = reconciler.Reconciler(
            [worlds.driver('fip_route', conf)],
            [route.RouteBackend(conf), *(
                worlds.WorldBackend(name, world) for name in worlds.BACKENDS
                if name != 'route')], lambda reason: None)
        self.addCleanup(work.close)
        work.large = lambda at_most: ['route']
        self.loop = loop.Loop(conf, self.seen, work, trigger.Trigger(0),
                              status.Status({}), threading.Event(),
                              clock=lambda: self.clock)
        self.part()

    def part(self):
        self.loop._guarded_pass(trigger.Wake(('interval',)))

    def event(self):
        self.loop._guarded_pass(trigger.Wake(('test',), fired_at=self.clock))

    def mark(self, number):
        """A change that is none of the agent."""
        self.ip(f'address add 192.0.2.{number:d}/32 dev lo')

    def test_only_the_event_changes_a_route(self):
        """Before and after the reading, in each place of a comparison."""
        self.assertIn(pieced.FIPS[0], self.routes())
        parts = len(self.seen.cut) + 2
        for before in range(parts):
            for fips, deleted in (([*pieced.FIPS, MORE], ''),
                                  (pieced.FIPS, 'Deleted ')):
                self.clock += self.interval
                with monitors.telling(
                        ['ip', '-o', 'monitor', 'route', 'address'],
                        self.mark, re.compile(
                            r'inet 192\.0\.2\.([0-9]+)/32')) as told:
                    for number in range(parts):
                        if number == before:
                            self.seen.fips = fips
                            self.event()
                        self.part()
                    lines = [line for line in told()
                             if '198.51.100.' in line]
                self.assertGreater(self.loop._timeout(), 0)
                self.assertEqual(1, len(lines), lines)
                self.assertTrue(lines[0].startswith(deleted + MORE), lines)
                self.ip('address flush dev lo')

    def test_a_route_that_goes_between_two_parts_comes_back(self):
        self.clock += self.interval
        self.part()
        self.ip(f'route delete {pieced.FIPS[0]}/32 dev br-ex')
        for _part in range(len(self.seen.cut) + 1):
            self.part()
        self.assertIn(pieced.FIPS[0], self.routes())
