# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What the running agent would change, without a change."""

import json
import threading

from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.common import trigger
from ovn_network_agent.control.reports import inspection
from ovn_network_agent.runtime import questions
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit.engine import gateways

FIP = gateways.FIP
STRAY = resources.KernelRoute(254, '203.0.113.9/32', 'br-ex')


class ComparisonTest(gateways.ReconcilerTestCase):

    def setUp(self):
        super().setUp()
        self.made = self.gateway()
        self.parts = questions.make(self.made.reconciler, trigger.Trigger(0))
        self.router = cloud.router(fips=[FIP])
        self.made.run(self.router)

    def compare(self, patience=30, ask=lambda function: function()):
        """The answer; here the test is the loop."""
        before = self.made.world.values(), len(self.made.world.journal)
        found = inspection.compare(ask, self.parts, patience)
        self.assertEqual(found, json.loads(json.dumps(found)))
        self.assertEqual(before, (self.made.world.values(),
                                  len(self.made.world.journal)))
        return found

    def steps(self, **options):
        return [(step['backend'], step['verb'], step['kind'], step['ref'])
                for step in self.compare(**options)['steps']]

    def test_there_is_no_difference(self):
        self.made.world.reads.clear()
        found = self.compare()
        self.assertEqual(([], {'create': 0, 'update': 0, 'delete': 0}, {}), (
            found['steps'], found['counts'], found['unreadable']))
        # Every system was read, NB included.
        self.assertEqual({'northbound', 'advertised', 'frr_static', 'route'},
                         set(self.made.world.reads) & {
            'northbound', 'advertised', 'frr_static', 'route'})

    def test_what_others_changed(self):
        self.made.world.objects.pop(gateways.ROUTE)
        self.made.world.objects.pop(gateways.ANNOUNCEMENT)
        self.made.world.put(STRAY, resources.DefaultRoute(
            self.router.uuid, 'lrp-1', '198.51.100.77', cloud.OWNER))
        found = self.compare()
        self.assertEqual(
            [('route', 'create', 'kernel_route', f'254,{FIP}/32'),
             ('northbound', 'update', 'default_route',
              f'{self.router.uuid},0.0.0.0/0'),
             ('frr_static', 'create', 'announcement',
              f'vrf-provider,{FIP}/32'),
             ('route', 'delete', 'kernel_route', '254,203.0.113.9/32')],
            [(step['backend'], step['verb'], step['kind'], step['ref'])
             for step in found['steps']])
        update = found['steps'][1]
        self.assertIn('nexthop=198.51.100.77', update['was'])
        self.assertIn('nexthop=198.51.100.254', update['will'])
        self.assertEqual({'create': 2, 'update': 1, 'delete': 1},
                         found['counts'])

    def test_it_is_what_a_pass_then_does(self):
        self.made.world.objects.pop(gateways.ROUTE)
        self.made.world.put(STRAY)
        steps = self.compare()['steps']
        del self.made.world.journal[:]
        self.made.run(self.router, full=True)
        self.assertEqual(
            [(step['verb'], step['kind']) for step in steps],
            [(verb, ref.kind) for verb, ref in self.made.world.journal])

    def test_the_engine_takes_no_note(self):
        self.made.world.objects.pop(gateways.ROUTE)
        self.compare()
        row = self.made.reconciler.table().row(gateways.ROUTE)
        self.assertEqual('in place', row.state.value)
        self.assertEqual((), self.made.reconciler.health[0].repairs)

    def test_what_is_refused_has_its_reason(self):
        self.made.world.objects.pop(gateways.ROUTE)
        self.made.world.refuses[gateways.ROUTE] = 'no space'
        self.made.run(self.router, full=True)
        step, = self.compare()['steps']
        self.assertEqual('no space', step['reason'])

    def test_what_stays_on_purpose_is_no_difference(self):
        self.made.world.put(STRAY)
        self.made.world.refuses[STRAY.ref] = backends.Kept('in use')
        self.made.run(self.router, full=True)
        self.assertEqual([], self.steps())

    def test_what_cannot_be_read(self):
        self.made.world.down.add('route')
        self.made.world.raises['flow'] = ValueError('a bug')
        self.made.world.objects.pop(gateways.ANNOUNCEMENT)
        found = self.compare()
        self.assertEqual(
            {'route': 'route is down', 'flow': 'ValueError: a bug'},
            found['unreadable'])
        self.assertEqual(['announcement'],
                         [step['kind'] for step in found['steps']])

    def test_a_change_meanwhile_is_no_difference(self):
        """The loop makes passes between the questions."""
        self.made.world.objects.pop(gateways.ROUTE)
        passes = []

        def ask(function):
            answer = function()
            if not passes and len(self.made.world.reads) > self.reads + 15:
                passes.append(self.made.run(cloud.router()))
            return answer
        self.reads = len(self.made.world.reads)
        self.made.world.objects[gateways.ROUTE] = resources.KernelRoute(
            254, gateways.DST, 'br-ex')
        self.assertEqual([], inspection.compare(ask, self.parts)['steps'])
        self.assertTrue(passes)

    def test_a_system_that_may_hang_is_read_beside_the_loop(self):
        static = self.made.backend('frr_static')
        static.system = 'FRR'
        threads = []
        read = static.read

        def reading(known):
            threads.append(threading.current_thread())
            return read(known)
        static.read = reading
        self.made.world.objects.pop(gateways.ANNOUNCEMENT)
        self.assertEqual([('frr_static', 'create', 'announcement',
                           f'vrf-provider,{FIP}/32')], self.steps())
        self.assertIsNot(threading.current_thread(), threads[0])
        # And the end wakes the loop for what had to wait meanwhile.
        self.assertEqual(['frr_static done'], self.made.woken)
        self.assertTrue(self.made.run(self.router).settled)

    def test_a_system_that_hangs(self):
        static = self.made.backend('frr_static')
        static.system = 'FRR'
        go_on = threading.Event()
        self.addCleanup(go_on.set)
        static.read = lambda known: go_on.wait(30) and []
        self.assertEqual({'frr_static': 'no answer within 0.05 s'},
                         self.compare(patience=0.05)['unreadable'])
        self.assertEqual({'frr_static': 'it has been at work for 0.05 s'},
                         self.compare(patience=0.05)['unreadable'])
        go_on.set()
        waiting.eventually(
            lambda: self.made.reconciler.wait_for_threads(1), 'its end')
        self.made.run(self.router)
