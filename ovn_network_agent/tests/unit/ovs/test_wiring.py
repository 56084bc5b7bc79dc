# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


from oslotest import base

from ovn_network_agent import model
from ovn_network_agent.model.node import Wiring
from ovn_network_agent.ovs import wiring

_KEY = 'ovn-bridge-mappings'
_ALL = {'system-id': 'gw1', _KEY: 'physnet1:br-ex'}


class OfChassisTest(base.BaseTestCase):
    """ovn-controller(8): the keys of one chassis override the others."""

    def mappings(self, **external_ids):
        return wiring.bridge_mappings({**_ALL, **external_ids})

    def test_the_key_of_this_chassis_comes_first(self):
        self.assertEqual((('physnet1', 'br-ex'),), self.mappings())
        self.assertEqual((('physnet2', 'br-own'),), self.mappings(
            **{f'{_KEY}-gw1': 'physnet2:br-own'}))

    def test_the_key_of_another_chassis_does_not_count(self):
        self.assertEqual((('physnet1', 'br-ex'),), self.mappings(
            **{f'{_KEY}-gw2': 'physnet2:br-own'}))

    def test_an_empty_value_counts(self):
        self.assertEqual((), self.mappings(**{f'{_KEY}-gw1': ''}))

    def test_as_ovn_controller_reads_it(self):
        """A space is of the name, and the list ends at what is no item."""
        for text, mappings in (
                ('a:b,', (('a', 'b'),)),
                ('a:b, c:d', ((' c', 'd'), ('a', 'b'))),
                ('c: d', (('c', ' d'),)),
                ('a:b,c,d:e', (('a', 'b'),)),
                ('a:b,,d:e', (('a', 'b'),))):
            self.assertEqual(mappings, self.mappings(**{_KEY: text}))

    def test_other_keys(self):
        own = {**_ALL, 'hostname': 'a', 'hostname-gw1': 'b'}
        self.assertEqual('b', wiring.of_chassis(own, 'hostname'))
        self.assertEqual('', wiring.of_chassis(_ALL, 'hostname'))
        self.assertEqual('hostname-gw1',
                         wiring.key_of_chassis(own, 'hostname'))
        self.assertEqual('hostname', wiring.key_of_chassis(_ALL, 'hostname'))


class SegmentTest(base.BaseTestCase):
    """The device, its MAC, and the patch port of a segment."""

    MAC, OTHER = '0a:00:00:00:00:01', '0a:00:00:00:00:02'
    BRIDGE = model.Device('br-ex', MAC, True)

    def segment(self, vlan, *devices, network='physnet1'):
        return Wiring(
            mappings=(('physnet1', 'br-ex'), ('physnet2', 'br-two')),
            patch_ports=(('br-ex', 'other', 2), ('br-ex', 'provnet', 3),
                         ('br-two', 'provnet', 4)),
            devices=devices).segment('dp', 'provnet', network, vlan)

    def test_flat(self):
        found = self.segment(0, self.BRIDGE)
        self.assertEqual(('br-ex', 'br-ex', self.MAC, 3, False),
                         (found.bridge, found.device, found.mac,
                          found.patch_port, found.occupied))

    def test_the_patch_port_is_that_of_the_localnet_port(self):
        """Trap T54."""
        self.assertEqual(4, self.segment(0, network='physnet2').patch_port)
        self.assertEqual(0, self.segment(0, network='physnet3').patch_port)

    def test_a_vlan_device_will_have_the_mac_of_the_bridge(self):
        found = self.segment(101, self.BRIDGE)
        self.assertEqual(('br-ex.101', self.MAC, False),
                         (found.device, found.mac, found.occupied))
        self.assertEqual('', self.segment(101).mac)

    def test_a_vlan_device_has_a_mac_of_its_own(self):
        found = self.segment(101, self.BRIDGE, model.Device(
            'br-ex.101', self.OTHER, True, vlan=101, lower='br-ex'))
        self.assertEqual((self.OTHER, False), (found.mac, found.occupied))

    def test_another_device_of_that_name(self):
        """Row D24."""
        for values_ in ({}, {'vlan': 102, 'lower': 'br-ex'},
                        {'vlan': 101, 'lower': 'br-two'}):
            found = self.segment(101, self.BRIDGE, model.Device(
                'br-ex.101', self.OTHER, True, **values_))
            self.assertTrue(found.occupied, values_)

    def test_without_a_mapping_there_is_no_device(self):
        found = self.segment(101, self.BRIDGE, network='physnet3')
        self.assertEqual(('', '', ''), (found.bridge, found.device, found.mac))
