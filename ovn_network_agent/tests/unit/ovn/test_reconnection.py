# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Chassis that may not have connected to the Southbound database again."""

from oslotest import base

from ovn_network_agent.ovn.chassis import held_ports

LOST = BACK = 1000.0


class LateTest(base.BaseTestCase):

    def test_the_first_connection(self):
        """It says nothing about the connections of other chassis."""
        for connected in (True, False):
            self.assertEqual(0.0, held_ports.late_for(connected, None, 5.0))

    def test_the_database_is_away(self):
        """Maybe only this agent has lost it, so the wait has an end."""
        self.assertEqual(held_ports.BLIND,
                         held_ports.late_for(False, LOST, LOST))
        self.assertEqual(1.0, held_ports.late_for(
            False, LOST, LOST + held_ports.BLIND - 1))
        self.assertEqual(0.0, held_ports.late_for(
            False, LOST, LOST + held_ports.BLIND + 1))

    def test_the_database_is_back(self):
        self.assertEqual(held_ports.RECONNECT,
                         held_ports.late_for(True, BACK, BACK))
        self.assertEqual(0.0, held_ports.late_for(
            True, BACK, BACK + held_ports.RECONNECT))
