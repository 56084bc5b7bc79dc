# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A start before the databases are loaded: what an operator reads of it."""

import threading

import fixtures
from oslotest import base

from ovn_network_agent.backends import base as backends
from ovn_network_agent.common import normal_wait
from ovn_network_agent.common import trigger
from ovn_network_agent.engine import reconciler
from ovn_network_agent.ovn import view
from ovn_network_agent.ovsdb import connection
from ovn_network_agent.ovsdb import replica
from ovn_network_agent.runtime import loop
from ovn_network_agent.runtime.process import status
from ovn_network_agent.tests.unit import world

OF_DATABASES = ('northbound', 'gateway_priority', 'advertised', 'stale_route',
                'bfd_timers', 'overlap', 'relay_port')


class NotYetTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.clock = 1000.0
        conf = world.conf(drivers=['fip_route'])
        self.databases = {name: self.database(name)
                          for name in ('nb', 'sb', 'ovs')}
        made = [world.real(name)(conf) for name in OF_DATABASES]
        for backend in made:
            backend.attach(backends.Context(self.databases))
        self.world = world.World()
        work = reconciler.Reconciler(
            [], [*made, world.WorldBackend('frr_static', self.world)],
            lambda reason: None)
        self.addCleanup(work.close)
        self.status = status.Status(self.databases, lambda: self.clock)
        self.loop = loop.Loop(
            conf, view.View(conf, self.databases), work, trigger.Trigger(0),
            self.status, threading.Event())
        self.log = self.useFixture(fixtures.FakeLogger(
            format='%(levelname)s %(message)s'))

    def database(self, name):
        """A database to which nobody has begun to connect."""
        handler = replica.Handler()
        self.addCleanup(handler.stop)
        return connection.Database(name, f'unix:/nowhere/{name}', handler, 1,
                                   5000)

    def passes(self):
        """The lines of the first passes, the important ones alone."""
        self.loop._run_without_ovn()
        for _pass in range(2):
            self.loop._guarded_pass(trigger.Wake(('test',), revived=[
                *OF_DATABASES]))
        return [line for line in self.log.output.splitlines()
                if not line.startswith('DEBUG ')]

    def test_a_normal_wait_is_no_warning(self):
        lines = self.passes()
        self.assertEqual(
            ['INFO'] * len(lines), [line.split()[0] for line in lines], lines)
        self.assertIn('Waiting (7): ', lines[0])
        self.assertIn('OVN_Northbound is not loaded yet', lines[0])
        # Who asks is told, all the same.
        self.assertIn('northbound: OVN_Northbound is not loaded yet',
                      self.status.reasons)

    def test_a_wait_that_lasts_is_a_warning(self):
        """Whether or not anything says that it has failed."""
        self.passes()
        self.clock += normal_wait.USUAL
        self.assertIn('WARNING Degraded (8): waiting for OVN: Open_vSwitch '
                      'is not loaded yet; ', self.passes()[-1])

    def test_rows_that_are_still_to_come_are_a_normal_wait(self):
        error = view.Incomplete('the ports are still to come')
        self.status.report([normal_wait.reason(error, f'waiting: {error}')])
        self.assertIn('INFO Waiting (1): waiting: the ports', self.log.output)

    def test_a_database_that_stays_away_is_a_warning(self):
        self.passes()
        for database in self.databases.values():
            self.assertRaises(connection.Unavailable, database.start)
        lines = self.passes()
        self.assertIn('WARNING Degraded', lines[-1])
        for name in OF_DATABASES:
            self.assertIn(f'WARNING {name}: ', '\n'.join(lines))
        self.assertIn('No such file', lines[-1])

    def test_another_failure_is_a_warning_meanwhile(self):
        self.world.down.add('frr_static')
        lines = self.passes()
        self.assertIn('WARNING frr_static: ', '\n'.join(lines))
        self.assertIn('WARNING Degraded', lines[-1])
        self.assertIn('frr_static: ', lines[-1])


class StatusTest(base.BaseTestCase):
    """Which lines of the status are warnings."""

    def setUp(self):
        super().setUp()
        self.clock = 1000.0
        self.status = status.Status({}, lambda: self.clock)
        self.log = self.useFixture(fixtures.FakeLogger(
            format='%(levelname)s %(message)s'))

    def said(self, *reasons, after=1):
        """The line of a report."""
        self.clock += after
        before = len(self.log.output)
        self.status.report(reasons)
        return self.log.output[before:].rstrip('\n')

    def test_only_news_are_warnings(self):
        for line, reasons in (
                ('WARNING Degraded (1): a', 'a'), ('', 'a'),
                ('WARNING Degraded (2): a; b', 'ab'),
                ('INFO Degraded (1): b', 'b'),
                ('INFO Degraded (2): a; b', 'ab'),
                ('INFO No longer degraded', ''),
                ('WARNING Degraded (1): c', 'c')):
            self.assertEqual(line, self.said(*reasons))

    def test_what_comes_back_later_is_a_warning_again(self):
        self.said('a')
        self.said('a', 'b', after=100)
        self.assertEqual('INFO Degraded (1): b', self.said('b'))
        self.assertEqual('WARNING Degraded (2): a; b',
                         self.said('a', 'b', after=100))

    def test_what_comes_and_goes_for_long_is_a_warning_now_and_then(self):
        lines = []
        for _round in range(50):
            lines += self.said('a', 'b'), self.said('a')
        self.assertEqual(2, sum('WARNING' in line for line in lines), lines)

    def test_a_wait_that_lasts_is_news(self):
        wait = normal_wait.Reason('a')
        self.assertEqual('INFO Waiting (1): a', self.said(wait))
        self.assertEqual('', self.said(wait))
        self.assertEqual('WARNING Degraded (1): a',
                         self.said(wait, after=normal_wait.USUAL))
