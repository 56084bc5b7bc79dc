# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Which addresses of VIPs are there without the agent, by the kernel.

Where VRFs come in is for unit tests and the lab.
"""

from ovn_network_agent.forward import node_addresses
from ovn_network_agent.tests.functional.netlink import base


class PresenceTest(base.KernelTestCase):

    def test_host_addresses(self):
        self.bridge_up()
        for address in ('192.0.2.1/32', '2001:db8::1/128', '192.0.2.4/24'):
            self.ip(f'address add {address} dev br-ex')
        self.assertEqual({'169.254.169.254', '192.0.2.1', '2001:db8::1',
                          '::1'}, node_addresses.read(''))
        self.assertEqual(frozenset(), node_addresses.read('vrf-x'))
