# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The ports of a chassis whose row is lost; decision record 0037."""

from oslotest import base

from ovn_network_agent.ovn.chassis import own_chassis


class HeldPortsTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.now = 0.0
        self.held = own_chassis.HeldPorts(lambda: self.now)

    def look(self, own, *rows, ports=('p1',)):
        self.held.look(own, rows, lambda: frozenset(ports))
        return set(self.held.names)

    def test_nothing_is_held_while_the_row_is_there(self):
        self.assertEqual(set(), self.look('old', 'old'))
        self.assertIsNone(self.held.due_in())

    def test_from_the_loss_until_some_time_after_the_return(self):
        self.assertEqual({'p1'}, self.look('old'))
        self.now += 1000
        self.assertIsNone(self.held.due_in())
        self.assertEqual({'p1'}, self.look('new', 'new', ports=()))
        self.assertEqual(own_chassis.REGISTERING, self.held.due_in())
        self.now += own_chassis.REGISTERING - 1
        self.assertEqual({'p1'}, self.look('new', 'new', ports=()))
        self.now += 1
        self.assertEqual(set(), self.look('new', 'new', ports=()))
        self.assertIsNone(self.held.due_in())

    def test_a_second_loss(self):
        self.look('old')
        self.look('new', 'new')
        self.now += 1
        self.assertEqual({'p1', 'p2'}, self.look('new', ports=('p2',)))
        self.assertIsNone(self.held.due_in())


LOST = BACK = 1000.0


class LateTest(base.BaseTestCase):

    def test_the_first_connection(self):
        """It says nothing about the connections of other chassis."""
        for connected in (True, False):
            self.assertEqual(0.0, own_chassis.late_for(connected, None, 5.0))

    def test_the_database_is_away(self):
        """Maybe only this agent has lost it, so the wait has an end."""
        self.assertEqual(own_chassis.BLIND,
                         own_chassis.late_for(False, LOST, LOST))
        self.assertEqual(1.0, own_chassis.late_for(
            False, LOST, LOST + own_chassis.BLIND - 1))
        self.assertEqual(0.0, own_chassis.late_for(
            False, LOST, LOST + own_chassis.BLIND + 1))

    def test_the_database_is_back(self):
        self.assertEqual(own_chassis.RECONNECT,
                         own_chassis.late_for(True, BACK, BACK))
        self.assertEqual(0.0, own_chassis.late_for(
            True, BACK, BACK + own_chassis.RECONNECT))
