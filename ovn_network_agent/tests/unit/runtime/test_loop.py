# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""How long the loop sleeps, and what may end a drain."""

import dataclasses
import errno
import os
import threading

from oslotest import base

from ovn_network_agent import resources
from ovn_network_agent.common import backoff
from ovn_network_agent.common import trigger
from ovn_network_agent.engine import reconciler
from ovn_network_agent.forward import source
from ovn_network_agent.gateways import handover
from ovn_network_agent.ovn import view
from ovn_network_agent.runtime import comparison
from ovn_network_agent.runtime import loop
from ovn_network_agent.runtime.process import status
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import seen
from ovn_network_agent.tests.unit import world
from ovn_network_agent.tests.unit.engine import gateways
from ovn_network_agent.tests.unit.gateways import views
from ovn_network_agent.watches import base as watches


class Leaving(handover.Handovers):
    """Something is due since long."""

    def due_in(self):
        return 0.0


class Torn:
    """A view that has lost its groups, which is confirmed at the third look.

    :param trigger: fired at each look until then, as by what comes next
    """

    def __init__(self, trigger):
        self._trigger = trigger
        self.looks = 0
        self.last = None

    @property
    def confirmed(self):
        return self.looks > 3

    def due_in(self):
        return None

    def snapshot(self, phase, full=False):
        self.looks += 1
        self.last = (cloud.snapshot(phase=phase) if self.looks > 1 else
                     views.view(own=5))
        if not self.confirmed:
            self._trigger.fire('test')
        return self.last


class Exhausted(source.Source):
    """The process has no file descriptor left."""

    def __init__(self, conf):
        super().__init__(conf)
        self.active = True

    def with_rules(self, snapshot):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))


class Rules(source.Source):
    """Counts how often they are read again."""

    reread_times = 0

    def reread(self):
        self.reread_times += 1


class Complaining(watches.Observer):
    """Sees a fault."""

    reasons = ('no BGP neighbour',)

    def start(self, trigger):
        pass

    def stop(self):
        pass


class PeriodicTest(base.BaseTestCase):
    """The periodic comparison keeps away from takeovers."""

    def setUp(self):
        super().setUp()
        self.conf = world.conf(drivers=['fip_route'])
        self.interval = self.conf.reconcile_interval
        self.clock = 1000.0
        self.world = world.World()
        self.seen = seen.Seen(self.conf)
        self.trigger = trigger.Trigger(0)
        self.loop = self.make()
        self.made(urgent=False)
        self.assertEqual([True], self.seen.full)

    def make(self):
        work = reconciler.Reconciler(
            [world.driver('fip_route', self.conf)],
            world.backends(self.world), lambda reason: None)
        self.addCleanup(work.close)
        return loop.Loop(self.conf, self.seen, work, self.trigger,
                         status.Status({}), threading.Event(),
                         clock=lambda: self.clock)

    def made(self, urgent):
        """A pass, and whether it compared everything."""
        self.loop._guarded_pass(trigger.Wake(('test',), urgent=urgent))
        return self.seen.full[-1]

    def restart(self):
        """A new loop, which has made its pass without OVN."""
        self.loop = self.make()
        self.loop._run_without_ovn()
        self.seen.full.clear()

    def test_the_first_view_is_compared_with_what_was_just_read(self):
        """And nothing is asked about or read again a moment later."""
        self.restart()
        readings = list(self.world.reads)
        self.assertTrue(self.made(urgent=True))
        self.clock += 1
        self.assertFalse(self.made(urgent=False))
        self.assertEqual(readings, self.world.reads)
        # The next comparison comes as after any other.
        self.assertEqual(self.interval - 1, self.loop._timeout())

    def test_what_was_read_long_before_the_first_view_is_read_again(self):
        self.restart()
        readings = list(self.world.reads)
        self.clock += self.interval
        self.assertTrue(self.made(urgent=True))
        self.assertNotEqual(readings, self.world.reads)

    def announced(self):
        return {prefix for _vrf, prefix in
                self.world.found(resources.Announcement)}

    def test_only_a_view_that_the_servers_confirm_withdraws(self):
        """Nor does a start without OVN."""
        self.seen.routers = (cloud.router(fips=['198.51.100.10']),)
        self.made(urgent=False)
        announced = self.announced()
        self.assertEqual({'198.51.100.1/32', '198.51.100.10/32'}, announced)
        self.seen.routers, self.seen.last = (), None
        self.seen.confirmed = False
        self.restart()
        self.assertEqual(announced, self.announced())
        self.made(urgent=False)
        self.assertEqual(announced, self.announced())
        self.seen.confirmed = True
        self.made(urgent=False)
        self.assertEqual(set(), self.announced())

    def test_it_waits_until_the_addresses_are_announced(self):
        self.clock += self.interval
        self.seen.routers = (cloud.router(fips=['198.51.100.10']),)
        self.assertFalse(self.made(urgent=True))
        self.clock += comparison.AFTER_TAKEOVER / 2
        self.assertFalse(self.made(urgent=False))
        # And it does not spin meanwhile.
        self.assertGreater(self.loop._timeout(), 0.0)
        self.clock += comparison.AFTER_TAKEOVER / 2
        self.assertTrue(self.made(urgent=False))

    def test_takeovers_do_not_put_it_off_for_ever(self):
        self.clock += self.interval
        self.assertFalse(self.made(urgent=True))
        self.clock += comparison.LATEST
        self.assertTrue(self.made(urgent=True))

    def test_one_that_takes_long_leaves_as_much_time_for_all_else(self):
        def starve():
            self.clock += 3 * self.interval

        self.clock += self.interval
        self.seen.meanwhile = starve
        self.assertTrue(self.made(urgent=False))
        self.seen.meanwhile = lambda: None
        self.assertFalse(self.made(urgent=False))
        self.assertGreater(self.loop._timeout(), 2 * self.interval)
        self.clock += 3 * self.interval
        self.assertTrue(self.made(urgent=False))

    def test_what_observers_say_is_the_first_reason(self):
        """Without BGP, for example, no default route comes in."""
        self.loop._observers = [Complaining()]
        self.seen.routers = (dataclasses.replace(
            cloud.router(), problems=('a row is malformed',)),)
        self.made(urgent=False)
        first, *others = self.loop._status.reasons
        self.assertEqual('no BGP neighbour', first)
        self.assertIn('a row is malformed', ' '.join(others))

    def _reload_with_interval(self, seconds):
        self.loop._conf.set_override('reconcile_interval', seconds)
        self.loop.reload()
        self.loop._apply_configuration()
        self.assertTrue(self.made(urgent=False))

    def test_a_longer_interval_counts_for_the_next_comparison(self):
        self.clock += self.interval / 2
        self._reload_with_interval(10 * self.interval)
        self.clock += 2 * self.interval
        self.assertFalse(self.made(urgent=False))
        self.clock += 8 * self.interval
        self.assertTrue(self.made(urgent=False))

    def test_a_shorter_interval_counts_for_the_next_comparison(self):
        self._reload_with_interval(self.interval // 4)
        self.clock += self.interval // 4
        self.assertTrue(self.made(urgent=False))

    def test_reloads_do_not_put_the_comparison_off(self):
        for _reload in range(3):
            self.clock += self.interval / 4
            self._reload_with_interval(self.interval)
        self.clock += self.interval / 4
        self.assertTrue(self.made(urgent=False))
        self.assertFalse(self.made(urgent=False))

    def test_a_reload_does_not_wait(self):
        self.loop.reload()
        self.loop._apply_configuration()
        self.assertTrue(self.made(urgent=True))


class FirstTest(base.BaseTestCase):
    """The pass with the first view is the first comparison."""

    def test_drivers_are_asked_once_although_ovn_comes_late(self):
        conf = world.conf(drivers=['fip_route'])
        clock = [1000.0]
        driver = world.driver('fip_route', conf, gateways.Counting)
        late = seen.Seen(conf, *map(cloud.router, range(3)))
        errors = [view.NotReady('not yet')]

        def away():
            if errors:
                raise errors.pop()
        late.meanwhile = away
        work = reconciler.Reconciler(
            [driver], world.backends(world.World()), lambda reason: None)
        self.addCleanup(work.close)
        made = loop.Loop(conf, late, work, trigger.Trigger(0),
                         status.Status({}), threading.Event(),
                         clock=lambda: clock[0])
        # Before and after the time at which the loop tries again by itself.
        for seconds in (0, 0.6, 0.6):
            clock[0] += seconds * backoff.FIRST
            made._guarded_pass(trigger.Wake(('test',)))
        self.assertEqual(3, len(driver.asked))
        self.assertEqual(3, len({*driver.asked}))
