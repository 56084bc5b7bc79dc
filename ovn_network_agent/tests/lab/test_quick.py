# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Restarts with nothing in between: the next stop comes before the start.

While an agent starts its gateway has priority 0 still, and the other one is
told to stop already.
"""

import time
import unittest

from lab import neutron
from ovn_network_agent.tests.lab import base
from ovn_network_agent.tests.lab import leaving

# Of the probes of both directions, about 100 a second, over all restarts.
LOST = 20
# Milliseconds.
GAP = 400


class Quick:
    """The tests."""

    GATEWAYS = 2
    CONFIG = {**leaving.LeavingTestCase.CONFIG,
              'gateway_drain': {'overlap': 'true'}}

    def test_no_pause_between_restarts(self):
        """Whoever has the gateway goes on until the other one is back."""
        self.have('gw1')
        with self.both_ways() as running:
            began = time.monotonic()
            for name in ('gw1', 'gw2'):
                mark = self.mark(name)
                self.assertEqual((0, 'completed'), (
                    self.cloud.agents[name].stop(),
                    self.outcome(name, mark)), self.said(name, mark)[-3000:])
                # It is not waited for.
                self.cloud.agents[name].start()
                base.note('%s: %s restarted: %s' % (
                    self.SCHEDULER, name, running.so_far()))
            took = time.monotonic() - began
            for agent in self.cloud.agents.values():
                agent.wait_ready()
            self.settled()
            report = self.finished(running)
        base.note('%s: two restarts in %.1f s: %s' % (
            self.SCHEDULER, took, report))
        self.assertLessEqual(report.lost, LOST, str(report))
        self.assert_gap(report, GAP)


class TestQuick(Quick, leaving.LeavingTestCase):
    """With Gateway_Chassis."""


class TestQuickGroup(Quick, leaving.LeavingTestCase):
    """With HA_Chassis_Group."""

    SCHEDULER = neutron.HA_CHASSIS_GROUP

    def test_a_kill_drains_nothing(self):
        """Row DRN-20: nobody else gets the gateway, and nothing is lost."""
        self.have('gw1')
        agent, before = self.cloud.agents['gw1'], self._candidates()
        self.assertGreater(before[0]['gw1'], before[0]['gw2'])
        with self.both_ways() as running, self.followed() as followed:
            agent.kill()
            self.passed(running)
            self.assertEqual(before, self._candidates())
            self.cloud.wait_announced(self.fip.address, 'gw1')
            self.start('gw1')
            self.settled()
            report = self.finished(running)
            self.assertEqual([], followed.of(self.alpha))
        self.assertEqual(before, self._candidates())
        base.note('killed and started: %s' % report)
        self.assertEqual(0, report.lost, str(report))

    def _candidates(self):
        """Priorities and marks of alpha's gateways."""
        return self.priorities(), self.cloud.neutron.marks(self.alpha)


if __name__ == '__main__':
    unittest.main()
