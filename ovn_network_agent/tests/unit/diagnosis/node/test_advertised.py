# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

from ovn_network_agent.diagnosis.node.bgp import announced
from ovn_network_agent.tests.unit.diagnosis.node import base


class AdvertisedTest(base.JudgeTestCase):

    def judge(self, verdict, *values):
        return self.judged(announced.judge_advertised,
                           announced.Advertised(*values), verdict)

    def test_off(self):
        self.assertIn('is off', self.judge(base.OK, False))

    def test_without_the_table(self):
        self.assertIn('25.03', self.judge(base.WARN, True))

    def test_routers_without_routes(self):
        self.assertIn('dynamic-routing-redistribute',
                      self.judge(base.WARN, True, True, 2, 0))

    def test_routes(self):
        for values in ((2, 5), (0, 0), (0, 3)):
            self.assertIn(f'{values[1]} routes for {values[0]} routers',
                          self.judge(base.OK, True, True, *values))
