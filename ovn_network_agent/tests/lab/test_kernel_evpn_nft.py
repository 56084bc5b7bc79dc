# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Packets to a VIP in the VRF of a VNI, in a real kernel with VRFs.

Needs nothing of the lab but its kernel.
"""

from ovn_network_agent.tests.functional.backends import test_nftables_vnis


class VrfTest(test_nftables_vnis.VnisTest):
    """The kernel has the packets come from the device, and from the VRF."""

    def devices(self, *names):
        """Make devices those of a VNI, in its VRF."""
        self.ip('link add vrf-1001 type vrf table 1001')
        super().devices('vrf-1001', *names)
        self.ip('link set vrf-1001 up')
        for name in names:
            self.ip(f'link set {name} master vrf-1001')
            with open(f'/proc/sys/net/ipv4/conf/{name}/forwarding', 'w'
                      ) as forwarding:
                forwarding.write('1')

    def test_they_are_not_translated(self):
        """Without the rule, they are, and find no way in the VRF."""
        client = self.client
        for vnis, who in (True, 'own'), (False, 'nothing'):
            table = self.table(vnis)
            self.load(table)
            self.assertEqual('a', self.answered(client))
            self.assertEqual(who, self.answered(self.tenant, 3), vnis)
            self.change(self.backend, delete=[table])
