# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The names of the devices of segments."""

from oslotest import base

from ovn_network_agent.common import vlan_names


class VlansTest(base.BaseTestCase):

    def test_a_device_is_recognised_by_its_name(self):
        bridges = ('br-ex', 'br.two')
        for bridge in bridges:
            for tag in (0, 1, 101, 4094):
                self.assertTrue(
                    vlan_names.is_device(vlan_names.device(bridge, tag),
                                         bridges), (bridge, tag))

    def test_other_names(self):
        for name in ('', 'br-in', 'br-ex.', 'br-ex.0', 'br-ex.4095',
                     'br-ex.01', 'br-ex.1.2', 'br-ex.x', 'br-ex.-1',
                     'br-ex.\u0661', 'br-int.5', 'br', '.5'):
            self.assertFalse(vlan_names.is_device(name, ('br-ex',)), name)
