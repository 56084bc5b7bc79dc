# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

from ovn_network_agent.diagnosis.node.bgp import announced
from ovn_network_agent.tests.unit.diagnosis.node import base


class WithheldTest(base.JudgeTestCase):

    def judge(self, *verdicts, addresses=8, reasons=(), unknown=(),
              doubled=()):
        return self.judged(announced.judge_withheld, announced.Withheld(
            addresses, reasons, unknown, doubled), *verdicts)

    def test_none(self):
        self.assertIn('none of 8 addresses', self.judge(base.OK))
        self.assertIn('none of 0 addresses', self.judge(base.OK, addresses=0))

    def test_some(self):
        said = self.judge(base.OK, reasons=((2, 'the row'), (1, 'an option')))
        self.assertIn('3 of 8 addresses not announced on purpose '
                      '(2: the row; 1: an option)', said)

    def test_all(self):
        said = self.judge(base.WARN, reasons=((8, 'an option'),))
        self.assertIn('8 of 8 addresses', said)
        self.assertIn('"ovn-network-agent-ctl addresses"', said)

    def test_a_name_that_two_have(self):
        self.assertIn('include_routers has r9, the name of several routers',
                      self.judge(base.WARN, base.OK, doubled=(
                          ('include_routers', 'router', 'r9'),)))

    def test_a_name_that_nothing_has(self):
        said = self.judge(base.WARN, base.WARN, base.OK, unknown=(
            ('include_routers', 'router', 'r9'),
            ('exclude_networks', 'network', 'publik')))
        self.assertIn('[announce] include_routers has r9, and OVN has no '
                      'such router', said)
        self.assertIn('"openstack network list"', said)
