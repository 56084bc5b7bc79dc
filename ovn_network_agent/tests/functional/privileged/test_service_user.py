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

"""A compromised agent under the service unit gets nowhere."""


from ovn_network_agent.tests.functional.netlink import base
from ovn_network_agent.tests.functional.privileged import children
from ovn_network_agent.tests.functional.privileged import service_user_child


class ServiceUserTest(base.KernelTestCase):

    def test_a_compromised_agent_gets_nowhere(self):
        got = children.run(service_user_child, OS_DEFAULT__CONTROL_SOCKET='')
        number = service_user_child.NUMBER
        self.assertEqual([number] * 3, got['uid'])
        self.assertEqual([], got['groups'])
        self.assertEqual([0] * 4, got['sets'])
        self.assertEqual([], got['through'])
        # And yet all that it is there for works, through the wall.
        self.assertEqual(([], [], {}), (got['link'], got['sysctl'],
                                        got['nft']))
        self.assertEqual(service_user_child.SOCKET, got['peer'])
        self.assertTrue(got['log'])
        self.assertIn('UP', self.shown('link show br-ex')[0]['flags'])
        self.assertEqual('1', self.sysctl('net/ipv4/conf/br-ex/proxy_arp'))
