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

"""Which addresses of VIPs are there without the agent, by the kernel.

Where VRFs come in is for unit tests and the lab.
"""

from ovn_network_agent.forward import presence
from ovn_network_agent.tests.functional.netlink import base


class PresenceTest(base.KernelTestCase):

    def test_host_addresses(self):
        self.bridge_up()
        for address in ('192.0.2.1/32', '2001:db8::1/128', '192.0.2.4/24'):
            self.ip(f'address add {address} dev br-ex')
        self.assertEqual({'169.254.169.254', '192.0.2.1', '2001:db8::1',
                          '::1'}, presence.read(''))
        self.assertEqual(frozenset(), presence.read('vrf-x'))
