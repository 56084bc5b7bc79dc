# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""The health of an agent: what counts as ready."""

from oslotest import base

from ovn_network_agent import model
from ovn_network_agent.control.reports import report
from ovn_network_agent.runtime.process import status
from ovn_network_agent.tests.unit import cloud

INTERVAL = 60


class HealthTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.status = status.Status({})

    def health(self, phase=model.Phase.RUNNING, later=0):
        """(health, reasons) some seconds after the last pass."""
        snapshot = model.Snapshot(cloud.node(phase=phase))
        found = report.health(snapshot, self.status, INTERVAL,
                              (self.status.reported or 0) + later)
        self.assertEqual(phase.value, found['phase'])
        return found['health'], found['reasons']

    def test_before_the_first_pass(self):
        self.assertEqual((report.DEGRADED, ['no pass was made yet']),
                         self.health(model.Phase.RESTORING))
        found = report.health(None, self.status, INTERVAL, 0)
        self.assertEqual('restoring', found['phase'])

    def test_a_pass_that_is_not_complete(self):
        self.status.report(())
        self.assertEqual(
            (report.DEGRADED, ['the first complete pass is not done yet']),
            self.health())

    def test_ready_and_degraded(self):
        self.status.report(())
        self.status.ready(1)
        self.assertEqual((report.READY, []), self.health())
        self.status.report(('one', 'two'))
        self.assertEqual((report.DEGRADED, ['one', 'two']), self.health())

    def test_a_stop_is_no_readiness(self):
        self.status.report(())
        self.status.ready(1)
        self.status.waits(('port p1',))
        for phase in (model.Phase.DRAINING, model.Phase.STOPPED):
            name, reasons = self.health(phase)
            self.assertEqual(report.DEGRADED, name)
            self.assertIn('an orderly stop', reasons[0])
            self.assertIn('port p1', reasons)

    def test_a_loop_that_is_stuck(self):
        self.status.report(())
        self.status.ready(1)
        quiet = 2 * INTERVAL + report.STUCK
        self.assertEqual(report.READY, self.health(later=quiet)[0])
        name, reasons = self.health(later=quiet + 1)
        self.assertEqual(report.DEGRADED, name)
        self.assertIn('181 s ago', reasons[0])
        self.assertIn('restart the agent', reasons[0])
