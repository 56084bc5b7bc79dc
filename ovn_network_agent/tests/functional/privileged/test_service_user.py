# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

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
