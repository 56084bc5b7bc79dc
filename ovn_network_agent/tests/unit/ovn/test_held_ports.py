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

    def test_how_late_a_chassis_may_be(self):
        """The first connection says nothing about those of other chassis.

        Maybe only this agent has lost the database, so the wait has an end.
        """
        blind, again = own_chassis.BLIND, own_chassis.RECONNECT
        for connected, since, now, late in (
                (True, None, 5.0, 0.0), (False, None, 5.0, 0.0),
                (False, LOST, LOST, blind),
                (False, LOST, LOST + blind - 1, 1.0),
                (False, LOST, LOST + blind + 1, 0.0),
                (True, BACK, BACK, again), (True, BACK, BACK + again, 0.0)):
            self.assertEqual(late, own_chassis.late_for(connected, since, now))
