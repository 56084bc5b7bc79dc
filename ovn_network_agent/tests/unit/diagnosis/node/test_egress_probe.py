# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What the doctor says of the health probe between agents."""

from ovn_network_agent.diagnosis.node import tenants
from ovn_network_agent.tests.unit.diagnosis.node import base
from ovn_network_agent.watches import egress_question

READY = egress_question.Answer('ready')
DEAD = egress_question.Answer('refused', '192.0.2.1 port 6643: nobody listens')


class ProbeTest(base.JudgeTestCase):

    def said(self, own, *verdicts, **others):
        return self.judged(tenants.judge_probes,
                           tenants.Probes(own, others), *verdicts)

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
