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
"""Chassis that may not have connected to the Southbound database again."""

from oslotest import base

from ovn_network_agent.ovn import view

LOST = BACK = 1000.0


class LateTest(base.BaseTestCase):

    def test_the_first_connection(self):
        """It says nothing about the connections of other chassis."""
        for connected in (True, False):
            self.assertEqual(0.0, view.late_for(connected, None, 5.0))

    def test_the_database_is_away(self):
        """Maybe only this agent has lost it, so the wait has an end."""
        self.assertEqual(view.BLIND,
                         view.late_for(False, LOST, LOST))
        self.assertEqual(1.0, view.late_for(
            False, LOST, LOST + view.BLIND - 1))
        self.assertEqual(0.0, view.late_for(
            False, LOST, LOST + view.BLIND + 1))

    def test_the_database_is_back(self):
        self.assertEqual(view.RECONNECT,
                         view.late_for(True, BACK, BACK))
        self.assertEqual(0.0, view.late_for(
            True, BACK, BACK + view.RECONNECT))
