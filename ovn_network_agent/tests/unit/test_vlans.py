# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""The names of the devices of segments."""

from oslotest import base

from ovn_network_agent import vlans


class VlansTest(base.BaseTestCase):

    def test_a_device_is_recognised_by_its_name(self):
        bridges = ('br-ex', 'br.two')
        for bridge in bridges:
            for tag in (0, 1, 101, 4094):
                self.assertTrue(vlans.is_device(vlans.device(bridge, tag),
                                                bridges), (bridge, tag))

    def test_other_names(self):
        for name in ('', 'br-in', 'br-ex.', 'br-ex.0', 'br-ex.4095',
                     'br-ex.01', 'br-ex.1.2', 'br-ex.x', 'br-ex.-1',
                     'br-ex.\u0661', 'br-int.5', 'br', '.5'):
            self.assertFalse(vlans.is_device(name, ('br-ex',)), name)
