# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Devices that come and go without an event of a database."""

import subprocess

from ovn_network_agent import ownership
from ovn_network_agent.netlink.objects import links
from ovn_network_agent.tests import namespaces
from ovn_network_agent.tests.unit.ovn import clouds

PAIR = ownership.VETH_DEFAULT, ownership.VETH_PROVIDER


def ip(*arguments):
    subprocess.run(['ip', *arguments], check=True)


class DevicesTest(clouds.CloudTestCase):
    """Without any event: only the kernel knows of the change."""

    def setUp(self):
        super().setUp()
        self.enterContext(namespaces.new())
        self.cloud.add_router('r1', chassis=clouds.HERE)
        self.look = self.eyes()

    def devices(self):
        """dict of name to device, as seen and as the kernel has them."""
        seen = self.look.look().node.devices
        self.assertEqual({device.name: device for device
                          in links.read_devices()},
                         {device.name: device for device in seen})
        return {device.name: device for device in seen}

    def test_a_device_that_comes_changes_and_goes(self):
        one, other = PAIR
        self.assertNotIn(one, self.devices())
        self.cloud.add_nat('r1', '198.51.100.10')
        for mac in '0a:00:00:00:00:01', '0a:00:00:00:00:02':
            ip('link', 'add', one, 'address', mac, 'type', 'veth', 'peer',
               'name', other)
            self.assertEqual(mac, self.devices()[one].mac)
            ip('link', 'set', one, 'up')
            self.assertTrue(self.devices()[one].up)
            ip('link', 'set', one, 'name', 'elsewhere')
            self.assertNotIn(one, {d.name: d for d in
                                   self.look.look().node.devices})
            ip('link', 'set', 'elsewhere', 'name', one)
            self.assertIn(one, self.devices())
            # Made again between two views.
            ip('link', 'del', one)
