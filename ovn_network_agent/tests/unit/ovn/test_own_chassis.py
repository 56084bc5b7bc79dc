# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Which chassis of SB this node is, and its ports; decision record 0037."""

import types

from oslotest import base

from ovn_network_agent.model.node import Wiring
from ovn_network_agent.ovn.chassis import own_chassis
from ovn_network_agent.tests.unit.ovn import atoms


def southbound(*hosts):
    """Rows of SB: (name, host name, tunnel address) of each chassis."""
    return {
        'Chassis': {number: types.SimpleNamespace(
            hostname=hostname, **vars(atoms.made(
                number, name=name, hostname=hostname)))
            for number, (name, hostname, _address) in enumerate(hosts)},
        'Encap': {number: atoms.made(number, chassis_name=name, ip=address)
                  for number, (name, _hostname, address)
                  in enumerate(hosts)}}


def here(name='new', hostname='gw1', addresses=('192.0.2.1',)):
    return Wiring(name, hostname, addresses=addresses)


GW1, GW2 = ('old', 'gw1', '192.0.2.1'), ('c2', 'gw2', '192.0.2.2')


class OwnChassisTest(base.BaseTestCase):

    def found(self, wiring, *hosts, former='', name, words=()):
        """The finding; words are all that its problem and remedy have."""
        found = own_chassis.of_rows(southbound(*hosts), wiring, former)
        self.assertEqual(name, found.name)
        self.assertEqual(bool(words), bool(found.text), found)
        for word in words:
            self.assertIn(word, found.text)
        return found

    def test_healthy(self):
        for wiring in (here('old'),
                       here('old', addresses=('192.0.2.9', '192.0.2.1')),
                       # Nobody knows the addresses.
                       here('c2', addresses=())):
            self.found(wiring, GW1, GW2, name=wiring.chassis)

    def test_another_system_id(self):
        for former in '', 'old':
            self.found(here(), GW1, GW2, former=former, name='old', words=(
                'no chassis new', 'chassis old', 'system-id=old"',
                'chassis-del old"'))

    def test_another_host_name_too(self):
        """At a start, an address alone proves nothing."""
        for former, name in ('', 'new'), ('old', 'old'):
            self.found(here(hostname='x'), GW1, former=former, name=name,
                       words=('no chassis new', 'host name gw1',
                              'system-id=old"'))

    def test_no_row(self):
        self.found(here('old'), GW2, former='old', name='old',
                   words=('no chassis old', 'ovn-controller'))
        self.found(here('old'), GW2, name='old', words=('no chassis old',))

    def test_no_system_id(self):
        words = ('system-id is not set', 'system-id=old"')
        self.found(here(''), GW1, former='old', name='old', words=words)
        self.found(here(''), GW1, name='old', words=words)
        self.found(here(''), GW2, name='', words=('system-id is not set',))

    def test_the_system_id_of_another_node(self):
        for hosts, former, name in (
                ([GW1, GW2], 'old', 'old'), ([GW1, GW2], '', 'old'),
                ([GW2], 'c2', 'c2'), ([GW2], '', '')):
            self.found(here('c2'), *hosts, former=former, name=name, words=(
                '192.0.2.2 of host gw2', 'two nodes have one system-id'))

    def test_the_address_of_another_node(self):
        self.found(here('new', 'gw3', ('192.0.2.2',)), GW1, GW2, name='new',
                   words=('chassis c2', 'host name gw2', 'ovn-encap-ip'))

    def test_equal_host_names(self):
        """The address decides."""
        twin = ('c2', 'gw1', '192.0.2.2')
        self.found(here(), GW1, twin, name='old', words=('chassis old',))
        self.found(here('c2', addresses=('192.0.2.2',)), GW1, twin, name='c2')


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
