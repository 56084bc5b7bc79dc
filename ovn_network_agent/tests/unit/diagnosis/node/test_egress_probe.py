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
"""What the doctor says of the health probe between agents."""

from ovn_network_agent.diagnosis.node import egress_probe
from ovn_network_agent.tests.unit.diagnosis.node import base
from ovn_network_agent.watches import egress_question

READY = egress_question.Answer('ready')
DEAD = egress_question.Answer('refused', '192.0.2.1 port 6643: nobody listens')


class ProbeTest(base.JudgeTestCase):

    def said(self, own, *verdicts, **others):
        return self.judged(egress_probe.judge_probes,
                           egress_probe.Probes(own, others), *verdicts)

    def test_all_answer(self):
        self.assertIn('2 others', self.said(
            READY, base.OK, gw2=READY, gw3=READY))

    def test_the_own_agent(self):
        self.assertIn(DEAD.why, self.said(DEAD, base.BROKEN, gw2=READY))

    def test_others(self):
        said = self.said(READY, base.WARN, gw2=DEAD, gw3=READY)
        self.assertIn('gw2 (192.0.2.1 port 6643: nobody listens)', said)
        self.assertNotIn('gw3', said)
        self.said(DEAD, base.BROKEN, base.WARN, gw2=DEAD)
