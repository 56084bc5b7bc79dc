# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The ports of a chassis whose row is lost; decision record 0037."""

from oslotest import base

from ovn_network_agent.ovn.chassis import held_ports


class HeldPortsTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.now = 0.0
        self.held = held_ports.HeldPorts(lambda: self.now)

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
        self.assertEqual(held_ports.REGISTERING, self.held.due_in())
        self.now += held_ports.REGISTERING - 1
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
