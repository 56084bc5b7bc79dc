# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Next hops behind VXLAN devices, in the kernel, as zebra makes them."""

import subprocess

from ovn_network_agent.netlink.objects import vni_links
from ovn_network_agent.tests.functional.netlink import base

Hop = vni_links.Hop
VNI, FAR, MAC = 1001, '192.0.2.12', '06:6f:00:00:00:02'


class VniNeighboursCase(base.KernelTestCase):
    """With routes of a VNI, and no neighbour."""

    def setUp(self):
        super().setUp()
        for line in (f'link add br-{VNI} type bridge',
                     f'link add vxlan-{VNI} type vxlan id {VNI} '
                     'local 127.0.0.1 dstport 4789 nolearning',
                     f'link set vxlan-{VNI} master br-{VNI}',
                     f'link set vxlan-{VNI} up', f'link set br-{VNI} up',
                     *(f'route add {dst} via {via} dev br-{VNI} onlink '
                       'proto bgp table 10001001' for dst, via in (
                           ('192.168.50.12/32', FAR),
                           ('192.168.50.13/32', FAR),
                           ('2001:db8:50::12/128', f'::ffff:{FAR}')))):
            self.ip(line)

    def add_tunnel(self, end):
        subprocess.run(['bridge', 'fdb', 'add', MAC, 'dev', f'vxlan-{VNI}',
                        'dst', end, 'self'], check=True)


class VniNeighboursTest(VniNeighboursCase):

    def assert_lacks(self, ipv4, ipv6):
        self.assertEqual([Hop(VNI, FAR, ipv4), Hop(VNI, '::ffff:c000:20c',
                                                   ipv6)],
                         vni_links.read_next_hops())

    def test_what_lacks(self):
        self.assert_lacks('neighbour', 'neighbour')
        self.ip(f'neigh add {FAR} lladdr {MAC} dev br-{VNI} nud noarp')
        self.assert_lacks('tunnel', 'neighbour')
        self.add_tunnel(FAR)
        self.assert_lacks('', 'neighbour')
        self.ip(f'neigh add ::ffff:{FAR} lladdr {MAC} dev br-{VNI} nud noarp')
        self.assert_lacks('', '')

    def test_the_tunnel_of_another_node(self):
        self.ip(f'neigh add {FAR} lladdr {MAC} dev br-{VNI} nud noarp')
        self.add_tunnel('192.0.2.13')
        self.assert_lacks('tunnel', 'neighbour')

    def test_other_routes_do_not_count(self):
        """Nor is the kernel asked for those of other tables."""
        self.ip('route add 192.168.50.14/32 via 192.0.2.14 dev '
                f'br-{VNI} onlink proto bgp table 10')
        self.ip(f'route add 192.168.50.15/32 via 192.0.2.15 dev br-{VNI} '
                'onlink proto static')
        self.assert_lacks('neighbour', 'neighbour')

    def test_without_a_vni(self):
        self.ip(f'link del br-{VNI}')
        self.assertEqual([], vni_links.read_next_hops())
