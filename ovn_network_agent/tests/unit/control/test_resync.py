# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backends read again at once, with the real loop."""

import threading

from oslotest import base

from ovn_network_agent import resources
from ovn_network_agent.common import trigger
from ovn_network_agent.control.reports import inspection
from ovn_network_agent.control.socket import commands
from ovn_network_agent.engine import reconciler
from ovn_network_agent.runtime import loop
from ovn_network_agent.runtime import questions
from ovn_network_agent.runtime.process import status
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import seen
from ovn_network_agent.tests.unit import world as worlds
from ovn_network_agent.tests.unit.engine import gateways

FIP = gateways.FIP
LIMIT = 30


class ResyncTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        conf = worlds.conf()
        self.world = worlds.World()
        self.backends = worlds.backends(self.world)
        self.trigger = trigger.Trigger(0)
        work = reconciler.Reconciler(
            [worlds.driver('fip_route', conf),
             worlds.driver('veth_leak', conf)], self.backends,
            lambda reason: self.trigger.fire(reason))
        self.parts = questions.make(work, self.trigger)
        self.stopping = threading.Event()
        made = loop.Loop(
            conf, seen.Seen(conf, cloud.router(fips=[FIP])), work,
            self.trigger, status.Status({}), self.stopping, parts=self.parts)
        thread = threading.Thread(target=made.run, daemon=True)
        thread.start()
        self.addCleanup(self.end, thread)
        self.resync()

    def end(self, thread):
        for backend in self.backends:
            backend.gate.set()
        self.stopping.set()
        self.trigger.fire('stop', urgent=True)
        thread.join(LIMIT)
        self.assertFalse(thread.is_alive())

    def resync(self, *names, patience=LIMIT):
        return inspection.resync(self.parts.questions.ask, self.parts, names,
                                 patience)

    def changed(self, found):
        return [(change['backend'], change['verb'], change['ref'])
                for change in found['changes']]

    def test_nothing_to_do(self):
        found = self.resync()
        self.assertEqual(([], [], []), (
            found['changes'], found['failures'], found['missing']))
        self.assertEqual(set(worlds.BACKENDS), set(found['backends']))

    def test_only_what_is_named(self):
        self.world.objects.pop(gateways.ROUTE)
        self.world.objects.pop(gateways.ANNOUNCEMENT)
        found = self.resync('route')
        self.assertEqual(['route'], found['backends'])
        self.assertEqual([('route', 'created', f'254,{FIP}/32')],
                         self.changed(found))
        self.assertNotIn(gateways.ANNOUNCEMENT, self.world.objects)
        self.assertEqual([('frr_static', 'created', f'vrf-provider,{FIP}/32')],
                         self.changed(self.resync()))

    def test_a_failure(self):
        self.world.objects.pop(gateways.ROUTE)
        self.world.refuses[gateways.ROUTE] = 'no space'
        found = self.resync('route')
        self.assertEqual(
            [{'backend': 'route', 'kind': 'kernel_route',
              'ref': f'254,{FIP}/32', 'reason': 'no space'}],
            found['failures'])

    def test_a_backend_that_is_down_and_comes_back(self):
        """The back-off of a failure does not count."""
        self.world.down.add('route')
        for _time in range(4):
            failure, = self.resync('route')['failures']
            self.assertEqual(('route', 'route is down'), (
                failure['backend'], failure['reason']))
        self.world.down.clear()
        self.assertEqual([], self.resync('route')['failures'])

    def test_work_beside_the_loop_is_waited_for(self):
        northbound = next(b for b in self.backends if b.name == 'northbound')
        northbound.concurrent = True
        self.world.objects.pop(resources.Ref('default_route', (
            cloud.router().uuid, '0.0.0.0/0')))
        northbound.gate.clear()
        found = self.resync('northbound', patience=0.3)
        self.assertEqual(['northbound is at work'], found['missing'])
        northbound.gate.set()
        self.assertEqual([], self.resync('northbound')['missing'])

    def test_an_unknown_backend(self):
        error = self.assertRaises(commands.Refused, self.resync, 'nonsense')
        self.assertIn('no backend nonsense; there are address,', str(error))

    def test_it_makes_no_full_pass(self):
        before = len(self.parts.passes.last)
        self.resync()
        self.assertEqual({False}, {
            done.full for done in self.parts.passes.last[before:]})
