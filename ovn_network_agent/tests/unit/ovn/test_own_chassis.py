# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Which chassis of SB this node is; decision record 0037."""

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
        self.found(here('old'), GW1, GW2, name='old')
        # Nobody knows the addresses.
        self.found(here('c2', addresses=()), GW1, GW2, name='c2')
        self.found(here('old', addresses=('192.0.2.9', '192.0.2.1')), GW1,
                   name='old')

    def test_another_system_id(self):
        words = ('no chassis new', 'chassis old', 'system-id=old"',
                 'chassis-del old"')
        self.found(here(), GW1, GW2, name='old', words=words)
        self.found(here(), GW1, GW2, former='old', name='old', words=words)

    def test_another_host_name_too(self):
        """At a start, an address alone proves nothing."""
        words = ('no chassis new', 'host name gw1', 'system-id=old"')
        self.found(here(hostname='x'), GW1, name='new', words=words)
        self.found(here(hostname='x'), GW1, former='old', name='old',
                   words=words)

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
        words = ('192.0.2.2 of host gw2', 'two nodes have one system-id')
        self.found(here('c2'), GW1, GW2, former='old', name='old', words=words)
        self.found(here('c2'), GW1, GW2, name='old', words=words)
        self.found(here('c2'), GW2, former='c2', name='c2', words=words)
        self.found(here('c2'), GW2, name='', words=words)

    def test_the_address_of_another_node(self):
        self.found(here('new', 'gw3', ('192.0.2.2',)), GW1, GW2, name='new',
                   words=('chassis c2', 'host name gw2', 'ovn-encap-ip'))

    def test_equal_host_names(self):
        """The address decides."""
        twin = ('c2', 'gw1', '192.0.2.2')
        self.found(here(), GW1, twin, name='old', words=('chassis old',))
        self.found(here('c2', addresses=('192.0.2.2',)), GW1, twin, name='c2')
