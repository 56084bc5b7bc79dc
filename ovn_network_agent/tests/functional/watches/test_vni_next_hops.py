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

"""The watch of the ways of VNIs, in a real kernel."""

from ovn_network_agent import notices
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.tests.functional.netlink import test_vni_neighbours
from ovn_network_agent.watches import heartbeat
from ovn_network_agent.watches import vni_next_hops

FAR, MAC = test_vni_neighbours.FAR, test_vni_neighbours.MAC
VNI = test_vni_neighbours.VNI


class NextHopsTest(test_vni_neighbours.VniNeighboursCase):

    def setUp(self):
        super().setUp()
        self.told, self.now, self.vnis = [], 0.0, [object()]
        beats = heartbeat.Heartbeat(lambda: self.now)
        self.beats = beats
        self.watch = vni_next_hops.NextHops(
            self, beats, ownership.EVPN_TABLES.start)
        self.watch.start(None)

    def notice(self, word, by):
        self.assertEqual(notices.VNI_NEXT_HOPS, word)
        self.told.append(by)

    def wanted(self, kinds):
        self.assertEqual([resources.VniDevices.kind], kinds)
        return self.vnis

    def beat(self, times=5):
        self.watch.after_pass(None, self, False)
        self.told.clear()
        for _beat in range(times):
            self.now += 1
            self.beats.beat()
        return self.told

    def test_a_next_hop_without_a_neighbour(self):
        self.assertIn(f'VNI {VNI} has no neighbour for its next hop {FAR}',
                      self.beat())
        self.vnis = []
        self.assertEqual([], self.beat(10))
        self.vnis = [object()]
        for end in FAR, f'::ffff:{FAR}':
            self.ip(f'neigh add {end} lladdr {MAC} dev br-{VNI} nud noarp')
        self.add_tunnel(FAR)
        self.assertEqual([], self.beat(10))

    def test_no_look_after_the_end(self):
        self.watch.stop()
        self.assertEqual([], self.beat(10))
