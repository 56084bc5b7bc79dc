# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Tenants of VNIs apart, whatever VRF the tunnels are in."""

import socket

from lab import families
from lab import plan
from lab import probe
from ovn_network_agent.model import evpn_names
from ovn_network_agent.tests.lab import captured
from ovn_network_agent.tests.lab import evpn

# Addresses that no VRF knows, by family.
UNKNOWN = {version: str(family.test_net[9])
           for version, family in families.FAMILIES.items()}


class Tenants:
    """Mix-in for :class:`evpn_cloud.EvpnTestCase`."""

    def test_each_its_own(self):
        """From and to the host behind the PE, and from node to node.

        Nothing leaves a node but in a tunnel, which comes from the uplink.
        """
        with self.captured() as taken:
            self.reach_hosts()
            self.reach_far_machines()
            packets = taken.packets()
        self.assertEqual([], captured.bare(packets, evpn.CIDR, evpn.CIDR6))
        for address in evpn.addresses(self.machines['red'][0]):
            self.assertTrue(captured.counted(packets, address,
                                             socket.PACKET_OUTGOING))

    def captured(self):
        """The packets of gw1 on the management network and in the fabric."""
        return captured.Captured(self.cloud['gw1'], 'eth0', 'eth1')

    def test_addresses_that_a_vrf_does_not_know(self):
        """Packets to them leave the node on no device, whoever sent them."""
        vm, fabric = self.machines['red'][0], self.cloud['spine']
        for version, address in UNKNOWN.items():
            family = families.FAMILIES[version]
            hop = '::ffff:' * (version == 6) + plan.LOOPBACKS['gw1']
            fabric.batch(
                f'route add {family.prefix(address)} via {hop} dev '
                f'{evpn_names.bridge(self.red.vni)} onlink table '
                f'{self.red.vni:d}\n', family.option)
            with self.captured() as taken:
                for node in (vm.node, self.red.host):
                    self.assertTrue(probe.unreachable(node, 'udp', address, 3,
                                                      limit=0.3))
                self.reach(vm.node, 'udp', family.client, port=self.red.port)
                packets = taken.packets()
            # That of the host has come, and what the VRF knows leaves.
            self.assertTrue(captured.counted(
                packets, address, socket.PACKET_HOST))
            self.assertTrue(captured.counted(
                packets, family.client, socket.PACKET_OUTGOING))
            self.assertEqual(0, captured.counted(
                packets, address, socket.PACKET_OUTGOING))
