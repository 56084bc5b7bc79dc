# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The watch of the ways of VNIs, in a real kernel."""

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.common import notices
from ovn_network_agent.tests.functional.netlink import test_vni_neighbours
from ovn_network_agent.watches import base
from ovn_network_agent.watches import kernel

FAR, MAC = test_vni_neighbours.FAR, test_vni_neighbours.MAC
VNI = test_vni_neighbours.VNI


class NextHopsTest(test_vni_neighbours.VniNeighboursCase):

    def setUp(self):
        super().setUp()
        self.told, self.now, self.vnis = [], 0.0, [object()]
        beats = base.Heartbeat(lambda: self.now)
        self.beats = beats
        self.watch = kernel.NextHops(
            self, beats, ownership.EVPN_TABLES.start)
        self.watch.start(None)

    def notice(self, word, by):
        self.assertEqual(notices.VNI_NEXT_HOPS, word)
        self.told.append(by)

    def wanted(self, kinds):
        self.assertEqual([resources.VniDevices.kind], kinds)
        return self.vnis

    def looked(self, times=5):
        self.watch.after_pass(None, self, False)
        self.told.clear()
        for _time in range(times):
            self.now += 1
            self.beats.run_due()
        return self.told

    def test_a_next_hop_without_a_neighbour(self):
        self.assertIn(f'VNI {VNI} has no neighbour for its next hop {FAR}',
                      self.looked())
        self.vnis = []
        self.assertEqual([], self.looked(10))
        self.vnis = [object()]
        for end in FAR, f'::ffff:{FAR}':
            self.ip(f'neigh add {end} lladdr {MAC} dev br-{VNI} nud noarp')
        self.add_tunnel(FAR)
        self.assertEqual([], self.looked(10))

    def test_no_look_after_the_end(self):
        self.watch.stop()
        self.assertEqual([], self.looked(10))
