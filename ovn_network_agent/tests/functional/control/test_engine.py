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


class EngineTestCase(base.CtlTestCase):

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


class StatusTest(EngineTestCase):
    """What "status" says of the engine of a running agent."""

    def test_a_failure_and_a_repair(self):
        self.assertTrue(self.status()['passes'])
        self.world.objects.pop(ROUTE)
        self.world.refuses[ROUTE] = 'no space'
        self.call('resync', 'route')
        found = self.backends()['route']
        self.assertEqual(('failing', 1, 'no space'), tuple(
            found[key] for key in ('state', 'failed', 'reason')))
        self.world.refuses.clear()
        self.call('resync')
        self.assertEqual('ok', self.backends()['route']['state'])
        repair, = self.status()['repairs']
        self.assertEqual(('route', 'kernel_route', 1), tuple(
            repair[key] for key in ('backend', 'kind', 'count')))

    def test_a_database_that_is_lost(self):
        before = self.status()['databases']['nb']
        self.assertTrue(before['connected'])
        self.nb.kill()
        self.eventually(lambda: not self.status()['databases']['nb'][
            'connected'], 'lost')
        self.assertGreaterEqual(self.status()['databases']['nb']['since'],
                                before['since'])
        self.assertIn('since 2', self.ends(
            0, self.ctl('status', '--verbose')).stdout)


class PlanTest(EngineTestCase):

    def settled(self):
        """Wait until there is no difference."""
        self.eventually(lambda: not json.loads(self.call('plan'))['steps'],
                        'no difference')

    def test_there_is_no_difference(self):
        self.settled()
        ended = self.ends(0, self.ctl('plan'))
        self.assertEqual('0 to create, 0 to update, 0 to delete; nothing was '
                         'changed\n', ended.stdout)

    def test_what_others_changed(self):
        self.settled()
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
        # And that is what resync then does.
        done = self.ends(0, self.ctl('resync', 'route')).stdout
        self.assertIn('created kernel_route', done)
        self.assertIn('deleted kernel_route', done)
        self.assertIn('1 backend read, 2 changes, 0 failures', done)
        self.ends(0, self.ctl('plan'))

    def test_what_cannot_be_read(self):
        self.settled()
        self.world.down.add('route')
        ended = self.ends(1, self.ctl('plan'))
        self.assertIn('route could not be read: route is down', ended.stderr)
        self.world.objects.pop(resources.Ref(
            'announcement', ('vrf-provider', OWN)))
        self.ends(2, self.ctl('plan'))


class ResyncTest(EngineTestCase):

    def test_a_failure(self):
        self.world.objects.pop(ROUTE)
        self.world.refuses[ROUTE] = 'no space'
        ended = self.ends(1, self.ctl('resync'))
        self.assertIn('route: failed: kernel_route', ended.stdout)
        self.assertIn('no space', ended.stdout)

    def test_the_northbound_database(self):
        self.eventually(self.routes, 'the default route')
        found = json.loads(self.ends(0, self.ctl(
            'resync', 'northbound', '--json')).stdout)
        self.assertEqual((['northbound'], [], []), tuple(
            found[key] for key in ('backends', 'failures', 'missing')))

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

    def test_usage(self):
        self.assertIn('no backend nonsense', self.ends(
            1, self.ctl('resync', 'nonsense')).stderr)
        self.ends(2, self.ctl('resync', '--timeout', '-1'))
        self.assertIn('not a number', self.refused(
            'resync', '--timeout=nan'))

    def test_while_the_agent_stops(self):
        """A question that cannot be answered says so at once."""
        self.eventually(self.routes, 'the default route')
        self.nb.pause()
        try:
            self.agent_made.stop()
            self.eventually(lambda: self.stops('fips'), 'the clean-up')
            self.assertTrue(self.stops('plan'))
            self.assertTrue(self.stops('resync'))
            # What takes nothing from the loop is answered.
            self.assertTrue(self.status()['backends'])
        finally:
            self.nb.resume()
        self.assertTrue(self.agent_made.wait(ovsdb.DEADLINE))

    def stops(self, command):
        """Whether a command is refused because the agent stops."""
        ended = self.ctl(command)
        return ended.returncode == 1 and 'the agent' in ended.stderr and (
            'stop' in ended.stderr)
