# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Devices of VLANs.

Needs nothing of the lab but its kernel: each test has a network namespace of
its own.
"""

from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends.kernel import link
from ovn_network_agent.netlink.objects import links
from ovn_network_agent.tests.functional.netlink import base

WANTED = resources.VlanDevice('br-ex.101', 'br-ex', 101)


class VlanDeviceTest(base.KernelTestCase):

    def setUp(self):
        super().setUp()
        self.bridge_up()
        self.backend = link.LinkBackend(self.conf)

    def link(self, name='br-ex.101'):
        shown, = self.shown(f'-d link show {name}')
        return shown

    def names(self):
        return {shown['ifname'] for shown in self.shown('link show')}

    def test_made_with_our_alias_and_removed(self):
        for _repeat in range(2):
            self.assertEqual([WANTED], self.create(self.backend, WANTED))
        shown = self.link()
        self.assertEqual(('br-ex', 101, '802.1Q', 'ovn-network-agent'), (
            shown['link'], shown['linkinfo']['info_data']['id'],
            shown['linkinfo']['info_data']['protocol'], shown['ifalias']))
        self.assertIn('UP', shown['flags'])
        # After a restart, too, nobody wants it any more.
        self.assertEqual([WANTED], self.backend.read(frozenset()))
        self.assertEqual([], self.change(self.backend, delete=(WANTED,)))
        self.assertNotIn('br-ex.101', self.names())

    def test_the_mac_is_that_of_the_bridge(self):
        """So the view knows it before the device is there."""
        self.create(self.backend, WANTED)
        found = {device.name: device for device in links.read_devices()}
        device = found['br-ex.101']
        self.assertEqual((found['br-ex'].mac, 101, 'br-ex'),
                         (device.mac, device.vlan, device.lower))
        self.ip('link set br-ex address 0a:00:00:00:00:99')
        self.assertEqual('0a:00:00:00:00:99', self.link()['address'])

    def test_a_right_device_of_others_is_used_and_stays(self):
        """Row D24."""
        self.ip('link add link br-ex name br-ex.101 type vlan id 101')
        self.assertEqual([], self.backend.read(frozenset()))
        self.assertEqual([WANTED], self.create(self.backend, WANTED))
        self.assertNotIn('ifalias', self.link())
        self.assertEqual({}, self.backend.apply(
            backends.Delta(delete=(WANTED,))))
        self.assertIn('br-ex.101', self.names())

    def test_a_wrong_device_of_others_stays_as_it_is(self):
        """Row D24."""
        for made in ('link br-ex name br-ex.101 type vlan id 102',
                     'link br-ex-peer name br-ex.101 type vlan id 101',
                     'link br-ex name br-ex.101 type vlan proto 802.1ad '
                     'id 101', 'br-ex.101 type dummy'):
            self.ip(f'link add {made}')
            before = self.link()
            self.assertEqual([], self.backend.read(frozenset()))
            failed = self.backend.apply(backends.Delta(create=(WANTED,)))
            self.assertIn('rename or remove', failed[WANTED.ref])
            self.assertEqual({}, self.backend.apply(
                backends.Delta(delete=(WANTED,))))
            self.assertEqual(before, self.link())
            self.ip('link del br-ex.101')

    def test_one_of_ours_that_is_wrong_is_made_again(self):
        self.ip('link add link br-ex name br-ex.101 type vlan id 102')
        self.ip('link set br-ex.101 alias ovn-network-agent')
        found, = self.backend.read(frozenset())
        self.assertNotEqual(WANTED, found)
        self.assertEqual([WANTED], self.change(
            self.backend, update=((found, WANTED),)))

    def test_one_that_is_down_is_set_up(self):
        self.create(self.backend, WANTED)
        self.ip('link set br-ex.101 down')
        found, = self.backend.read(frozenset())
        self.assertNotEqual(WANTED, found)
        self.assertEqual([WANTED], self.change(
            self.backend, update=((found, WANTED),)))

    def test_without_the_bridge(self):
        self.ip('link del br-ex')
        failed = self.backend.apply(backends.Delta(create=(WANTED,)))
        self.assertIn('br-ex does not exist', failed[WANTED.ref])
