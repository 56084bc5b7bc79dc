# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Packets of tenants in VNIs, to an address that is a VIP, too.

A tenant has a machine with the address of the VIP::

    client 198.51.100.2, tenant 198.51.100.10 --- here --- 10.0.0.5 (a)
                                                       --- 192.0.2.53 (own)
"""

from ovn_network_agent import ownership
from ovn_network_agent.tests.functional.backends import test_nftables_traffic
from ovn_network_agent.tests.functional.nft import base

TARGET = ('udp', base.VIP, 5353, '10.0.0.5', 5353)


class VnisTest(test_nftables_traffic.TrafficTestCase):

    def setUp(self):
        super().setUp()
        self.tenant = self.node('tenant', '198.51.100.9', '198.51.100.10')
        own = self.node('own', '10.0.9.1', base.VIP)
        self.devices('to-tenant', 'to-own')
        self.start(own, test_nftables_traffic.SERVER, 'own')

    def devices(self, *names):
        """Make devices those of a VNI."""
        for name in names:
            self.ip(f'link set {name} group {ownership.EVPN_GROUP}')

    @staticmethod
    def table(vnis):
        return base.table(TARGET, vnis=vnis)

    def answered(self, node, patience=test_nftables_traffic.LIMIT):
        """Who answers a node, 'nothing' if nobody does."""
        self.client = node
        return self.client_of('DGRAM', base.VIP, 5353)(patience).split()[0]

    def test_they_are_not_translated(self):
        client = self.client
        for vnis, who in (True, 'own'), (False, 'a'):
            table = self.table(vnis)
            self.load(table)
            self.assertEqual('a', self.answered(client))
            self.assertEqual(who, self.answered(self.tenant), vnis)
            self.change(self.backend, delete=[table])
