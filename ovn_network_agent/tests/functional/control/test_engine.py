# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""status, plan and resync of a running agent, over its socket."""

import json

from ovn_network_agent import resources
from ovn_network_agent.tests.functional.control import base
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

OWN = '198.51.100.1/32'
ROUTE = resources.Ref('kernel_route', (254, OWN))
STRAY = resources.KernelRoute(254, '203.0.113.9/32', 'br-ex')


class EngineTest(base.CtlTestCase):

    def setUp(self):
        super().setUp()
        self.uuid = self.cloud.add_router('r1', chassis=base.HERE)
        self.agent_made = self.ready('lrp-r1', reconcile_interval=3600)
        # The first full comparison comes when OVN has been seen, and would
        # repair what a test breaks.
        self.eventually(lambda: any(
            done['full'] for done in self.status()['passes']), 'compared')
        self.eventually(lambda: {each['state'] for each
                                 in self.backends().values()} == {'ok'}, 'ok')

    def backends(self):
        return {each['name']: each for each in self.status()['backends']}


    def test_what_others_changed(self):
        """A start takes long, so this is one test."""
        self.assertTrue(self.status()['passes'])
        self.eventually(lambda: not json.loads(self.call('plan'))['steps'],
                        'no difference')
        self.assertEqual('0 to create, 0 to update, 0 to delete; nothing was '
                         'changed\n', self.ends(0, self.ctl('plan')).stdout)
        self.world.objects.pop(ROUTE)
        self.world.put(STRAY)
        ended = self.ends(2, self.ctl('plan'))
        self.assertIn(f'  + kernel_route table=254 dst={OWN}', ended.stdout)
        self.assertIn('  - kernel_route table=254 dst=203.0.113.9/32',
                      ended.stdout)
        self.assertNotIn(ROUTE, self.world.objects)
        self.assertIn(STRAY.ref, self.world.objects)
        self.assertEqual({'create': 1, 'update': 0, 'delete': 1}, json.loads(
            self.ends(2, self.ctl('plan', '--json')).stdout)['counts'])
        self._a_failure_and_a_repair()
        self._what_cannot_be_read()
        self.assertIn('no backend nonsense', self.ends(
            1, self.ctl('resync', 'nonsense')).stderr)
        self.ends(2, self.ctl('resync', '--timeout', '-1'))
        self.assertIn('not a number', self.refused(
            'resync', '--timeout=nan'))
        self._a_database_that_is_lost()

    def _a_failure_and_a_repair(self):
        """The resync does what the plan has shown."""
        self.world.refuses[ROUTE] = 'no space'
        done = self.ends(1, self.ctl('resync', 'route')).stdout
        self.assertIn('route: failed: kernel_route', done)
        self.assertIn('deleted kernel_route', done)
        found = self.backends()['route']
        self.assertEqual(('failing', 1, 'no space'), tuple(
            found[key] for key in ('state', 'failed', 'reason')))
        self.world.refuses.clear()
        self.eventually(lambda: ROUTE in self.world.objects, 'tried again')
        self.world.objects.pop(ROUTE)
        done = self.ends(0, self.ctl('resync', 'route')).stdout
        self.assertIn('created kernel_route', done)
        self.assertIn('1 backend read, 1 change, 0 failures', done)
        self.assertEqual('ok', self.backends()['route']['state'])
        self.assertEqual({('route', 'kernel_route')}, {
            (each['backend'], each['kind'])
            for each in self.status()['repairs']})
        self.ends(0, self.ctl('plan'))
        self.eventually(self.routes, 'the default route')
        found = json.loads(self.ends(0, self.ctl(
            'resync', 'northbound', '--json')).stdout)
        self.assertEqual((['northbound'], [], []), tuple(
            found[key] for key in ('backends', 'failures', 'missing')))

    def _what_cannot_be_read(self):
        self.world.down.add('route')
        ended = self.ends(1, self.ctl('plan'))
        self.assertIn('route could not be read: route is down', ended.stderr)
        self.world.objects.pop(resources.Ref(
            'announcement', ('vrf-provider', OWN)))
        self.ends(2, self.ctl('plan'))

    def _a_database_that_is_lost(self):
        before = self.status()['databases']['nb']
        self.assertTrue(before['connected'])
        self.nb.kill()
        self.eventually(lambda: not self.status()['databases']['nb'][
            'connected'], 'lost')
        self.assertGreaterEqual(self.status()['databases']['nb']['since'],
                                before['since'])
        self.assertIn('since 2', self.ends(
            0, self.ctl('status', '--verbose')).stdout)

    def test_what_the_guard_holds(self):
        """Every command says so, and only --force withdraws."""
        self.agent_made._conf.set_override('withdrawal_guard_minimum', 1)
        self.nb.transact(ovsdb.delete('Logical_Router', {}))
        self.eventually(lambda: 'withdrawal guard' in str(
            self.status()['degraded']), self.status)
        self.assertIn('held', self.ends(0, self.ctl('fips')).stdout)
        plan = self.ends(2, self.ctl('plan')).stdout
        self.assertIn(f'- announcement vrf=vrf-provider prefix={OWN}', plan)
        self.assertIn('! the withdrawal guard holds 1 of 1', plan)
        self.assertIn('has no router at all', self.ends(
            1, self.ctl('health')).stdout)
        self.assertIn(', 0 changes, 0 failures', self.ends(
            0, self.ctl('resync')).stdout)
        done = self.ends(0, self.ctl('resync', '--force')).stdout
        self.assertIn('released by the withdrawal guard: 1 of its addresses\n',
                      done)
        self.assertIn('frr_static: deleted announcement', done)
        self.assertEqual([], self.status()['degraded'])
