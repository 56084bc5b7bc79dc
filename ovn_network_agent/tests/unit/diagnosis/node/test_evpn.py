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

"""The checks of EVPN."""

from ovn_network_agent.diagnosis.node import evpn
from ovn_network_agent.tests.unit.diagnosis.node import base


class TunnelsTest(base.JudgeTestCase):

    def judge(self, verdict, *devices):
        return self.judged(evpn.judge_tunnels,
                           evpn.Tunnels('10.0.100.11', devices), verdict)

    def test_all_is_well(self):
        self.assertIn('loopback1 has 10.0.100.11', self.judge(
            base.OK, ('eth9', False), ('loopback1', True)))

    def test_nobody_has_it(self):
        self.assertIn('[evpn] local_ip: no device has it',
                      self.judge(base.BROKEN))

    def test_a_device_that_is_down(self):
        self.assertIn('"ip link set loopback1 up"',
                      self.judge(base.BROKEN, ('loopback1', False)))


class VnisTest(base.JudgeTestCase):

    def judge(self, *verdicts, lacks=(), wanted=(), up=()):
        return self.judged(evpn.judge_vnis, evpn.Vnis(
            lacks, wanted, frozenset(up)), *verdicts)

    def test_all_is_well(self):
        self.assertIn('2 VNIs are up', self.judge(
            base.OK, wanted=(1001, 1002), up=(1001, 1002, 7)))
        self.assertIn('0 VNIs are up', self.judge(base.OK))

    def test_what_the_operator_has_to_add(self):
        self.assertIn('add "x"', self.judge(
            base.BROKEN, base.BROKEN, lacks=('a; add "x"', 'b; add "y"')))

    def test_a_vni_that_is_down(self):
        self.assertIn('VNI 1001 up', self.judge(
            base.BROKEN, wanted=(1001, 1002), up=(1002,)))
