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


"""What is looked at, and when; FRR itself is in the functional tests."""

import threading

import fixtures
from oslotest import base

from ovn_network_agent import delta
from ovn_network_agent.frr import verification
from ovn_network_agent import outcome
from ovn_network_agent import privileged
from ovn_network_agent import resources
from ovn_network_agent.tests.unit import world as worlds
from ovn_network_agent import trigger

A, B = '198.51.100.10/32', '198.51.100.11/32'


def static(prefix):
    return resources.Announcement('vrf-provider', prefix, '169.254.0.1')


def kernel(prefix):
    return resources.AnnouncedRoute(10, prefix, 'veth-provider')


class VerificationTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.clock = 1000.0
        self.trigger = trigger.Trigger(0)
        self.tracker = delta.Tracker()
        self.made = verification.Verification(worlds.conf(),
                                              lambda: self.clock)
        self.made._trigger = self.trigger

    def passed(self, *applied, full=False):
        self.made.after_pass(outcome.Outcome(applied=applied), self.tracker,
                             full)

    def due(self, seconds=0.5):
        """What is to be looked at by then, or None."""
        self.clock += seconds
        # It waits for ever when there is nothing.
        end = threading.Timer(2, self.made.stop)
        end.start()
        try:
            return self.made._wait()
        finally:
            end.cancel()

    def test_a_change_is_looked_at_alone(self):
        self.passed(('created', static(A)), ('updated', static(B)),
                    ('created', resources.KernelRoute(254, A, 'br-ex')))
        self.assertEqual(({A: 'static', B: 'static'}, False), self.due())
        self.passed(('created', kernel(B)))
        self.assertEqual(({B: 'kernel'}, False), self.due())

    def test_what_was_withdrawn_is_not_looked_at(self):
        self.passed(('created', static(A)), ('created', static(B)))
        self.passed(('deleted', static(A)))
        self.assertEqual(({B: 'static'}, False), self.due())

    def test_the_other_method_goes_on_to_be_looked_at(self):
        self.passed(('created', static(A)))
        self.passed(('created', kernel(A)), ('deleted', static(A)))
        self.assertEqual(({A: 'kernel'}, False), self.due())

    def test_a_full_pass_has_all_looked_at(self):
        self.passed(('created', static(A)))
        self.due()
        for resource in (static(A), static(B)):
            self.tracker.want(resource)
        self.tracker.found(static(B))
        self.passed(full=True)
        self.assertEqual(({B: 'static'}, True), self.due())

    def test_what_could_not_be_looked_at_is_again(self):
        """FRR is not there: said, and neither forgotten nor given up."""
        privileged.frr.set_client_mode(False)
        self.addCleanup(privileged.frr.set_client_mode, True)
        self.useFixture(fixtures.EnvironmentVariable('PATH', '/nonexistent'))
        self.passed(('created', static(A)))
        pause = 1.0
        for _time in range(8):
            self.made.look(*self.due(30))
            self.assertIn('cannot be checked', self.made.reasons[0])
            self.assertEqual(self.clock + pause, self.made._due)
            pause = min(pause * 2, 30.0)
        self.assertEqual({A}, set(self.due(30)[0]))
        self.assertIn('announcements checked',
                      self.trigger.wait(0).reasons)
