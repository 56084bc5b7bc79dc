# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""The orderly end, against the small stateful world."""

import dataclasses
import threading

import fixtures
from oslotest import base

from ovn_network_agent import model
from ovn_network_agent.common import trigger
from ovn_network_agent.forward import source
from ovn_network_agent.runtime.process import shutdown
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import world as worlds
from ovn_network_agent.tests.unit.engine import gateways

FIP = gateways.FIP


class View:
    """OVN, which goes on having one router."""

    def __init__(self, *routers):
        self.routers = routers

    def snapshot(self, phase):
        return cloud.snapshot(*self.routers, phase=phase)


class Translating(View):
    """A machine leaves by this node, for some looks."""

    looks = 3

    def snapshot(self, phase):
        self.looks -= 1
        host = model.EgressHost('e', '203.0.113.7', cloud.CHASSIS,
                                '10.0.0.9', 'r', 'r')
        return dataclasses.replace(super().snapshot(phase), subjects={
            model.EgressHost: {'': {'': host}} if self.looks > 0 else {}})


class Torn(View):
    """Fails at the first look."""

    looks = 0

    def snapshot(self, *args, **options):
        self.looks += 1
        if self.looks == 1:
            raise ValueError('a bug')
        return super().snapshot(*args, **options)


class Pause(threading.Event):
    """Notes what is there while it is waited for, and waits for nothing.

    :ivar meanwhile: function without arguments, called then
    """

    def __init__(self, world):
        super().__init__()
        self.world = world
        self.seen = []
        self.meanwhile = lambda: None

    def wait(self, timeout=None):
        self.seen.append(self.world.values())
        self.meanwhile()
        return self.is_set()


class EndingTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.gateway = gateways.Gateway()
        self.addCleanup(lambda: self.gateway.reconciler.close())
        self.pause = Pause(self.gateway.world)
        self.trigger = trigger.Trigger(0)
        self.router = cloud.router(fips=[FIP])
        self.assertTrue(self.gateway.run(self.router).settled)

    def end(self, view=None, **options):
        conf = worlds.conf(**{'shutdown_timeout': 1, **options})
        return shutdown.Ending(
            conf, view or View(self.router), self.gateway.reconciler,
            self.trigger, self.pause, None, source.Source(conf)).run()

    def kinds(self, objects=None):
        objects = self.gateway.world.values() if objects is None else objects
        return {r.kind for r in objects}

    def test_what_forwards_outlives_what_attracts(self):
        before = self.kinds()
        self.assertTrue(self.end())
        meanwhile, = self.pause.seen
        self.assertEqual({'announcement', 'prefix_list_entry',
                          'default_route', 'mac_binding'} & before,
                         before - self.kinds(meanwhile))
        self.assertLess(self.kinds(), self.kinds(meanwhile))

    def test_machines_that_leave_by_this_node_are_waited_for(self):
        view = Translating(self.router)
        self.assertTrue(self.end(view))
        self.assertLess(view.looks, 1)

    def test_and_not_for_ever(self):
        self.useFixture(fixtures.MockPatchObject(shutdown, '_ROWS', 0.1))
        view = Translating(self.router)
        view.looks = 1000000
        self.assertTrue(self.end(view))

    def test_what_only_the_end_finds_is_waited_for_too(self):
        # Nothing was read before: stopped before the first pass.
        self.gateway.start()
        self.assertTrue(self.end())
        meanwhile, = self.pause.seen
        self.assertNotIn('announcement', self.kinds(meanwhile))
        self.assertLess(self.kinds(), self.kinds(meanwhile))

    def test_where_nothing_is_withdrawn_nobody_waits(self):
        self.end()
        self.pause.seen.clear()
        self.end()
        self.assertEqual([], self.pause.seen)

    def test_what_no_other_node_can_announce_is_said_once(self):
        log = self.useFixture(fixtures.FakeLogger())
        router = cloud.router(ports=(cloud.port(hosting=True),), nats=(
            cloud.fip(FIP, distributed_mac='fa:16:3e:00:00:aa',
                       resident=True),))
        self.end(View(router))
        self.assertEqual(1, log.output.count(
            f'1 distributed floating IP is withdrawn now ({FIP})'))
        self.end()
        self.assertEqual(1, log.output.count('withdrawn now'))

    def test_machines_that_nobody_announces_any_more(self):
        log = self.useFixture(fixtures.FakeLogger())

        class Machines(View):
            def snapshot(self, phase):
                return cloud.with_machines(
                    super().snapshot(phase), cloud.machine(FIP),
                    cloud.machine('198.51.100.11', withheld='by hand'),
                    cloud.machine('198.51.100.12', claimed='port vm-2'),
                    cloud.machine('203.0.113.9'))
        self.end(Machines())
        self.assertIn('1 address of machines on provider networks '
                      f'withdrawn now ({FIP}): ', log.output)
        self.assertEqual(1, log.output.count('withdrawn now'))
        self.assertIn('live migration', log.output)
        self.end(Machines(), cleanup_on_shutdown=False)
        self.assertEqual(1, log.output.count('withdrawn now'))

    def test_what_failed_is_tried_once_more(self):
        # The time to try it again may be after the end of the clean-up.
        self.failed_for_long()
        self.assertTrue(self.end())
        self.assertEqual(set(), self.gateway.addresses())

    def test_so_is_it_when_the_first_pass_of_the_end_fails(self):
        self.failed_for_long()
        self.assertTrue(self.end(Torn(self.router)))
        self.assertEqual(set(), self.gateway.addresses())

    def failed_for_long(self):
        """FRR is back, and nobody would ask it again for half a minute."""
        self.gateway.world.down.add('frr_static')
        for _time in range(8):
            self.gateway.run(self.router, stale=['frr_static'])
            self.gateway.clock += 60
        self.gateway.run(self.router)
        self.assertLess(30, self.gateway.reconciler.next_retry())
        self.gateway.world.down.clear()

    def test_what_comes_back_meanwhile_is_tried_at_once(self):
        self.gateway.world.down.add('northbound')

        def back():
            self.gateway.world.down.clear()
            self.trigger.fire('nb connection', revived=('northbound',))

        self.pause.meanwhile = back
        self.assertTrue(self.end())
        self.assertNotIn('default_route', self.kinds())

    def test_without_clean_up_all_stays(self):
        before = self.gateway.world.values()
        self.assertTrue(self.end(cleanup_on_shutdown=False))
        self.assertEqual(before, self.gateway.world.values())
