# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What the loop's work does to the metrics; the systems are a small world."""

import threading

from oslotest import base

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.common import trigger
from ovn_network_agent.engine import outcome
from ovn_network_agent.engine import passes
from ovn_network_agent.engine import reconciler
from ovn_network_agent.metrics import collection
from ovn_network_agent.metrics import declared
from ovn_network_agent.metrics import store
from ovn_network_agent.runtime import loop
from ovn_network_agent.runtime import pass_log
from ovn_network_agent.runtime.process import shutdown
from ovn_network_agent.runtime.process import status
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import seen
from ovn_network_agent.tests.unit import world
from ovn_network_agent.tests.unit.metrics import test_store

FIP = '198.51.100.10'


class CollectionTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.conf = world.conf()
        self.world = world.World()
        self.clock = 1000.0
        self.backends = world.backends(self.world)
        self.seen = seen.Seen(self.conf)
        self.record = collection.Collection(
            self.backends, lambda: self.clock, lambda: 1.7e9)
        self.record.store = store.Store(
            {'backend': self.record.backends, 'kind': self.record.kinds},
            lambda: {**self.record.gauges, 'reconcile_in_progress': int(
                self.loop.passes.running is not None)})
        drivers = [world.driver(name, self.conf)
                   for name in ('fip_route', 'veth_leak')]
        self.work = reconciler.Reconciler(
            drivers, self.backends, lambda reason: None, lambda: self.clock)
        self.addCleanup(self.work.close)
        self.loop = loop.Loop(
            self.conf, self.seen, self.work, trigger.Trigger(0),
            status.Status({}), threading.Event(), clock=lambda: self.clock,
            counters=self.record)

    def made(self, woken_at=None, **values):
        """A pass."""
        self.loop._guarded_pass(trigger.Wake(('test',), fired_at=woken_at,
                                             **values))

    def value(self, name, **labels):
        page = test_store.samples(self.record.store.page().decode())
        return page.get((declared.PREFIX + name, frozenset(labels.items())))

    def by_driver(self, state, driver='fip_route'):
        return self.value('announcements', driver=driver, state=state)

    def announces(self, *addresses):
        self.seen.routers = (cloud.router(fips=addresses),)

    def test_before_anything(self):
        self.assertEqual(0, self.value('reconcile_in_progress'))
        for name in ('desired_ips', 'announced_ips', 'failed_resources',
                     'hairpin_flows_desired', 'left_out',
                     'last_reconcile_timestamp_seconds'):
            self.assertIsNone(self.value(name), name)
        self.assertIsNone(self.value('backend_readable', backend='route'))

    def test_passes_by_trigger(self):
        self.made()
        self.made(woken_at=999.9)
        self.clock += self.conf.reconcile_interval
        self.made()
        for word, times in (('startup', 1), ('event', 1), ('periodic', 1),
                            ('stop', 0)):
            self.assertEqual(times, self.value('reconcile_total',
                                               trigger=word), word)
        self.assertEqual(3, self.value('reconcile_duration_seconds_count'))
        self.assertEqual(1.7e9, self.value('last_reconcile_timestamp_seconds'))

    def test_a_pass_that_fails(self):
        def fail():
            raise OSError('broken')
        self.seen.meanwhile = fail
        self.made()
        self.assertEqual(1, self.value('reconcile_failures_total'))
        self.assertEqual(1, self.value('reconcile_duration_seconds_count'))
        self.assertEqual(0, self.value('reconcile_in_progress'))
        self.assertEqual(0, self.value('reconcile_total', trigger='startup'))

    def test_a_pass_is_in_progress_while_it_runs(self):
        found = []
        self.backends[1].read = lambda known: found.append(
            self.value('reconcile_in_progress')) or []
        self.made()
        self.assertEqual([1], found)

    def test_announcements(self):
        self.made()
        self.assertEqual(0, self.value('announced_ips'))
        self.announces(FIP)
        self.clock += 0.25
        self.made(woken_at=1000.0)
        # The address of the gateway port is announced, too.
        self.assertEqual(2, self.value('desired_ips'))
        self.assertEqual(2, self.value('announced_ips'))
        self.assertEqual(2, self.by_driver('announced'))
        self.assertEqual(1, self.value('announce_seconds_count'))
        self.assertEqual(0.25, self.value('announce_seconds_sum'))
        self.assertEqual(2, self.value('changes_total', kind='announcement',
                                       verb='created'))
        self.assertGreater(self.value('backend_apply_seconds_count',
                                      backend='frr_static'), 0)
        self.seen.routers = ()
        self.made(woken_at=self.clock)
        self.assertEqual(0, self.value('desired_ips'))
        self.assertEqual(0, self.by_driver('announced'))
        self.assertEqual(1, self.value('announce_seconds_count'))

    def test_what_is_here_at_the_start_is_not_timed(self):
        self.announces(FIP)
        self.made(woken_at=1.0)
        self.assertEqual(2, self.value('announced_ips'))
        self.assertEqual(0, self.value('announce_seconds_count'))
        self.assertEqual(0, self.value('takeovers_total'))

    def test_a_takeover(self):
        self.made()
        self.announces(FIP)
        self.made(woken_at=self.clock, urgent=True)
        self.assertEqual(1, self.value('takeovers_total'))
        self.assertEqual(1, self.value('failover_announce_seconds_count'))
        # The count of the addresses waits for the pass that follows.
        self.assertEqual(0, self.value('announced_ips'))
        self.clock += reconciler.PAUSE
        self.made()
        self.assertEqual(2, self.value('announced_ips'))

    def test_the_clock_of_an_announcement_goes_on_while_frr_works(self):
        tracker = self.work.tracker
        made = resources.Announcement('vrf-provider', FIP + '/32',
                                      '169.254.0.1')

        def passed(woken_at, **values):
            self.record.made(pass_log.Passed(
                'event', woken_at, outcome.Outcome(**values), tracker, False))
        passed(1000.0, pending=('frr_static',))
        self.clock = 1004.0
        passed(1003.5, applied=(('created', made),))
        self.assertEqual(4.0, self.value('announce_seconds_sum'))
        passed(1003.75, applied=(('created', made),))
        self.assertEqual(4.25, self.value('announce_seconds_sum'))

    def test_a_backend_that_cannot_be_read(self):
        self.made()
        self.assertEqual(1, self.value('backend_readable', backend='route'))
        self.world.down.add('route')
        for _pass in range(2):
            self.made(stale=frozenset(['route']))
        self.assertEqual(0, self.value('backend_readable', backend='route'))
        self.assertEqual(1, self.value('backend_readable', backend='flow'))
        self.assertEqual(1, self.value('backend_failures_total',
                                       backend='route'))
        self.world.down.clear()
        self.made(revived=frozenset(['route']))
        self.assertEqual(1, self.value('backend_readable', backend='route'))

    def test_what_is_refused(self):
        self.made()
        prefix = FIP + '/32'
        ref = resources.Ref(resources.Announcement.kind,
                            ('vrf-provider', prefix))
        self.world.refuses[ref] = 'no'
        self.announces(FIP)
        self.made()
        self.assertEqual((2, 1), (self.value('desired_ips'),
                                  self.value('announced_ips')))
        self.assertEqual((1, 1), (self.by_driver('announced'),
                                  self.by_driver('missing')))
        self.assertEqual(1, self.value('failed_resources',
                                       kind='announcement'))
        self.assertEqual(0, self.value('failed_resources', kind='rule'))

    def test_a_flow_that_is_refused_counts_once(self):
        self.announces(FIP)
        self.made()
        flow = next(resource for resource
                    in self.world.found(resources.Flow).values()
                    if resource.cookie == ownership.COOKIE_HAIRPIN)
        self.assertEqual(0, self.value('ovs_flow_apply_errors_total',
                                       flow='hairpin'))
        self.world.refuses[flow.ref] = 'no'
        del self.world.objects[flow.ref]
        for _pass in range(2):
            self.made(revived=frozenset(['flow']))
        self.assertEqual(1, self.value('ovs_flow_apply_errors_total',
                                       flow='hairpin'))
        self.assertEqual(1, self.value('ovs_flow_drift_total', flow='hairpin'))
        desired = self.value('hairpin_flows_desired')
        self.assertEqual(desired - 1, self.value('hairpin_flows_installed'))

    def test_drift(self):
        self.announces(FIP)
        self.made()
        for times in (1, 2):
            lost = next(iter(self.world.found(resources.KernelRoute)))
            del self.world.objects[resources.Ref(
                resources.KernelRoute.kind, lost)]
            self.made(stale=frozenset(['route']))
            self.assertEqual(times, self.value('repairs_total',
                                               kind='kernel_route'))
            self.assertEqual(times, self.value('route_drift_total',
                                               plane='kernel'))
            self.assertEqual(times, self.value('consecutive_readds',
                                               backend='route'))
        self.assertEqual(0, self.value('route_drift_total', plane='frr'))
        self.made(stale=frozenset(['route']))
        self.assertEqual(0, self.value('consecutive_readds', backend='route'))

    def test_lines_of_frr_that_others_removed(self):
        self.announces(FIP)
        self.made()
        for kind, backend in (
                (resources.PrefixListEntry, 'frr_prefix_list'),
                (resources.Announcement, 'frr_static')):
            lost = next(iter(self.world.found(kind)))
            del self.world.objects[resources.Ref(kind.kind, lost)]
            self.made(stale=frozenset([backend]))
            self.assertEqual(1, self.value('repairs_total', kind=kind.kind))

    def test_each_reading_is_timed(self):
        self.announces(FIP)
        self.made()
        before = self.value('backend_read_seconds_count', backend='route')
        self.assertGreaterEqual(before, 1)
        self.made(stale=frozenset(['route']))
        self.made()
        self.assertEqual(before + 1, self.value(
            'backend_read_seconds_count', backend='route'))

    def test_stale_routes(self):
        gone, refused = (
            resources.StaleRoute(router, 'lrp', '198.51.100.254',
                                 ownership.Owner('gw9'))
            for router in ('r1', 'r2'))
        self.record.made(pass_log.Passed('event', None, outcome.Outcome(
            applied=(('deleted', gone),), failures={refused.ref: 'no'}),
            self.work.tracker, False))
        for result in declared.RESULTS:
            self.assertEqual(1, self.value('stale_chassis_cleanup_total',
                                           result=result))

    def test_reloads_and_drains(self):
        self.record.reloaded(True)
        self.record.reloaded(False)
        self.record.drained('completed', 3.0)
        self.record.drained('noop', 0.0)
        for result in declared.RESULTS:
            self.assertEqual(1, self.value('config_reload_total',
                                           result=result))
        self.assertEqual(1, self.value('drain_total', result='completed'))
        self.assertEqual(1, self.value('drain_duration_seconds_count'))

    def test_the_clean_up_counts_too(self):
        self.announces(FIP)
        self.made()
        ended = shutdown.Ending(
            self.conf, self.seen, self.work, trigger.Trigger(0),
            threading.Event(), None, self.loop._forwards, self.record)
        self.assertTrue(ended.run())
        self.assertEqual(0, self.value('announced_ips'))
        self.assertEqual(0, self.value('desired_ips'))
        self.assertEqual(2, self.value('changes_total', kind='announcement',
                                       verb='deleted'))
        self.assertGreater(self.value('reconcile_total', trigger='stop'), 0)

    def test_the_clean_up_after_a_takeover(self):
        self.test_a_takeover()
        self.record.made(pass_log.Passed(
            'stop', None, outcome.Outcome(), self.work.tracker, True))
        self.assertEqual(1, self.value('takeovers_total'))

    def test_an_error_of_the_metrics_does_not_reach_the_loop(self):
        self.record.store = None
        self.loop._record = pass_log.Guarded(self.record)
        self.announces(FIP)
        self.made()
        self.assertEqual(2, len(self.world.found(resources.Announcement)))
        self.assertEqual((), self.loop._status.reasons)

    def test_a_dry_run_counts_nothing(self):
        self.announces(FIP)
        self.work.plan(self.seen.snapshot(model.Phase.RUNNING))
        self.assertIsNone(self.value('desired_ips'))

    def test_the_cost_of_a_pass_without_changes(self):
        """Nothing is counted one by one."""
        self.announces(FIP)
        self.made()
        self.work.tracker.wanted = lambda kinds=None: self.fail('counted')
        self.loop._reconciler.run(passes.Pass(self.seen.last))
        self.made()
